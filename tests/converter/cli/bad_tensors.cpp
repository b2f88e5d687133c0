#include <cstring>
#include <filesystem>

#include "convert.h"
#include "files/npy.h"
#include "format/container.h"
#include "model_generated.h"
#include "tests/converter/cli/bad_input.h"
#include "tests/converter/cli/onnx_models.h"

namespace skiff::testing {
namespace {

using Arguments = std::vector<std::string>;

const std::string kPicture = SKIFF_SOURCE_DIR "/samples/characters/images/7_cantarell-bold_32x32.png";

std::string Npy(DType dtype, const Shape& shape) {
  const std::vector<uint8_t> bytes = FormatNpy(TensorData(dtype, shape).view());
  return {bytes.begin(), bytes.end()};
}

/// Runs the product model with some --input arguments; FOLDER in them is the test's folder.
BadInput OfInputs(const std::string& name, const std::function<Arguments(const TempFolder&)>& inputs,
                  const Arguments& message) {
  const auto prepare = [inputs](const TempFolder& folder) {
    Arguments arguments = {"run", GoodSkiff(folder)};
    for (const std::string& input : inputs(folder)) arguments.insert(arguments.end(), {"--input", input});
    return arguments;
  };
  return {name, prepare, message};
}

/// Runs the product model on one file.
BadInput OfFile(const std::string& name, const std::string& file, const std::string& bytes,
                const Arguments& message) {
  return OfInputs(
      name, [=](const TempFolder& folder) { return Arguments{"x=" + folder.Write(file, bytes)}; }, message);
}

/// An ONNX tensor of zeros.
std::string Pb(int type, const Shape& shape) {
  onnx::TensorProto tensor;
  tensor.set_data_type(type);
  for (const int64_t extent : shape) tensor.add_dims(extent);
  const int64_t size = type == onnx::TensorProto::DOUBLE ? 8 : 4;
  tensor.set_raw_data(std::string(static_cast<size_t>(shape.elements() * size), '\0'));
  return tensor.SerializeAsString();
}

/// Runs a model that takes pictures x[1, 3, 4, 5] (NCHW), or x[1, 4, 5, 3], on a tensor of another shape.
BadInput OfPicture(const std::string& name, const Shape& input, const Shape& file,
                   const std::string& remedy) {
  const auto prepare = [input, file](const TempFolder& folder) {
    WriteFileAtomically(
        folder / "net.skiff",
        ConvertFile(
            folder.Write("net.onnx",
                         Serialized(PictureModel(),
                                    [&](auto& model) {
                                      for (auto* port : {model.mutable_graph()->mutable_input(0),
                                                         model.mutable_graph()->mutable_output(0)}) {
                                        auto* shape =
                                            port->mutable_type()->mutable_tensor_type()->mutable_shape();
                                        for (int axis = 0; axis < 4; ++axis)
                                          shape->mutable_dim(axis)->set_dim_value(input[axis]);
                                      }
                                    })))
            ->file);
    return Arguments{"run", folder / "net.skiff", "--input", folder.Write("a.npy", Npy(DType::kF32, file))};
  };
  BadInput row{name, prepare, {"a.npy", ShapeText(input).c_str(), ShapeText(file).c_str(), remedy}};
  row.absent = {"reshape", "--shape"};
  return row;
}

BadInput Without(BadInput row, const Arguments& absent) {
  row.absent = absent;
  return row;
}

/// Inspects a good .skiff file after a change to its bytes.
BadInput OfModel(const std::string& name, const std::function<void(std::string&)>& change,
                 const Arguments& message) {
  const auto prepare = [change](const TempFolder& folder) {
    std::string bytes = ReadWhole(GoodSkiff(folder));
    change(bytes);
    return Arguments{"inspect", folder.Write("bad.skiff", bytes)};
  };
  Arguments all = message;
  all.push_back("bad.skiff");
  return {name, prepare, all};
}

format::FileHeader& HeaderOf(std::string& bytes) {
  return *reinterpret_cast<format::FileHeader*>(bytes.data());
}

void SetFormatVersion(std::string& bytes, uint32_t version) {
  auto* model = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data() + HeaderOf(bytes).model_offset);
  flatbuffers::WriteScalar(model->GetAddressOf(format::Model::VT_FORMAT_VERSION), version);
}

std::vector<BadInput> BadModels() {
  return {
      {"SkiffMissing",
       [](const TempFolder& folder) {
         return Arguments{"bench", folder / "none.skiff"};
       },
       {"none.skiff", "No such file"}},
      {"SkiffIsText",
       [](const TempFolder& folder) {
         return Arguments{"bench", folder.Write("a.skiff", std::string(200, 'a'))};
       },
       {"a.skiff", "not a usable .skiff file", "skiff convert"}},
      {"SkiffIsEmpty",
       [](const TempFolder& folder) {
         return Arguments{"bench", folder.Write("a.skiff", "")};
       },
       {"a.skiff", "empty"}},
      {"SkiffIsOnnx",
       [](const TempFolder& folder) {
         return Arguments{"bench", GoodOnnx(folder)};
       },
       {"good.onnx", "not a usable .skiff file", "skiff convert"}},
      OfModel("SkiffTruncated", [](std::string& b) { b.resize(b.size() - 64); },
              {"cut or changed on its way"}),
      OfModel("SkiffLonger", [](std::string& b) { b += "more"; }, {"cut or changed on its way"}),
      OfModel("SkiffShorterThanItsHeader", [](std::string& b) { b.resize(20); },
              {"20 bytes are less than its header"}),
      OfModel("SkiffCorrupt",
              [](std::string& b) { std::memset(b.data() + HeaderOf(b).model_offset + 8, 0xee, 64); },
              {"not a usable .skiff file"}),
      OfModel("SkiffWeightsOutside", [](std::string& b) { HeaderOf(b).weights_offset = 1 << 30; },
              {"do not fit the file"}),
      OfModel("SkiffOfNewerContainer", [](std::string& b) { HeaderOf(b).container_version = 7; },
              {"container version is 7", "reads up to 1", "update Skiff"}),
      OfModel("SkiffOfNewerFormat", [](std::string& b) { SetFormatVersion(b, 99); },
              {"format version is 99", "reads up to 4", "update Skiff"}),
  };
}

std::vector<BadInput> BadInputFiles() {
  return {
      OfInputs("InputLeftOut", [](const TempFolder&) { return Arguments{}; },
               {"'x'", "f32 [1, 4]", "--input 'x=FILE'"}),
      OfInputs("InputLeadsToADevice",
               [](const TempFolder& f) {
                 std::filesystem::create_symlink("/dev/zero", f / "a.npy");
                 return Arguments{"x=" + f / "a.npy"};
               },
               {"a.npy: is a device", "path of a file"}),
      OfInputs("InputUnknown", [](const TempFolder&) { return Arguments{"image=a.npy"}; },
               {"--input image=a.npy", "no input 'image'", "'x'"}),
      OfInputs("InputTwice",
               [](const TempFolder& f) {
                 const std::string a = "x=" + f.Write("a.npy", Npy(DType::kF32, {1, 4}));
                 return Arguments{a, a};
               },
               {"--input x=", "already given"}),
      OfInputs("InputMissingFile", [](const TempFolder& f) { return Arguments{"x=" + (f / "none.npy")}; },
               {"none.npy", "cannot be opened", "No such file"}),
      OfInputs("InputIsAFolder",
               [](const TempFolder& f) {
                 std::filesystem::create_directory(f / "d.npy");
                 return Arguments{f / "d.npy"};
               },
               {"--input", "d.npy' is a folder", "takes a file", "goes to --inputs"}),
      OfInputs("InputByNameIsAFolder", [](const TempFolder& f) { return Arguments{"x=" + f.path()}; },
               {"--input x=", "is a folder", "goes to --inputs /"}),
      {"InputsAreAFile",
       [](const TempFolder& f) {
         return Arguments{"run", GoodSkiff(f), "--inputs", f.Write("a.npy", Npy(DType::kF32, {1, 4}))};
       },
       {"--inputs", "a.npy: is no folder", "random:SEED", "goes to --input [NAME=]"}},
      {"InputsAreNothing",
       [](const TempFolder& f) {
         return Arguments{"bench", GoodSkiff(f), "--inputs", "random"};
       },
       {"--inputs random: there is no such folder", "random:SEED, for example random:1"}},
      OfFile("InputOfUnknownKind", "a.txt", "1 2 3 4", {"a.txt", "'.txt'", ".npy", ".png"}),
      OfFile("InputOfWrongDtype", "a.npy", Npy(DType::kF64, {1, 4}),
             {"a.npy", "'x'", "f32 [1, 4]", "f64 [1, 4]", "astype('float32')"}),
      OfFile("InputOfWrongRank", "a.npy", Npy(DType::kF32, {4}),
             {"a.npy", "'x'", "f32 [1, 4]", "f32 [4]", "array.reshape(1, 4)"}),
      Without(OfFile("InputOfAnotherRank", "a.npy", Npy(DType::kF32, {6}),
                     {"f32 [1, 4]", "f32 [6]", "needs 2 dimensions", "no conversion"}),
              {"--shape", "reshape"}),
      OfFile("InputOfWrongSize", "a.npy", Npy(DType::kF32, {1, 5}),
             {"a.npy", "'x'", "f32 [1, 4]", "f32 [1, 5]", "axis 1", "--shape 'x=1x5'"}),
      OfPicture("PictureOfAnotherLayout", {1, 3, 4, 5}, {1, 4, 5, 3},
                "the axes are in another order: save it with numpy as array.transpose(0, 3, 1, 2)"),
      OfPicture("PictureOfAnotherLayoutBack", {1, 4, 5, 3}, {1, 3, 4, 5}, "array.transpose(0, 2, 3, 1)"),
      OfPicture("PictureWithoutBatchOfAnotherLayout", {1, 3, 4, 5}, {4, 5, 3},
                "array.transpose(2, 0, 1)[numpy.newaxis]"),
      OfPicture("PictureOnItsSide", {1, 3, 4, 5}, {1, 3, 5, 4}, "array.transpose(0, 1, 3, 2)"),
      OfFile("InputPbOfWrongDtype", "a.pb", Pb(onnx::TensorProto::DOUBLE, {1, 4}),
             {"a.pb", "f32 [1, 4]", "f64 [1, 4]", "numpy_helper.from_array(array.astype('float32'))"}),
      Without(OfFile("InputPbOfWrongRank", "a.pb", Pb(onnx::TensorProto::FLOAT, {4}),
                     {"a.pb", "f32 [4]", "numpy_helper.from_array(array.reshape(1, 4))"}),
              {"save it with numpy"}),
      OfFile("InputNpzIsText", "a.npz", "1 2 3 4", {"a.npz", "archive"}),
      OfFile("InputRawOfWrongSize", "a.bin", "12345", {"a.bin", "'x'", "f32 [1, 4]", "16 bytes", "has 5"}),
      OfFile("InputNpyTruncated", "a.npy", Npy(DType::kF32, {1, 4}).substr(0, 140),
             {"a.npy", "needs 16 bytes", "12 follow"}),
      OfFile("InputNpyIsText", "a.npy", "1 2 3 4", {"a.npy", "not a usable .npy file"}),
      OfFile("InputPbIsText", "a.pb", "1 2 3 4", {"a.pb", "not an ONNX tensor"}),
      OfInputs("PictureForAPlainInput", [](const TempFolder&) { return Arguments{kPicture}; },
               {kPicture, "'x'", "--image-size", "--mean", "--std", ".npy"}),
      {"PictureBroken",
       [](const TempFolder& folder) {
         ConvertOptions options;
         options.image = ImageSettings{4, 4, {0, 0, 0}, {1, 1, 1}, false, false};
         WriteFileAtomically(
             folder / "picture.skiff",
             ConvertFile(folder.Write("picture.onnx", Serialized(PictureModel())), options)->file);
         return Arguments{"run", folder / "picture.skiff", "--input",
                          folder.Write("a.png", ReadWhole(kPicture).substr(0, 200))};
       },
       {"a.png", "cannot be decoded"}},
      {"InputsNeedNames",
       [](const TempFolder& folder) {
         WriteFileAtomically(folder / "two.skiff",
                             ConvertFile(folder.Write("two.onnx", Serialized(TwoInputModel())))->file);
         return Arguments{"run", folder / "two.skiff", "--input", "a.npy"};
       },
       {"--input a.npy", "2 inputs", "NAME=FILE", "'a', 'b'"}},
  };
}

/// Runs a command on the product model with an open dimension 'batch' of 2 to 8, in steps of 2.
BadInput OfOpenModel(const std::string& name, const std::function<Arguments(const TempFolder&)>& arguments,
                     const Arguments& message) {
  const auto prepare = [arguments](const TempFolder& folder) {
    const std::string source = folder.Write("open.onnx", Serialized(OpenProductModel()));
    ConvertOptions options;
    options.dims["batch"] = {2, 8, 2};
    WriteFileAtomically(folder / "open.skiff", ConvertFile(source, options)->file);
    return arguments(folder);
  };
  return {name, prepare, message};
}

/// Calls outside of a model's contract, and raw files without their sizes.
std::vector<BadInput> BadSizes() {
  const auto run = [](const std::string& file, const std::string& bytes, const Arguments& more) {
    return [=](const TempFolder& f) {
      Arguments all = {"run", f / "open.skiff", "--input", f.Write(file, bytes)};
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
  };
  const auto plain = [](const Arguments& words) {
    return [words](const TempFolder& f) {
      Arguments all = words;
      for (std::string& word : all)
        word = word == "MODEL" ? f / "open.skiff" : word == "SOURCE" ? f / "open.onnx" : word;
      return all;
    };
  };
  return {
      OfOpenModel("OpenInputTooLarge", run("a.npy", Npy(DType::kF32, {10, 4}), {}),
                  {"'x'", "'batch'", "10", "2 to 8"}),
      OfOpenModel("OpenInputOfNoMultiple", run("a.npy", Npy(DType::kF32, {3, 4}), {}),
                  {"'x'", "'batch'", "3", "multiple of 2"}),
      OfOpenModel("OpenInputOfOtherSize", run("a.npy", Npy(DType::kF32, {2, 5}), {}),
                  {"a.npy", "'x'", "f32 [batch, 4]", "f32 [2, 5]"}),
      OfOpenModel("OpenInputUnlikeDim", run("a.npy", Npy(DType::kF32, {2, 4}), {"--dim", "batch=4"}),
                  {"a.npy", "'x'", "f32 [4, 4]", "f32 [2, 4]", "without --dim batch=4"}),
      Without(
          OfOpenModel("OpenInputUnlikeShape", run("a.npy", Npy(DType::kF32, {2, 4}), {"--shape", "x=4x4"}),
                      {"a.npy", "f32 [2, 4]", "without --shape x=4x4"}),
          {"convert", "reshape"}),
      OfOpenModel("OpenInputOfAnotherRank", run("a.npy", Npy(DType::kF32, {8}), {}),
                  {"f32 [batch, 4]", "f32 [8]", "array.reshape(-1, 4)"}),
      Without(OfOpenModel("FolderUnlikeDim",
                          [](const TempFolder& f) {
                            f.Write("x.npy", Npy(DType::kF32, {2, 4}));
                            return Arguments{"parity", f / "open.onnx", "--inputs",
                                             f.path(), "--dim",         "batch=3"};
                          },
                          {"--dim batch=3", "'x'", "[2, 4]", "'batch' is its axis 0", "say --dim batch=2"}),
              {"convert", "reshape"}),
      OfOpenModel("OpenRawInputWithoutSize", run("a.bin", std::string(32, 'a'), {}),
                  {"a.bin", "'x'", "f32 [batch, 4]", "--dim 'batch=N'", ".npy"}),
      OfOpenModel("OpenRawInputOfWrongSize", run("a.bin", std::string(32, 'a'), {"--dim", "batch=4"}),
                  {"a.bin", "'x'", "f32 [4, 4]", "64 bytes", "has 32"}),
      OfOpenModel("OpenInputLeftOut", plain({"run", "MODEL"}), {"'x'", "f32 [batch, 4]", "--input 'x=FILE'"}),
      OfOpenModel("RunDimUnknown", run("a.npy", Npy(DType::kF32, {2, 4}), {"--dim", "seq=2"}),
                  {"--dim seq=2", "no open dimension 'seq'", "'batch'"}),
      OfOpenModel("BenchDimTooLarge", plain({"bench", "MODEL", "--dim", "batch=9"}),
                  {"--dim batch=9", "'batch'", "2..8,multiple=2"}),
      OfOpenModel("AtTooSmall", plain({"parity", "SOURCE", "MODEL", "--at", "batch=1"}),
                  {"--at batch=1", "'batch'", "2..8,multiple=2"}),
      OfOpenModel("AtUnknown", plain({"parity", "SOURCE", "MODEL", "--at", "rows=2"}),
                  {"--at rows=2", "no open dimension 'rows'", "'batch'"}),
      {"SizesThatTheNetNeverTakes",
       [](const TempFolder& f) {
         const auto reshape = [](onnx::ModelProto& m) {
           m.mutable_graph()->mutable_node(0)->set_op_type("Reshape");
           onnx::TensorProto* to = m.mutable_graph()->mutable_initializer(0);
           to->Clear();
           to->set_name("w");
           to->set_data_type(onnx::TensorProto::INT64);
           to->add_dims(1);
           to->add_int64_data(6);
           m.mutable_graph()->mutable_output(0)->mutable_type()->Clear();
         };
         return Arguments{"parity", f.Write("never.onnx", Serialized(OpenProductModel(), reshape))};
       },
       {"no sizes are known", "--dim 'batch=N'", "batch=7", "'product'"}},
      {"AtOfAFixedModel",
       [](const TempFolder& f) {
         return Arguments{"parity", GoodOnnx(f), "--at", "batch=2"};
       },
       {"--at batch=2", "no open dimension 'batch'", "none"}},
  };
}

std::vector<BadInput> BadFolders() {
  const auto run_to = [](const std::function<std::string(const TempFolder&)>& output) {
    return [output](const TempFolder& folder) {
      return Arguments{"run",      GoodSkiff(folder),
                       "--input",  folder.Write("a.npy", Npy(DType::kF32, {1, 4})),
                       "--output", output(folder)};
    };
  };
  std::vector<BadInput> cases = {
      {"OutputFolderIsAFile",
       run_to([](const TempFolder& f) { return f.Write("file", ""); }),
       {"file", "cannot be made"}},
      {"OutputFolderUnderAFile",
       run_to([](const TempFolder& f) { return f.Write("file", "") + "/sub"; }),
       {"file/sub", "cannot be made", "Not a directory"}},
      {"TraceInMissingFolder",
       [](const TempFolder& f) {
         return Arguments{"bench", GoodSkiff(f), "--trace", f / "none/trace.json"};
       },
       {"none/trace.json", "cannot be written"}},
      {"ParityOfAnotherModel",
       [](const TempFolder& f) {
         return Arguments{"parity", f.Write("two.onnx", Serialized(TwoInputModel())), GoodSkiff(f)};
       },
       {"two.onnx", "good.skiff", "not made from this source", "'x'", "'a', 'b'"}},
      {"ParityOfAModelWithoutTheSetting",
       [](const TempFolder& f) {
         const std::string source = f.Write(
             "two.onnx", Serialized(TwoInputModel(), [](auto& model) {
               for (auto& port : *model.mutable_graph()->mutable_input())
                 port.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
                     1);
               model.mutable_graph()->mutable_output(0)->clear_type();
             }));
         WriteFileAtomically(f / "two.skiff", ConvertFile(source)->file);
         return Arguments{"parity", source, f / "two.skiff", "--set", "b=3"};
       },
       {"--set b=3", "two.skiff was converted without it", "'b' is one of its inputs", "leave --set out"}},
      {"ParityWithoutInputs",
       [](const TempFolder& f) {
         return Arguments{"parity", GoodOnnx(f), "--inputs", f / "none"};
       },
       {"none", "no such folder"}},
      {"ParityInputsLackAFile",
       [](const TempFolder& f) {
         return Arguments{"parity", GoodOnnx(f), "--inputs", f.path()};
       },
       {"'x'", "input_x", "input_0"}},
      {"ParityExpectLacksAFile",
       [](const TempFolder& f) {
         return Arguments{"parity", GoodOnnx(f), "--inputs", "random:1", "--expect", f.path()};
       },
       {"'y'", "output_0"}},
      {"ParityBadSeed",
       [](const TempFolder& f) {
         return Arguments{"parity", GoodOnnx(f), "--inputs", "random:many"};
       },
       {"random:many", "random:SEED"}},
      {"ParityBadRange",
       [](const TempFolder& f) {
         return Arguments{"parity", GoodOnnx(f), "--inputs", "random:1:5..2"};
       },
       {"random:1:5..2", "LOW..HIGH"}},
  };
  BadInput full_folder{"OutputFolderFull",
                       run_to([](const TempFolder& f) {
                         std::filesystem::create_directory(f / "results");
                         return f / "results";
                       }),
                       {"results/y.npy", "cannot be written", "File too large"}};
  full_folder.run.file_size_limit = 100;
  cases.push_back(full_folder);
  BadInput full_stream{"StandardOutputFull",
                       [](const TempFolder& f) {
                         return Arguments{"inspect", GoodSkiff(f)};
                       },
                       {"standard output", "full"}};
  full_stream.run.standard_output = "/dev/full";
  cases.push_back(full_stream);
  return cases;
}

}  // namespace

std::vector<BadInput> BadTensors() {
  std::vector<BadInput> all;
  for (const std::vector<BadInput>& some : {BadModels(), BadInputFiles(), BadSizes(), BadFolders()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace skiff::testing
