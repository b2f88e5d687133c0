#include "platforms/python/bindings/model.h"

#include "cli/image_options.h"
#include "emit/write_model.h"
#include "files/image.h"
#include "files/output_path.h"
#include "graph/error.h"
#include "platforms/python/bindings/support.h"
#include "run/model_signature.h"
#include "run/sizes.h"
#include "skiff/labels.h"
#include "skiff/quantize.h"

namespace skiff::python {
namespace {

/// Names and labels are bytes of a file: those that are no text are replaced.
nb::object Text(const char* bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(std::strlen(bytes)), "replace"));
}

nb::object Maximum(int64_t max) {
  return max == SymbolInfo::kUnbounded ? nb::object(nb::none()) : nb::object(nb::int_(max));
}

nb::object DescribeQuantization(const Quantization* quantization) {
  if (quantization == nullptr) return nb::none();
  nb::list scales;
  nb::list zero_points;
  for (int64_t i = 0; i < quantization->count; ++i) {
    scales.append(quantization->ScaleAt(i));
    zero_points.append(quantization->ZeroPointAt(i));
  }
  nb::dict result;
  result["scale"] = nb::tuple(scales);
  result["zero_point"] = nb::tuple(zero_points);
  result["axis"] =
      quantization->per_tensor() ? nb::object(nb::none()) : nb::object(nb::int_(quantization->axis));
  result["block"] = quantization->block;
  return result;
}

nb::object DescribeImage(const ImageSpec& image) {
  if (image.width == 0) return nb::none();
  nb::list mean;
  nb::list scale;
  for (uint32_t c = 0; c < image.channels; ++c) {
    mean.append(image.mean[c]);
    scale.append(image.scale[c]);
  }
  nb::dict result;
  result["width"] = image.width;
  result["height"] = image.height;
  result["mean"] = nb::tuple(mean);
  result["scale"] = nb::tuple(scale);
  result["channels"] = image.channels == 1 ? "gray" : image.bgr ? "bgr" : "rgb";
  result["layout"] = image.nhwc ? "nhwc" : "nchw";
  result["fit"] = cli::FitName(image.fit);
  result["filter"] = cli::FilterName(image.filter);
  result["resize"] = image.resize;
  result["fill"] = image.fill;
  return result;
}

nb::dict DescribePort(const Model& model, const PortInfo& port) {
  nb::list shape;
  const std::vector<std::string> names = AxisTexts(model.symbols(), port);
  for (int axis = 0; axis < port.shape.rank(); ++axis) {
    if (port.shape[axis] >= 0) {
      shape.append(port.shape[axis]);
    } else {
      shape.append(Text(names[static_cast<size_t>(axis)].c_str()));
    }
  }
  nb::list labels;
  for (const char* label : port.labels) labels.append(Text(label));
  nb::dict result;
  result["name"] = Text(port.name);
  result["dtype"] = NumpyType(port.dtype);
  result["shape"] = nb::tuple(shape);
  result["quantization"] = DescribeQuantization(port.quantization);
  result["image"] = DescribeImage(port.image);
  result["labels"] = nb::tuple(labels);
  return result;
}

nb::list DescribePorts(const Model& model, Span<const PortInfo> ports) {
  nb::list list;
  for (const PortInfo& port : ports) list.append(DescribePort(model, port));
  return list;
}

nb::dict DescribePlan(const Model& model, const PlanSummary& plan) {
  nb::dict ranges;
  for (const SymbolRange& range : plan.ranges)
    ranges[Text(model.symbols()[range.symbol].name)] = nb::make_tuple(range.min, Maximum(range.max));
  nb::dict result;
  result["target"] = TargetName(plan.target);
  result["kind"] = BucketKindName(plan.kind);
  result["ranges"] = ranges;
  result["arena_bytes"] = plan.arena_bytes;
  result["nodes"] = plan.nodes;
  return result;
}

nb::dict DescribeSignature(const Model& model, int index) {
  const SignatureInfo signature = model.signature(index);
  nb::list plans;
  for (int i = 0; i < model.plan_count(index); ++i) plans.append(DescribePlan(model, model.plan(index, i)));
  nb::dict result;
  result["name"] = Text(signature.name);
  result["inputs"] = DescribePorts(model, signature.inputs);
  result["outputs"] = DescribePorts(model, signature.outputs);
  result["plans"] = plans;
  return result;
}

