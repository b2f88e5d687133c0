#include "tests/converter/cli/bad_input.h"

namespace skiff::testing {
namespace {

using Arguments = std::vector<std::string>;

BadInput Usage(const std::string& name, const Arguments& arguments, const Arguments& message) {
  return {name, [arguments](const TempFolder&) { return arguments; }, message, 2};
}

/// A conversion of a good model.
BadInput ConvertUsage(const std::string& name, const Arguments& options, const Arguments& message) {
  const auto prepare = [options](const TempFolder& folder) {
    Arguments arguments = {"convert", GoodOnnx(folder), "-o", folder / "out.skiff"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  };
  return {name, prepare, message, 2};
}

}  // namespace

std::vector<BadInput> BadUsage() {
  return {
      Usage("NoCommand", {},
            {"a command is expected", "  convert     Turn a trained", "  help        Explain",
             "'skiff help COMMAND'"}),
      Usage("UnknownCommand", {"translate", "a.onnx"}, {"no command 'translate'", "skiff --help"}),
      Usage("NoSource", {"convert", "-o", "out.skiff"}, {"source is required", "skiff convert --help"}),
      Usage("NoOutput", {"convert", "a.onnx"}, {"--output is required", "skiff convert --help"}),
      Usage("EmptySource", {"convert", "", "-o", "out.skiff"}, {"source", "a path was expected, not ''"}),
      Usage("EmptyOutput", {"convert", "a.onnx", "-o", ""}, {"-o", "a path was expected, not ''"}),
      Usage("EmptyTrace", {"bench", "a.skiff", "--trace", ""}, {"--trace", "a path was expected, not ''"}),
      Usage("ManyThreads", {"run", "a.skiff", "--threads", "257"}, {"--threads", "from 1 to 256"}),
      Usage("NoPage", {"report", "a.skiff"}, {"-o", "report.html", "skiff report --help"}),
      Usage("ReportOfABackend", {"report", "a.skiff", "-o", "a.html", "--backends", "xnnpack,cuda"},
            {"--backends", "cuda", "xnnpack"}),
      Usage("ReportOfBackendAndBackends",
            {"report", "a.skiff", "-o", "a.html", "--backend", "xnnpack", "--backends", "reference"},
            {"--backends", "--backend"}),
      Usage("NoModel", {"run"}, {"model is required", "skiff run --help"}),
      ConvertUsage("UnknownOption", {"--fast"}, {"--fast", "skiff convert --help"}),
      ConvertUsage("MissingValue", {"--shape"}, {"--shape", "skiff convert --help"}),
      ConvertUsage("ShapeWithoutName", {"--shape", "1x4"}, {"--shape 1x4", "NAME=1x3x224x224"}),
      ConvertUsage("ShapeOfWords", {"--shape", "x=axb"}, {"--shape x=axb", "NAME=1x3x224x224"}),
      ConvertUsage("ShapeNegative", {"--shape", "x=1x-4"}, {"--shape x=1x-4", "NAME=1x3x224x224"}),
      ConvertUsage("ShapeTwice", {"--shape", "x=1x4", "--shape", "x=1x4"}, {"--shape x=1x4", "once"}),
      ConvertUsage("SetWithoutNumber", {"--set", "sr"}, {"--set sr", "NAME=NUMBER"}),
      ConvertUsage("SetOfWords", {"--set", "sr=high"}, {"--set sr=high", "sr=16000"}),
      ConvertUsage("SetOfMoreThan53Bits", {"--set", "sr=9007199254740993"},
                   {"--set sr=", "9007199254740992"}),
      ConvertUsage("SetTwice", {"--set", "sr=1", "--set", "sr=2"}, {"--set sr=2", "once"}),
      ConvertUsage("DimWithoutSize", {"--dim", "batch"}, {"--dim batch", "NAME=SIZE"}),
      ConvertUsage("DimOfWords", {"--dim", "batch=big"}, {"--dim batch=big", "NAME=SIZE"}),
      ConvertUsage("DimBackwards", {"--dim", "batch=8..2"}, {"--dim batch=8..2", "MIN..MAX"}),
      ConvertUsage("DimWithoutAMultiple", {"--dim", "batch=5..7,multiple=8"},
                   {"--dim batch=5..7,multiple=8", "MIN..MAX"}),
      ConvertUsage("BucketWithoutName", {"--bucket", "1,2"}, {"--bucket 1,2", "NAME=SIZE,SIZE,..."}),
      ConvertUsage("BucketOfWords", {"--bucket", "batch=1,big"},
                   {"--bucket batch=1,big", "NAME=SIZE,SIZE,..."}),
      ConvertUsage("BucketBackwards", {"--bucket", "batch=4..2"}, {"--bucket batch=4..2", "MIN..MAX"}),
      ConvertUsage("BucketOfNothing", {"--bucket", "batch="}, {"--bucket batch=", "NAME=SIZE,SIZE,..."}),
      ConvertUsage("BucketOfTwoDimensions", {"--bucket", "batch=1,seq=128"},
                   {"--bucket batch=1,seq=128", "one dimension in each --bucket"}),
      ConvertUsage("BucketRangeTwice", {"--bucket", "batch=1,2,1"},
                   {"--bucket batch=1,2,1", "each range once"}),
      ConvertUsage("BucketDimensionTwice", {"--bucket", "batch=1", "--bucket", "batch=2"},
                   {"--bucket batch=2", "each dimension once"}),
      Usage("RunDimWithoutSize", {"run", "a.skiff", "--dim", "seq"}, {"--dim seq", "NAME=SIZE", "seq=7"}),
      Usage("RunDimOfARange", {"run", "a.skiff", "--dim", "seq=1..7"}, {"--dim seq=1..7", "NAME=SIZE"}),
      Usage("RunDimNegative", {"run", "a.skiff", "--dim", "seq=-1"},
            {"--dim seq=-1", "dimension 'seq'", "not negative", "NAME=SIZE"}),
      ConvertUsage("DimOfZero", {"--dim", "batch=0"},
                   {"--dim batch=0", "dimension 'batch' to be 1 at least"}),
      ConvertUsage("DimNegative", {"--dim", "batch=-3"}, {"--dim batch=-3", "'batch' to be 1 at least"}),
      ConvertUsage("DimFromBelowZero", {"--dim", "batch=-3..4"},
                   {"--dim batch=-3..4", "dimension 'batch' without negative sizes"}),
      Usage("AtNegative", {"parity", "a.onnx", "--at", "seq=7,batch=-1"},
            {"--at seq=7,batch=-1", "dimension 'batch'", "not negative"}),
      Usage("RunDimTwice", {"run", "a.skiff", "--dim", "seq=1", "--dim", "seq=2"},
            {"--dim seq=2", "each dimension once"}),
      Usage("BenchDimWithoutName", {"bench", "a.skiff", "--dim", "=7"}, {"--dim =7", "NAME=SIZE"}),
      Usage("AtWithoutSize", {"parity", "a.onnx", "--at", "seq=7,batch"}, {"--at seq=7,batch", "NAME=SIZE"}),
      Usage("AtTwice", {"parity", "a.onnx", "--at", "seq=7,seq=8"},
            {"--at seq=7,seq=8", "each dimension once"}),
      Usage("SweepOfFiles", {"parity", "a.onnx", "--sweep", "--inputs", "folder"},
            {"--sweep", "random inputs", "one size"}),
      Usage("SeveralSizesOfExpectedFiles",
            {"parity", "a.onnx", "--at", "seq=7", "--at", "seq=8", "--inputs", "random:1", "--expect",
             "folder"},
            {"--at", "random inputs", "one size"}),
      ConvertUsage("MeanOfWrongCount", {"--image-size", "4x4", "--mean", "1,2"},
                   {"--mean 1,2", "1 or 3 numbers", "got 2"}),
      ConvertUsage("ScaleAndStd", {"--image-size", "4x4", "--std", "0.5", "--scale", "1"},
                   {"--scale", "--std"}),
      ConvertUsage("UnknownFit", {"--image-size", "4x4", "--fit", "squeeze"},
                   {"--fit", "squeeze", "letterbox"}),
      ConvertUsage("UnknownFilter", {"--image-size", "4x4", "--filter", "magic"},
                   {"--filter", "magic", "bicubic"}),
      ConvertUsage("FillOf256", {"--image-size", "4x4", "--fill", "256"}, {"--fill", "256", "255"}),
      ConvertUsage("ScaleOfWords", {"--image-size", "4x4", "--scale", "a"}, {"--scale a", "numbers"}),
      ConvertUsage("ImageSizeOfOneNumber", {"--image-size", "4"}, {"--image-size 4", "WIDTHxHEIGHT"}),
      ConvertUsage("UnknownChannels", {"--image-size", "4x4", "--channels", "cmyk"},
                   {"--channels", "cmyk", "bgr"}),
      ConvertUsage("UnknownPass", {"--disable-pass", "magic"}, {"--disable-pass", "magic", "fold-constants"}),
      ConvertUsage("RequiredPass", {"--disable-pass", "infer-shapes"}, {"--disable-pass", "infer-shapes"}),
      ConvertUsage("UnknownTarget", {"--target", "abacus"}, {"--target", "abacus", "cpu"}),
      Usage("UnknownBackend", {"run", "a.skiff", "--backend", "abacus"},
            {"--backend", "abacus", "reference"}),
      Usage("NoThreads", {"run", "a.skiff", "--threads", "0"}, {"--threads", "0"}),
      Usage("TuneWithoutTheGpu", {"bench", "a.skiff", "--tune"}, {"--tune", "--backend vulkan", "--cache"}),
      Usage("NoRuns", {"bench", "a.skiff", "--runs", "0"},
            {"--runs", "must be a whole number from 1 to 1000000", "not 0"}),
      Usage("NegativeTolerance", {"parity", "a.onnx", "--atol", "-1"},
            {"--atol", "must be 0 or more", "not -1"}),
      Usage("ToleranceOfNoNumber", {"parity", "a.onnx", "--rtol", "nan"}, {"--rtol", "must be 0 or more"}),
      Usage("NoBytesAtMost", {"quantize", "a.onnx", "-o", "b.skiff", "--max-bytes", "0"},
            {"--max-bytes", "must be a whole number from 1"}),
      Usage("NegativeTime", {"quantize", "a.onnx", "-o", "b.skiff", "--max-ms", "-2.5"},
            {"--max-ms", "must be above 0", "not -2.5"}),
      Usage("PercentileBeyondAll", {"quantize", "a.onnx", "-o", "b.skiff", "--percentile", "101"},
            {"--percentile", "must be from 50 to 100"}),
      Usage("PercentileOfOtherRanges",
            {"quantize", "a.onnx", "-o", "b.skiff", "--calibrate", "random:1", "--percentile", "99"},
            {"--percentile", "--ranges percentile"}),
      Usage("RangesOfWeights",
            {"quantize", "a.onnx", "-o", "b.skiff", "--format", "weights8", "--ranges", "mse"},
            {"--ranges", "i8 and 16x8"}),
      Usage("SamplesOfNothing",
            {"quantize", "a.onnx", "-o", "b.skiff", "--format", "weights8", "--samples", "3"},
            {"--samples", "--calibrate"}),
      ConvertUsage("RangeOfNoRandomInput", {"--quantize", "dynamic", "--input-range", "x=0..1"},
                   {"--input-range", "--calibrate random:N"}),
      Usage("CacheOfAConversion", {"parity", "a.onnx", "--cache", "."}, {"--cache", "MODEL.skiff"}),
      Usage("PartOfARun", {"bench", "a.skiff", "--runs", "1.5"}, {"--runs", "a whole number from 1"}),
      Usage("NegativeTop", {"bench", "a.skiff", "--top", "-1"}, {"--top", "a whole number from 0"}),
      Usage("ConversionOptionsForAModel", {"parity", "a.onnx", "a.skiff", "--no-xnnpack"},
            {"--no-xnnpack", "only for a conversion"}),
      Usage("BucketsForAModel", {"parity", "a.onnx", "a.skiff", "--bucket", "seq=7"},
            {"--bucket", "only for a conversion", "--at"}),
  };
}

}  // namespace skiff::testing
