#include "import/onnx/ops.h"

#include <algorithm>
#include <map>
#include <vector>

#include "import/custom.h"
#include "import/onnx/custom.h"

namespace skiff {
namespace {

constexpr std::string_view kMlDomain = "ai.onnx.ml";

using OnnxTable = std::map<std::string_view, std::vector<const OnnxOp*>>;
using Families = std::initializer_list<std::span<const OnnxOp>>;

OnnxTable TableOf(Families families) {
  OnnxTable rows;
  for (const auto family : families) {
    for (const OnnxOp& row : family) rows[row.name].push_back(&row);
  }
  return rows;
}

/// By domain.
const std::map<std::string_view, OnnxTable>& Tables() {
  static const std::map<std::string_view, OnnxTable> tables = {
      {"", TableOf({OnnxElementwiseOps(), OnnxWindowOps(),    OnnxPoolOps(),      OnnxPatchOps(),
                    OnnxSampleOps(),      OnnxResizeOps(),    OnnxNormalizeOps(), OnnxReductionOps(),
                    OnnxShapeOps(),       OnnxMovementOps(),  OnnxIndexOps(),     OnnxLossOps(),
                    OnnxNormOps(),        OnnxControlOps(),   OnnxAttentionOps(), OnnxEinsumOps(),
                    OnnxSpectrumOps(),    OnnxRecurrentOps(), OnnxQuantizeOps(),  OnnxQLinearOps(),
                    OnnxCountedOps(),     OnnxScanOps(),      OnnxRandomOps(),    OnnxSequenceOps(),
                    OnnxLoopOps(),        OnnxTfIdfOps()})},
      {kMlDomain, TableOf({OnnxTreeOps(), OnnxLinearModelOps(), OnnxFeatureOps()})},
      {"com.microsoft", TableOf({MicrosoftQuantizedOps(), MicrosoftProductOps(), MicrosoftFusedOps(),
                                 MicrosoftTransformerOps(), MicrosoftAttentionOps()})},
  };
  return tables;
}

struct Remedy {
  std::string_view name;
  const char* sentence;
};

constexpr const char* kTexts =
    "It works with texts or maps, and there are none on a device: do this step in the program, and begin the "
    "model behind it.";
constexpr Remedy kRemedies[] = {
    {"CastMap", kTexts},        {"CategoryMapper", kTexts}, {"DictVectorizer", kTexts},
    {"RegexFullMatch", kTexts}, {"StringConcat", kTexts},   {"StringNormalizer", kTexts},
    {"StringSplit", kTexts},
};

}  // namespace

const OnnxOp* FindOnnxOp(std::string_view domain, std::string_view name, int64_t opset) {
  const auto table = Tables().find(domain);
  if (table == Tables().end()) return nullptr;
  const auto found = table->second.find(name);
  if (found == table->second.end()) return nullptr;
  for (const OnnxOp* row : found->second) {
    if (opset >= row->since && opset <= row->until) return row;
  }
  return nullptr;
}

std::vector<const OnnxOp*> AllOnnxOps(std::string_view domain) {
  std::vector<const OnnxOp*> all;
  for (const auto& [name, rows] : Tables().at(domain)) all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

std::string OnnxRemedy(std::string_view domain, std::string_view name) {
  if (!domain.empty() && domain != kMlDomain) {
    return fmt::format(
               "Operators of the domain '{}' are not part of ONNX: export without that runtime's "
               "optimisations, "
               "or define the operator as an ONNX function inside the model.",
               domain) +
           CustomRemedy(CustomNameOfOnnx(std::string(domain), std::string(name)));
  }
  for (const Remedy& remedy : kRemedies) {
    if (remedy.name == name) return remedy.sentence;
  }
  return "Write it with other operators before the export, define it as an ONNX function inside the model, "
         "or cut the model "
         "in front of it.";
}

void BuildDirect(OnnxBuilder& builder) {
  const size_t required = FindOp(builder.op())->min_inputs;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < std::max(required, builder.input_count()); ++i) {
    inputs.push_back(i < required ? builder.Input(i) : builder.OptionalInput(i));
  }
  builder.Output(builder.op(), std::move(inputs));
}

}  // namespace skiff
