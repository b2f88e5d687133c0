#include "import/tflite/signatures.h"

#include <set>

#include "graph/distinct_names.h"
#include "graph/error.h"
#include "import/import_model.h"

namespace skiff {
namespace {

/// Each becomes plans; no real model comes near it.
constexpr uint32_t kMaxSignatures = 1000;

void ReadNames(const flatbuffers::Vector<flatbuffers::Offset<tflite::TensorName>>* stated,
               std::map<int32_t, std::string>& names) {
  for (uint32_t i = 0; i < SizeOf(stated); ++i)
    names.emplace(stated->Get(i)->tensor(), TextOf(stated->Get(i)->name()));
}

/// Before anyone walks through them.
void CheckPorts(const tflite::SubGraph& graph) {
  CheckPortCount("inputs", SizeOf(graph.inputs()));
  CheckPortCount("outputs", SizeOf(graph.outputs()));
}

}  // namespace

std::vector<TfliteSignature> SignaturesOf(const TfliteFile& file) {
  const auto* stated = file.model().signatures();
  if (SizeOf(stated) == 0) {
    CheckPorts(file.subgraph(0));
    return {{kMainSignature, 0, {}, {}}};
  }
  if (SizeOf(stated) > kMaxSignatures)
    Throw(StatusCode::kUnsupported, "the file has {} signatures; at most {} are supported", SizeOf(stated),
          kMaxSignatures);
  std::vector<TfliteSignature> signatures;
  DistinctNames names;
  for (const tflite::Signature* from : *stated) {
    TfliteSignature& to = signatures.emplace_back();
    const std::string key =
        from->key() == nullptr || from->key()->size() == 0 ? kMainSignature : TextOf(from->key());
    to.name = names.Take(key);
    to.subgraph = from->subgraph();
    CheckPorts(file.subgraph(to.subgraph));
    ReadNames(from->inputs(), to.inputs);
    ReadNames(from->outputs(), to.outputs);
  }
  return signatures;
}

std::string TensorName(const tflite::SubGraph& graph, int32_t tensor) {
  const std::string name = TextOf(graph.tensors()->Get(static_cast<uint32_t>(tensor))->name());
  return name.empty() ? fmt::format("tensor_{}", tensor) : name;
}

std::string PortName(const std::map<int32_t, std::string>& named, const tflite::SubGraph& graph,
                     int32_t tensor) {
  const auto found = named.find(tensor);
  return found == named.end() ? TensorName(graph, tensor) : found->second;
}

std::vector<std::string> InputNamesOf(const TfliteFile& file, const TfliteSignature& signature) {
  const tflite::SubGraph& graph = file.subgraph(signature.subgraph);
  std::vector<std::string> names;
  std::set<int32_t> seen;
  for (uint32_t i = 0; i < SizeOf(graph.inputs()); ++i) {
    const int32_t tensor = graph.inputs()->Get(i);
    if (seen.insert(tensor).second) names.push_back(PortName(signature.inputs, graph, tensor));
  }
  return names;
}

}  // namespace skiff
