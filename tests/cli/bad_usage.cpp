#include "tests/cli/bad_input.h"

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
      Usage("NoCommand", {}, {"subcommand is required", "skiff --help"}),
      Usage("UnknownCommand", {"translate", "a.onnx"}, {"no command 'translate'", "skiff --help"}),
      Usage("NoSource", {"convert", "-o", "out.skiff"}, {"source is required", "skiff convert --help"}),
      Usage("NoOutput", {"convert", "a.onnx"}, {"--output is required", "skiff convert --help"}),
      Usage("NoModel", {"run"}, {"model is required", "skiff run --help"}),
      ConvertUsage("UnknownOption", {"--fast"}, {"--fast", "skiff convert --help"}),
      ConvertUsage("MissingValue", {"--shape"}, {"--shape", "skiff convert --help"}),
      ConvertUsage("ShapeWithoutName", {"--shape", "1x4"}, {"--shape 1x4", "NAME=1x3x224x224"}),
      ConvertUsage("ShapeOfWords", {"--shape", "x=axb"}, {"--shape x=axb", "NAME=1x3x224x224"}),
      ConvertUsage("ShapeNegative", {"--shape", "x=1x-4"}, {"--shape x=1x-4", "NAME=1x3x224x224"}),
      ConvertUsage("ShapeTwice", {"--shape", "x=1x4", "--shape", "x=1x4"}, {"--shape x=1x4", "once"}),
      ConvertUsage("DimWithoutSize", {"--dim", "batch"}, {"--dim batch", "NAME=SIZE"}),
      ConvertUsage("DimOfWords", {"--dim", "batch=big"}, {"--dim batch=big", "NAME=SIZE"}),
      ConvertUsage("MeanWithoutImageSize", {"--mean", "1,2,3"}, {"--mean", "--image-size"}),
      ConvertUsage("MeanOfWrongCount", {"--image-size", "4x4", "--mean", "1,2"},
                   {"--mean 1,2", "1 or 3 numbers", "got 2"}),
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
      Usage("NoRuns", {"bench", "a.skiff", "--runs", "0"}, {"--runs", "0"}),
      Usage("NegativeTolerance", {"parity", "a.onnx", "--atol", "-1"}, {"--atol", "-1"}),
      Usage("ConversionOptionsForAModel", {"parity", "a.onnx", "a.skiff", "--no-xnnpack"},
            {"--no-xnnpack", "only for a conversion"}),
  };
}

}  // namespace skiff::testing
