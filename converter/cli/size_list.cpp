#include "cli/size_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "core/features.h"
#include "delegates/supports.h"
#include "format/model_data.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "plan/built_plan.h"
#include "run/opened_model.h"
#include "skiff/session.h"

namespace skiff::cli {
namespace {

struct LoweringRow {
  OpCode op;
  const char* lowering;
};
constexpr LoweringRow kVulkanLowerings[] = {
#define LOWERING(Name, Lowering) {OpCode::k##Name, #Lowering},
#include "delegates/vulkan/lowerings.def"
#undef LOWERING
};
constexpr LoweringRow kVulkanQuantized[] = {
#define LOWERING(Name, Lowering) {OpCode::k##Name, "Quantized" #Lowering},
#include "delegates/vulkan/quantized.def"
#undef LOWERING
};

struct ShaderUse {
  std::string_view lowering;
  const char* family;
};
constexpr ShaderUse kUses[] = {
#define USES(Lowering, family) {#Lowering, #family},
#include "delegates/vulkan/lower/lowering_shaders.def"
#undef USES
};

/// As it is part of a variable's name.
std::string ListName(DelegateKind kind) {
  std::string name = NameOfDelegate(kind);
  for (char& letter : name) letter = static_cast<char>(std::toupper(letter));
  return name;
}

void AddReference(const char* op, SizeList* list) {
  list->operators[ListName(DelegateKind::kReference)].insert(op);
}

/// The lowering's name; "" where the table has none.
std::string_view AddShadersOf(std::span<const LoweringRow> table, OpCode op, SizeList* list) {
  for (const LoweringRow& row : table) {
    if (row.op != op) continue;
    for (const ShaderUse& use : kUses) {
      if (use.lowering == row.lowering) list->shaders.insert(use.family);
    }
    return row.lowering;
  }
  return "";
}

void AddShaders(const PlanData& plan, const PlanNode& node, SizeList* list) {
  std::vector<const PlanTensor*> operands;
  for (const Span<const int32_t>& tensors : {node.inputs, node.outputs}) {
    for (const int32_t tensor : tensors)
      operands.push_back(tensor < 0 ? nullptr : &plan.tensors[static_cast<size_t>(tensor)]);
  }
  const NodeTypes types{node.op, node.attrs, {operands.data(), operands.size()}, {}};
  bool on_reals = !ComputesQuantized(types);
  if (!on_reals) {
    const std::string_view lowering = AddShadersOf(kVulkanQuantized, node.op->code, list);
    on_reals = lowering == "QuantizedReals";
    // It looks up what the reference kernel says of each code.
    if (lowering == "QuantizedLookup") AddReference(node.op->name, list);
  }
  if (on_reals) AddShadersOf(kVulkanLowerings, node.op->code, list);
}

/// Elementwise from codes to codes: the reference kernel computes a table of them.
bool ReadsCodes(const PlanData& plan, const PlanNode& node) {
  const bool is_elementwise = node.op->Is(kUnary) || node.op->code == OpCode::kRequantize;
  return is_elementwise && plan.tensors[static_cast<size_t>(node.inputs[0])].view.quantization != nullptr;
}

class Walk {
 public:
  Walk(bool fallbacks, SizeList* list) : fallbacks_(fallbacks), list_(list) {}

  void Add(const PlanData& plan, bool in_body) {
    for (uint32_t i = 0; i < plan.shape_node_count; ++i) AddReference(plan.nodes[i].op->name, list_);
    for (const SegmentData& segment : plan.segments) {
      for (uint32_t i = segment.begin; i < segment.end; ++i) {
        const PlanNode& node = plan.nodes[i];
        AddNode(plan, node, segment.delegate);
        // What a lowering refuses at the shapes of an exact plan, a Session tells; of other shapes nobody
        // knows.
        if (node.bodies.empty() && (fallbacks_ || in_body || plan.kind != BucketKind::kExact))
          AddReference(node.op->name, list_);
        for (const PlanData& body : node.bodies) Add(body, true);
      }
    }
  }

