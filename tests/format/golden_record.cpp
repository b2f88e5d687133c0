#include "tests/format/golden_record.h"

#include "format/model_data.h"
#include "graph/error.h"
#include "graph/quantization.h"

namespace skiff::testing {
namespace {

using nlohmann::json;

json Hex(const void* data, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += fmt::format("{:02x}", static_cast<const uint8_t*>(data)[i]);
  return text;
}

std::vector<uint8_t> Unhex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

json TensorToJson(const TensorData& tensor) {
  return {{"dtype", DTypeName(tensor.dtype())},
          {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
          {"bytes", Hex(tensor.data(), tensor.size_bytes())}};
}

TensorData TensorFromJson(const json& entry) {
  Shape shape;
  for (const json& extent : entry.at("shape")) shape.Append(extent.get<int64_t>());
  const TensorData empty(DTypeFromName(entry.at("dtype").get<std::string>().c_str()), shape);
  const std::vector<uint8_t> bytes = Unhex(entry.at("bytes"));
  if (bytes.size() != empty.size_bytes())
    Throw(StatusCode::kInvalidArgument, "a recorded tensor has {} bytes; its type says {}", bytes.size(),
          empty.size_bytes());
  return {empty.dtype(), shape, bytes.data()};
}

json DescribePort(const PortInfo& port) {
  const int rank = port.shape.rank();
  json entry = {{"name", port.name},
                {"dtype", DTypeName(port.dtype)},
                {"shape", std::vector<int64_t>(port.shape.begin(), port.shape.end())},
                {"symbols", std::vector<int32_t>(port.symbols, port.symbols + rank)},
                {"labels", std::vector<std::string>(port.labels.begin(), port.labels.end())}};
  if (port.quantization != nullptr) entry["quantization"] = QuantizationText(port.quantization);
  if (const ImageSpec& image = port.image; image.width != 0) {
    entry["image"] = {{"width", image.width},
                      {"height", image.height},
                      {"mean", std::vector<float>(image.mean, image.mean + image.channels)},
                      {"scale", std::vector<float>(image.scale, image.scale + image.channels)},
                      {"bgr", image.bgr},
                      {"nhwc", image.nhwc}};
    // Files from before these settings say nothing of them.
    if (image.fit != ImageFit::kStretch) entry["image"]["fit"] = static_cast<int>(image.fit);
    if (image.filter != ImageFilter::kLinear) entry["image"]["filter"] = static_cast<int>(image.filter);
    if (image.fill != 0) entry["image"]["fill"] = image.fill;
    if (image.resize != 0) entry["image"]["resize"] = image.resize;
  }
  return entry;
}

json DescribePlan(const PlanSummary& plan) {
  json ranges = json::array();
  for (const SymbolRange& range : plan.ranges) ranges.push_back({range.symbol, range.min, range.max});
  return {{"target", TargetName(plan.target)},
          {"kind", BucketKindName(plan.kind)},
          {"ranges", ranges},
          {"arena_bytes", plan.arena_bytes},
          {"nodes", plan.nodes}};
}

json TensorsToJson(const std::map<std::string, TensorData>& tensors) {
  json entries = json::object();
  for (const auto& [name, tensor] : tensors) entries[name] = TensorToJson(tensor);
  return entries;
}

std::map<std::string, TensorData> TensorsFromJson(const json& entries) {
  std::map<std::string, TensorData> tensors;
  for (const auto& [name, entry] : entries.items()) tensors[name] = TensorFromJson(entry);
  return tensors;
}

}  // namespace

std::string GoldenPath(const std::string& folder, uint32_t version, const char* extension) {
  return fmt::format("{}/format_{}.{}", folder, version, extension);
}

json Describe(const Model& model) {
  json symbols = json::array(), variables = json::array(), signatures = json::array(),
       metadata = json::object();
  for (const SymbolInfo& symbol : model.symbols())
    symbols.push_back(
        {{"name", symbol.name}, {"min", symbol.min}, {"max", symbol.max}, {"multiple", symbol.multiple}});
  for (const VariableInfo& variable : model.variables()) {
    const TensorView& initial = variable.initial;
    const auto bytes = static_cast<size_t>(initial.shape.elements() * DTypeSize(initial.dtype));
    variables.push_back({{"name", variable.name},
                         {"dtype", DTypeName(initial.dtype)},
                         {"shape", std::vector<int64_t>(initial.shape.begin(), initial.shape.end())},
                         {"bytes", Hex(initial.data, bytes)}});
  }
  for (int i = 0; i < model.signature_count(); ++i) {
    const SignatureInfo signature = model.signature(i);
    json inputs = json::array(), outputs = json::array(), plans = json::array();
    for (const PortInfo& port : signature.inputs) inputs.push_back(DescribePort(port));
    for (const PortInfo& port : signature.outputs) outputs.push_back(DescribePort(port));
    for (int plan = 0; plan < model.plan_count(i); ++plan) plans.push_back(DescribePlan(model.plan(i, plan)));
    signatures.push_back(
        {{"name", signature.name}, {"inputs", inputs}, {"outputs", outputs}, {"plans", plans}});
  }
  for (const MetadataEntry& entry : model.data().metadata) metadata[entry.key] = entry.value;
  return {{"format_version", model.data().format_version},
          {"producer", model.producer()},
          {"metadata", metadata},
          {"symbols", symbols},
          {"variables", variables},
          {"signatures", signatures},
          {"weights_bytes", model.weights_bytes()}};
}

json CallToJson(const GoldenCall& call) {
  return {{"signature", call.signature},
          {"inputs", TensorsToJson(call.inputs)},
          {"outputs", TensorsToJson(call.outputs)}};
}

GoldenCall CallFromJson(const json& entry) {
  return {entry.at("signature"), TensorsFromJson(entry.at("inputs")), TensorsFromJson(entry.at("outputs"))};
}

std::string FirstDifference(const json& then, const json& now, const std::string& path) {
  if (then.is_object() && now.is_object()) {
    for (const auto& [key, value] : then.items()) {
      if (!now.contains(key)) return fmt::format("{}/{} is gone", path, key);
      if (std::string inner = FirstDifference(value, now.at(key), path + "/" + key); !inner.empty())
        return inner;
    }
    return "";
  }
  if (then.is_array() && now.is_array() && then.size() == now.size()) {
    for (size_t i = 0; i < then.size(); ++i) {
      std::string inner = FirstDifference(then[i], now[i], fmt::format("{}/{}", path, i));
      if (!inner.empty()) return inner;
    }
    return "";
  }
  return then == now ? "" : fmt::format("{} was {} and is {}", path, then.dump(), now.dump());
}

}  // namespace skiff::testing