nb::dict Describe(const ModelHandle& handle) {
  const Model& model = handle.get().model();
  const ModelData& data = model.data();
  nb::list signatures;
  for (int i = 0; i < model.signature_count(); ++i) signatures.append(DescribeSignature(model, i));
  nb::list symbols;
  for (const SymbolInfo& symbol : model.symbols())
    symbols.append(nb::make_tuple(Text(symbol.name), symbol.min, Maximum(symbol.max), symbol.multiple));
  nb::list variables;
  for (const VariableInfo& variable : model.variables())
    variables.append(nb::make_tuple(Text(variable.name), NumpyType(variable.initial.dtype),
                                    ToTuple(variable.initial.shape)));
  nb::dict metadata;
  for (const MetadataEntry& entry : data.metadata) metadata[Text(entry.key)] = Text(entry.value);
  nb::dict result;
  result["signatures"] = signatures;
  result["symbols"] = symbols;
  result["variables"] = variables;
  result["metadata"] = metadata;
  result["producer"] = Text(model.producer());
  result["format_version"] = data.format_version;
  result["file_bytes"] = model.file_bytes();
  result["weights_bytes"] = model.weights_bytes();
  return result;
}

SharedModel OpenPath(const std::string& path, const std::optional<std::string>& cache_folder) {
  const Unlocked unlocked;
  return std::make_shared<OpenedModel>(path, cache_folder.value_or(""));
}

SharedModel OpenBytes(nb::handle object) {
  const Borrowed bytes(object, DType::kU8, "the model");
  if (bytes.view().dtype != DType::kU8)
    Throw(StatusCode::kInvalidArgument, "a model in memory is bytes, got elements of {}",
          DTypeName(bytes.view().dtype));
  const auto* first = bytes.view().as<uint8_t>();
  const Unlocked unlocked;
  return std::make_shared<OpenedModel>(std::vector<uint8_t>(first, first + bytes.view().bytes()));
}

/// The model may be closed while the caller has no GIL, or reads what Python has: who uses this keeps it.
SignatureInfo SignatureNamed(const ModelHandle& handle, const std::optional<std::string>& name) {
  return FindSignature(handle.get().model(), name.value_or("")).info();
}

nb::object PreprocessFile(const ModelHandle& handle, const std::string& input, const std::string& path,
                          const std::optional<std::string>& signature) {
  const SharedModel keep = handle.opened;
  const PortInfo& port = PortNamed(SignatureNamed(handle, signature).inputs, input, "input");
  TensorData tensor;
  {
    const Unlocked unlocked;
    tensor = ReadImage(path, port);
  }
  return ToArray(tensor.view());
}

nb::object PreprocessPixels(const ModelHandle& handle, const std::string& input, nb::handle pixels,
                            int orientation, const std::optional<std::string>& signature) {
  const SharedModel keep = handle.opened;
  const PortInfo& port = PortNamed(SignatureNamed(handle, signature).inputs, input, "input");
  const Borrowed borrowed(pixels, DType::kU8, "the picture");
  const TensorView& view = borrowed.view();
  const int rank = view.shape.rank();
  if (view.dtype != DType::kU8 || rank < 2 || rank > 3)
    Throw(StatusCode::kInvalidArgument,
          "a picture is an array of uint8 [height, width] or [height, width, channels], got {} {}",
          DTypeName(view.dtype), ShapeText(view.shape).c_str());
  const int64_t channels = rank == 2 ? 1 : view.shape[2];
  constexpr int64_t kMostSide = 1 << 20;
  if ((channels != 1 && channels != 3 && channels != 4) || view.shape[0] > kMostSide ||
      view.shape[1] > kMostSide)
    Throw(StatusCode::kInvalidArgument,
          "a picture has 1, 3 or 4 channels and at most {} pixels a side, got {}", kMostSide,
          ShapeText(view.shape).c_str());
  Picture picture{static_cast<uint32_t>(view.shape[1]),
                  static_cast<uint32_t>(view.shape[0]),
                  static_cast<uint32_t>(channels),
                  {view.as<uint8_t>(), view.as<uint8_t>() + view.bytes()},
                  orientation};
  TensorData tensor;
  {
    const Unlocked unlocked;
    tensor = PreprocessPicture(picture, port);
  }
  return ToArray(tensor.view());
}

nb::list Top(const ModelHandle& handle, const std::string& output, nb::handle scores, int64_t k, bool softmax,
             int64_t row, const std::optional<std::string>& signature) {
  const SharedModel keep = handle.opened;
  const PortInfo& port = PortNamed(SignatureNamed(handle, signature).outputs, output, "output");
  const Borrowed borrowed = BorrowAligned(scores, port.dtype, "'" + output + "'");
  if (k < 1) Throw(StatusCode::kInvalidArgument, "the {} best classes were asked for; expected 1 or more", k);
  TensorView view = borrowed.view();
  if (view.dtype == port.dtype) view.quantization = port.quantization;
  std::vector<ClassScore> best(static_cast<size_t>(std::min(k, std::max<int64_t>(ClassesOf(view.shape), 1))));
  const size_t count = Must([&] {
    return BestClasses(port, view, {best.data(), best.size()},
                       softmax ? ScoreKind::kSoftmax : ScoreKind::kAsTheyAre, row);
  });
  nb::list classes;
  for (size_t i = 0; i < count; ++i)
    classes.append(nb::make_tuple(best[i].index, Text(best[i].label), best[i].score));
  return classes;
}