 private:
  void AddNode(const PlanData& plan, const PlanNode& node, DelegateKind delegate) {
    list_->operators[ListName(delegate)].insert(node.op->name);
    // Results that have their shape during the run need what a Stage needs.
    if (std::any_of(node.outputs.begin(), node.outputs.end(), [&](int32_t i) { return plan.IsLate(i); }))
      list_->operators[ListName(delegate)].insert(OpName(OpCode::kStage));
    if (delegate == DelegateKind::kVulkan) AddShaders(plan, node, list_);
    if (delegate != DelegateKind::kXnnpack) return;
    if (ReadsCodes(plan, node)) AddReference(node.op->name, list_);
    for (const Span<const int32_t>& tensors : {node.inputs, node.outputs}) {
      for (const int32_t tensor : tensors)
        list_->f16 |= tensor >= 0 && plan.tensors[static_cast<size_t>(tensor)].view.dtype == DType::kF16;
    }
  }

  const bool fallbacks_;
  SizeList* const list_;
};

/// Nodes of exact plans that run on their reference kernel although the plan gives them to a delegate.
void AddFallenBack(Model& model, const char* signature, Target target, SizeList* list) {
  SessionOptions options;
  options.signature = signature;
  options.target = target;
  options.fall_back = false;
  options.threads = 1;
  const std::unique_ptr<Session> session = CreateSession(model, options);
  for (int i = 0; i < session->node_count(); ++i) {
    const NodeInfo node = session->node(i);
    // What falls back in bodies is in the list already.
    if (node.fell_back && node.delegate == DelegateKind::kReference) AddReference(node.op, list);
  }
}

/// The delegates of applications are not here to be asked what they refuse.
bool IsOfApplication(const PlanData& plan) {
  for (const SegmentData& segment : plan.segments) {
    if (segment.delegate >= DelegateKind::kOfApplications) return true;
  }
  return false;
}

std::string Set(const std::string& name, const std::set<std::string>& values) {
  return values.empty() ? fmt::format("set({})\n", name)
                        : fmt::format("set({}\n    {})\n", name, fmt::join(values, "\n    "));
}

}  // namespace

void AddModel(Model& model, bool fallbacks, SizeList* list) {
  list->features |= model.data().features;
  for (const SignatureData& signature : model.data().signatures) {
    bool on_cpu = false;
    bool of_application = false;
    for (const PlanData& plan : signature.plans) {
      on_cpu = on_cpu || plan.target == Target::kCpu;
      of_application = of_application || IsOfApplication(plan);
    }
    for (const PlanData& plan : signature.plans) Walk(fallbacks || of_application, list).Add(plan, false);
    if (on_cpu && !of_application) AddFallenBack(model, signature.name, Target::kCpu, list);
  }
}

std::string SizeListText(const SizeList& list, const std::vector<std::string>& sources) {
  std::string text = fmt::format(
      "# The operators that these models need: {}\n"
      "# Made by `skiff size-list`. A runtime with no others:\n"
      "# cmake --preset minimal -DSKIFF_OPERATORS=<this file>\n",
      fmt::join(sources, ", "));
  for (const auto& [delegate, operators] : list.operators)
    text += Set("SKIFF_OPERATORS_" + delegate, operators);
  std::set<std::string> features;
#define FEATURE(Name, what) \
  if ((list.features & FeatureBit(Feature::k##Name)) != 0) features.insert(#Name);
#include "core/features.def"
#undef FEATURE
  return text + fmt::format("set(SKIFF_OPERATORS_F16 {})\n", list.f16 ? "ON" : "OFF") +
         Set("SKIFF_VULKAN_SHADERS", list.shaders) + Set("SKIFF_FEATURES", features);
}

}  // namespace skiff::cli
