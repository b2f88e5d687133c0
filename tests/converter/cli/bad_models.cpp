#include <filesystem>

#include "import/onnx/ops.h"
#include "tests/converter/cli/bad_input.h"
#include "tests/converter/cli/onnx_models.h"

namespace skiff::testing {
namespace {

using Arguments = std::vector<std::string>;
using onnx::ModelProto;

const std::string kCharacters = SKIFF_SOURCE_DIR "/samples/characters/characters.onnx";

Arguments Convert(const TempFolder& folder, const std::string& source, const Arguments& more = {}) {
  Arguments arguments = {"convert", source, "-o", folder / "out.skiff"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Converts bytes.
BadInput OfBytes(const std::string& name, const std::string& bytes, const Arguments& message) {
  return {name, [bytes](const TempFolder& folder) { return Convert(folder, folder.Write("in.onnx", bytes)); },
          message};
}

/// Converts the product model after a change.
BadInput OfChange(const std::string& name, const std::function<void(ModelProto&)>& change,
                  const Arguments& message) {
  return OfBytes(name, Serialized(ProductModel(), change), message);
}

/// Converts a good model with bad options.
BadInput OfOptions(const std::string& name, const Arguments& options, const Arguments& message,
                   const ModelProto& model = ProductModel()) {
  return {name,
          [options, model](const TempFolder& folder) {
            return Convert(folder, folder.Write("in.onnx", Serialized(model)), options);
          },
          message};
}

std::function<void(ModelProto&)> ExternalAt(const std::string& location) {
  return [location](ModelProto& model) {
    onnx::TensorProto* weights = model.mutable_graph()->mutable_initializer(0);
    weights->clear_float_data();
    weights->set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto* entry = weights->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
  };
}

/// Its exporter has written a batch of 2 into a Reshape.
ModelProto BakedModel() {
  ModelProto model = OpenProductModel();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_input(0, "rows");
  onnx::TensorProto* target = graph.add_initializer();
  target->set_name("target");
  target->set_data_type(onnx::TensorProto::INT64);
  target->add_dims(2);
  target->add_int64_data(2);
  target->add_int64_data(-1);
  AddNode(model, "Reshape", "flatten", {"x", "target"}, {"rows"});
  graph.mutable_node()->SwapElements(0, 1);
  return model;
}

void SetOpset(ModelProto& model, int64_t version) { model.mutable_opset_import(0)->set_version(version); }

void AddUnsupportedOperators(ModelProto& model) {
  AddNode(model, "StringNormalizer", "places", {"x"}, {"l"});
  AddNode(model, "DeformConv", "again", {"x"}, {"m"});
}

/// Converts into a place that `make` prepares.
BadInput OfOutput(const std::string& name, const std::function<std::string(const TempFolder&)>& make,
                  const Arguments& message) {
  return {name,
          [make](const TempFolder& folder) {
            return Arguments{"convert", GoodOnnx(folder), "-o", make(folder)};
          },
          message};
}

std::vector<BadInput> BadFiles() {
  const std::string characters = ReadWhole(kCharacters);
  return {
      {"MissingFile",
       [](const TempFolder& folder) { return Convert(folder, folder / "none.onnx"); },
       {"none.onnx", "cannot be opened", "No such file"}},
      {"Folder", [](const TempFolder& folder) { return Convert(folder, folder.path()); }, {"is a folder"}},
      OfBytes("Empty", "", {"in.onnx", "the file is empty"}),
      OfBytes("Text", "This is no model.\n", {"in.onnx", "not an ONNX model"}),
      OfBytes("InputOfFourBits",
              "graph g {\n  input x: f32[2]\n  input unused: i4[2] {scale=0.5}\n  output x\n}\n",
              {"input 'unused' is i4, which only constants can be"}),
      OfBytes("OutputOfFourBits", "graph g {\n  input x: i4[2] {scale=0.5}\n  output x\n}\n",
              {"input 'x' is i4, which only constants can be"}),
      OfBytes("EmptyButTooLarge",
              "graph g {\n  const shape: i32[2] = [0, 1073741824]\n  y = Fill(shape)\n  output "
              "y\n}\n",
              {"'y', [0, 1073741824], has no elements, but extents that are too large"}),
      OfBytes("OfTorch", "PK\x03\x04" + std::string(60, ' '),
              {"in.onnx", "not an ONNX model", "torch.onnx.export"}),
      OfBytes("OfKeras", "\x89HDF\r\n" + std::string(60, ' '), {"in.onnx", "HDF5", "model.export"}),
      OfBytes("Truncated", characters.substr(0, characters.size() * 6 / 10), {"in.onnx", "truncated"}),
      OfBytes("TruncatedByOneByte", characters.substr(0, characters.size() - 1), {"in.onnx", "truncated"}),
      {"AlreadyConverted",
       [](const TempFolder& folder) { return Convert(folder, GoodSkiff(folder)); },
       {"good.skiff", "converted model already", ".onnx"}},
      OfChange("CorruptWeights",
               [](ModelProto& m) { m.mutable_graph()->mutable_initializer(0)->set_dims(0, 5); },
               {"in.onnx", "'w'", "needs 60 bytes", "48 are stored", "damaged"}),
      OfChange("NoGraph", [](ModelProto& m) { m.clear_graph(); }, {"in.onnx", "no graph"}),
      OfChange("NoOpset", [](ModelProto& m) { m.clear_opset_import(); }, {"in.onnx", "opset"}),
      OfChange("UndefinedTensor",
               [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(1, "nowhere"); },
               {"in.onnx", "'product'", "'nowhere'"}),
      OfChange("MissingOutput", [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); },
               {"in.onnx", "'z'", "made by no node"}),
  };
}

std::vector<BadInput> BadExternalData() {
  return {
      OfChange("ExternalDataMissing", ExternalAt("weights.bin"),
               {"in.onnx", "'weights.bin'", "'w'", "No such file", "beside the model"}),
      OfChange("ExternalDataEscapes", ExternalAt("../weights.bin"),
               {"in.onnx", "'w'", "'../weights.bin'", "outside the model's folder"}),
      OfChange("ExternalDataAbsolute", ExternalAt("/etc/hostname"),
               {"in.onnx", "'w'", "'/etc/hostname'", "outside the model's folder"}),
      {"ExternalDataEscapesThroughALink",
       [](const TempFolder& folder) {
         std::filesystem::create_symlink("/etc/hostname", folder / "weights.bin");
         return Convert(folder,
                        folder.Write("in.onnx", Serialized(ProductModel(), ExternalAt("weights.bin"))));
       },
       {"in.onnx", "'w'", "outside the model's folder"}},
      {"ExternalDataTooShort",
       [](const TempFolder& folder) {
         folder.Write("weights.bin", "short");
         return Convert(folder,
                        folder.Write("in.onnx", Serialized(ProductModel(), ExternalAt("weights.bin"))));
       },
       {"in.onnx", "'weights.bin'", "has 5 bytes", "needs 48", "truncated"}},
  };
}

std::vector<BadInput> Unsupported() {
  const std::string range = fmt::format("reads {} to {}", kOldestOnnxOpset, kNewestOnnxOpset);
  return {
      OfChange("OpsetTooOld", [](ModelProto& m) { SetOpset(m, kOldestOnnxOpset - 1); },
               {"in.onnx", fmt::format("opset {}", kOldestOnnxOpset - 1), range, "version_converter"}),
      OfChange("OpsetTooNew", [](ModelProto& m) { SetOpset(m, 999); },
               {"in.onnx", "opset 999", range, "opset_version="}),
      OfChange("OperatorsAllAtOnce", AddUnsupportedOperators,
               {"in.onnx", "StringNormalizer", "'places'", "DeformConv", "'again'", "texts or maps"}),
      OfChange("OperatorOfAnotherDomain",
               [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_domain("com.acme"); },
               {"in.onnx", "MatMul", "com.acme", "'product'"}),
      OfChange("InputDtype",
               [](ModelProto& m) {
                 m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(8);
               },
               {"in.onnx", "element type string", "'x'", "numbers as classes"}),
      OfChange("WeightsDtype",
               [](ModelProto& m) { m.mutable_graph()->mutable_initializer(0)->set_data_type(14); },
               {"in.onnx", "element type complex64", "'w'", "float32"}),
      OfChange("RankOpen",
               [](ModelProto& m) {
                 m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
               },
               {"in.onnx", "'x'", "rank"}),
  };
}

std::vector<BadInput> BadShapes() {
  const ModelProto open = OpenProductModel();
  return {
      OfChange("ShapesContradict",
               [](ModelProto& m) {
                 m.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape()
                     ->mutable_dim(1)
                     ->set_dim_value(5);
               },
               {"'product'", "MatMul"}),
      OfOptions("ShapeContradictsTheModel", {"--shape", "x=1x5"},
                {"--shape x=1x5", "dimension 1", "'x'", "is 4", "cannot be 5", "with the dimension open"}),
      OfOptions("DimOfAFixedModel", {"--dim", "batch=2"},
                {"--dim batch=2", "no dimension 'batch'", "export it with the dimension open"}),
      OfOptions("DimIsNotTheExporters", {"--dim", "batch=3"},
                {"'product'", "differ: 6 and 4", "the net takes 2 alone", "--dim 'batch=2'"}, BakedModel()),
      OfOptions("ShapeIsNotTheExporters", {"--shape", "x=1x4"},
                {"'product'", "differ: 2 and 4", "the net takes 2 alone", "--dim 'batch=2'"}, BakedModel()),
      OfOptions("RangeIsNotTheExporters", {"--dim", "batch=5..7"},
                {"'product'", "the net takes 2 alone", "--dim 'batch=2'"}, BakedModel()),
      OfOptions("ShapeOfAnotherRank", {"--shape", "x=4"}, {"--shape x=4", "'x'", "2 dimensions, not 1"}),
      OfOptions("UnknownShapeName", {"--shape", "image=1x4"},
                {"--shape image=1x4", "no input 'image'", "'x'"}),
      OfOptions("UnknownDimName", {"--dim", "rows=2"}, {"--dim rows=2", "no dimension 'rows'", "'batch'"},
                open),
      OfOptions("ShapeAndDimDisagree", {"--shape", "x=2x4", "--dim", "batch=3"}, {"batch", "3", "2"}, open),
      OfOptions("UnknownBucketName", {"--bucket", "rows=2"},
                {"--bucket rows=2", "no dimension 'rows'", "'batch'"}, open),
      OfOptions("BucketOutsideTheContract", {"--dim", "batch=1..8", "--bucket", "batch=4,16"},
                {"--bucket batch=16", "outside", "--dim", "1..8"}, open),
      OfOptions("BucketOfNoMultiple", {"--dim", "batch=4..64,multiple=4", "--bucket", "batch=6"},
                {"--bucket batch=6", "no multiple of 4"}, open),
      OfOptions("ImageSizeFitsNoInput", {"--image-size", "8x8"}, {"--image-size 8x8", "fits no input", "'x'"},
                PictureModel()),
      OfOptions("PicturesOfOpenSize", {"--std", "0.5"}, {"fits no input", "'x'", "say --image-size"},
                OpenPictureModel()),
      {"LabelsMissing",
       [](const TempFolder& folder) {
         return Convert(folder, GoodOnnx(folder), {"--labels", folder / "none.txt"});
       },
       {"none.txt", "cannot be opened"}},
      {"LabelsEmpty",
       [](const TempFolder& folder) {
         return Convert(folder, GoodOnnx(folder), {"--labels", folder.Write("labels.txt", "\n\n")});
       },
       {"labels.txt", "no labels", "one per line"}},
      {"LabelsOfADevice",
       [](const TempFolder& folder) {
         return Convert(folder, GoodOnnx(folder), {"--labels", "/dev/zero"});
       },
       {"/dev/zero: is a device", "path of a file"}},
      {"LabelsTooLong",
       [](const TempFolder& folder) {
         return Convert(folder, GoodOnnx(folder),
                        {"--labels", folder.Write("labels.txt", std::string((16 << 20) + 1, 'a'))});
       },
       {"labels.txt", "more than 16777216 bytes"}},
      {"LabelsTooFew",
       [](const TempFolder& folder) {
         return Convert(folder, GoodOnnx(folder), {"--labels", folder.Write("labels.txt", "a\nb\n")});
       },
       {"--labels", "2 names", "'y' f32 [1, 3]"}},
  };
}

std::vector<BadInput> BadOutputs() {
  std::vector<BadInput> cases = {
      OfOutput("OutputInMissingFolder", [](const TempFolder& f) { return f / "none/out.skiff"; },
               {"none/out.skiff", "cannot be written", "No such file"}),
      OfOutput("OutputUnderAFile", [](const TempFolder& f) { return f.Write("file", "") + "/out.skiff"; },
               {"file/out.skiff", "cannot be written", "Not a directory"}),
      OfOutput("OutputIsAFolder", [](const TempFolder& f) { return f.path(); },
               {"cannot be written", "is a folder"}),
      OfOutput("OutputIsADevice", [](const TempFolder&) { return std::string("/dev/full"); },
               {"/dev/full", "cannot be written", "a device"}),
      OfOutput("OutputIsTheSource", [](const TempFolder& f) { return f / "good.onnx"; },
               {"good.onnx", "would overwrite the source", "another name"}),
  };
  BadInput full{"OutputFull",
                [](const TempFolder& folder) { return Convert(folder, kCharacters); },
                {"out.skiff", "cannot be written", "existing file was left as it was", "File too large"}};
  full.run.file_size_limit = 100000;
  cases.push_back(full);
  return cases;
}

}  // namespace

std::vector<BadInput> BadSources() {
  std::vector<BadInput> all;
  for (const std::vector<BadInput>& some :
       {BadFiles(), BadExternalData(), Unsupported(), BadShapes(), BadOutputs()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace skiff::testing