/// Either way between real numbers and the integers of a quantised port.
nb::object Requantize(const ModelHandle& handle, const std::string& name, bool is_input, nb::handle array,
                      bool to_integers, const std::optional<std::string>& signature) {
  const SharedModel keep = handle.opened;
  const SignatureInfo info = SignatureNamed(handle, signature);
  const PortInfo& port =
      PortNamed(is_input ? info.inputs : info.outputs, name, is_input ? "input" : "output");
  if (port.quantization == nullptr)
    Throw(StatusCode::kInvalidArgument, "'{}' is not quantised: its {} are plain numbers", name,
          DTypeName(port.dtype));
  const DType expected = to_integers ? DType::kF32 : port.dtype;
  const Borrowed borrowed = BorrowAligned(array, expected, "'" + name + "'");
  const TensorView& view = borrowed.view();
  if (view.dtype != expected)
    Throw(StatusCode::kInvalidArgument, "'{}': expected {}, got {}", name, DTypeName(expected),
          DTypeName(view.dtype));
  TensorData result(to_integers ? port.dtype : DType::kF32, view.shape);
  if (to_integers) {
    const TensorView to(result.mutable_data(), port.dtype, view.shape, port.quantization);
    Must([&] { return QuantizeFloats(view.as<float>(), to); });
  } else {
    TensorView from = view;
    from.quantization = port.quantization;
    Must([&] { return DequantizeToFloats(from, static_cast<float*>(result.mutable_data())); });
  }
  return ToArray(result.view());
}

void SaveCache(const ModelHandle& handle) {
  const SharedModel model = handle.opened;
  handle.get();
  const Unlocked unlocked;
  Must([&] { return model->model().SaveCache(); });
}

void SaveBytes(const std::string& path, nb::handle object) {
  const Borrowed bytes(object, DType::kU8, "the model");
  const auto* first = bytes.view().as<uint8_t>();
  const Unlocked unlocked;
  WriteFileAtomically(CheckOutputFile(path), {first, first + bytes.view().bytes()});
}

}  // namespace

OpenedModel& ModelHandle::get() const {
  if (!opened) Throw(StatusCode::kInvalidArgument, "the model is closed");
  return *opened;
}

const PortInfo& PortNamed(Span<const PortInfo> ports, const std::string& name, const char* kind) {
  for (const PortInfo& port : ports) {
    if (name == port.name) return port;
  }
  Throw(StatusCode::kInvalidArgument, "there is no {} '{}'; there are {}", kind, name, PortNames(ports));
}

void BindModel(nb::module_& module) {
  const auto signature = nb::arg("signature").none() = nb::none();
  nb::class_<ModelHandle>(module, "Model", "An opened model; skiff.Model is what callers see.")
      .def_static(
          "open",
          [](const std::string& path, const std::optional<std::string>& cache_folder) {
            return ModelHandle{OpenPath(path, cache_folder)};
          },
          nb::arg("path"), nb::arg("cache_folder").none() = nb::none())
      .def_static(
          "from_bytes", [](const nb::object& bytes) { return ModelHandle{OpenBytes(bytes)}; },
          nb::arg("data"))
      .def("describe", &Describe)
      .def("close", [](ModelHandle& handle) { handle.opened.reset(); })
      .def("closed", [](const ModelHandle& handle) { return !handle.opened; })
      .def("save_cache", &SaveCache)
      .def("packed_bytes",
           [](const ModelHandle& handle) {
             const PackedBytes bytes = handle.get().model().packed_bytes();
             return nb::make_tuple(bytes.heap, bytes.mapped);
           })
      .def("preprocess_file", &PreprocessFile, nb::arg("input"), nb::arg("path"), signature)
      .def("preprocess_pixels", &PreprocessPixels, nb::arg("input"), nb::arg("pixels").none(),
           nb::arg("orientation"), signature)
      .def("top", &Top, nb::arg("output"), nb::arg("scores").none(), nb::arg("k"), nb::arg("softmax"),
           nb::arg("row"), signature)
      .def("requantize", &Requantize, nb::arg("name"), nb::arg("is_input"), nb::arg("array"),
           nb::arg("to_integers"), signature);
  module.def(
      "check_output_file", [](const std::string& path) { static_cast<void>(CheckOutputFile(path)); },
      nb::arg("path"));
  module.def("write_file", &SaveBytes, nb::arg("path"), nb::arg("data"));
}

}  // namespace skiff::python
