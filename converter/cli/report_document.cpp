#include "cli/report_document.h"

#include <fmt/format.h>

#include "cli/inspect.h"
#include "cli/parity_report.h"
#include "cli/plan_table.h"
#include "graph/bodies.h"
#include "graph/text.h"
#include "run/sizes.h"

namespace skiff::cli {
namespace {

Json PlaceJson(const ArenaPlace& place) {
  return {{"offset", place.offset},
          {"bytes", place.bytes},
          {"first", place.first},
          {"last", place.last},
          {"strided", place.strided}};
}

Json TensorJson(const PlanData& plan, size_t index, const TensorPicture& picture) {
  const PlanTensor& tensor = plan.tensors[index];
  const TensorPlacement& placement = plan.placements[index];
  Json json = {{"name", tensor.name},
               {"dtype", DTypeName(tensor.view.dtype)},
               {"shape", std::vector<int64_t>(picture.shape.begin(), picture.shape.end())},
               {"bytes", ElementBytes(tensor.view.dtype, picture.shape.elements())},
               {"constant", tensor.constant}};
  if (*placement.source != '\0') json["source"] = placement.source;
  if (const std::string text = ShortQuantizationText(tensor.view.quantization); !text.empty())
    json["quantization"] = text.substr(text.find_first_not_of(' '));
  if (placement.stored != DType::kInvalid) {
    json["stored"] = {{"dtype", DTypeName(placement.stored)},
                      {"bytes", ElementBytes(placement.stored, tensor.view.shape.elements())}};
  }
  if (placement.view_of != TensorPlacement::kRoot) json["view_of"] = placement.view_of;
  if (picture.place) json["place"] = PlaceJson(*picture.place);
  return json;
}

Json GraphJson(const PlanPicture& picture);

Json NodeJson(const PlanPicture& picture, size_t index) {
  const PlanData& plan = *picture.plan;
  const PlanNode& node = plan.nodes[index];
  Json json = {{"name", node.name},
               {"operator", node.op->name},
               {"attributes", PrintAttrs(node.op->code, *node.attrs)},
               {"delegate", DelegateText(DelegateOf(plan, index))},
               {"shape_program", index < plan.shape_node_count},
               {"inputs", std::vector<int32_t>(node.inputs.begin(), node.inputs.end())},
               {"outputs", std::vector<int32_t>(node.outputs.begin(), node.outputs.end())}};
  const auto bodies = picture.bodies.find(index);
  for (size_t b = 0; bodies != picture.bodies.end() && b < bodies->second.size(); ++b) {
    json["bodies"].push_back(
        {{"name", BodyNames(node.op->code)[b]}, {"graph", GraphJson(bodies->second[b])}});
  }
  return json;
}

Json GraphJson(const PlanPicture& picture) {
  const PlanData& plan = *picture.plan;
  Json json = {{"inputs", std::vector<int32_t>(plan.inputs.begin(), plan.inputs.end())},
               {"outputs", std::vector<int32_t>(plan.outputs.begin(), plan.outputs.end())},
               {"arena_bytes", picture.arena_bytes},
               {"live_bytes", picture.live_bytes},
               {"tensors", Json::array()},
               {"nodes", Json::array()}};
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    json["tensors"].push_back(TensorJson(plan, i, picture.tensors[i]));
  for (size_t i = 0; i < plan.nodes.size(); ++i) json["nodes"].push_back(NodeJson(picture, i));
  return json;
}

/// What the run said of the nodes, beside what the plan does.
void AddProfile(const BenchResult& bench, Json& nodes) {
  for (size_t i = 0; i < bench.nodes.size(); ++i) {
    const NodeProfile& node = bench.nodes[i];
    nodes[i].update({{"delegate", node.info.delegate_name},
                     {"fell_back", node.info.fell_back},
                     {"median_ns", node.median_ns},
                     {"bytes", node.info.bytes},
                     {"multiply_adds", node.info.multiply_adds}});
  }
}

Json RunJson(const ReportSide& side) {
  Json run = BenchJson(side.context, side.bench);
  run.erase("nodes");  // They are the graph's.
  return run;
}

Json FatesJson(const std::vector<SourceFate>& fates) {
  Json json = Json::array();
  for (const SourceFate& fate : fates)
    json.push_back(
        {{"name", fate.name}, {"operator", fate.op}, {"notes", fate.notes}, {"nodes", fate.nodes}});
  return json;
}

Json SideJson(const ReportSide& side) {
  const ModelSignature& signature = side.signature;
  Json json = {{"label", side.label},
               {"file", SkiffJson(side.path, signature.model(), /*nodes=*/false)},
               {"signature", signature.name()},
               {"plan", side.plan - signature.data().plans.data()},
               {"sizes", side.context.sizes_json},
               {"run", RunJson(side)},
               {"graph", GraphJson(side.picture)}};
  AddProfile(side.bench, json["graph"]["nodes"]);
  if (side.parity) {
    json["sources"] = FatesJson(side.fates);
    json["parity"] = {{"signature", signature.name()}};
    json["parity"].update(ParityJson(*side.parity));
  }
  return json;
}

}  // namespace

Json ReportDocument(const std::vector<ReportSide>& sides) {
  Json json = {{"sides", Json::array()}};
  for (const ReportSide& side : sides) json["sides"].push_back(SideJson(side));
  return JsonDocument("report", json);
}

}  // namespace skiff::cli
