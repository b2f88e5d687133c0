#include "cli/size_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format/model_data.h"
#include "run/opened_model.h"
#include "skiff/session.h"

namespace skiff::cli {
namespace {

struct LoweringRow {
  OpCode op;
  const char* lowering;
};
constexpr LoweringRow kVulkanLowerings[] = {
#define OP(id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values, Xnnpack, Vulkan) \
  {OpCode::k##Name, #Vulkan},
#include "ops/ops.def"
#undef OP
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

void AddShaders(OpCode op, SizeList* list) {
  for (const LoweringRow& row : kVulkanLowerings) {
    if (row.op != op) continue;
    for (const ShaderUse& use : kUses) {
      if (use.lowering == row.lowering) list->shaders.insert(use.family);
    }
  }
}

class Walk {
 public:
  Walk(bool fallbacks, SizeList* list) : fallbacks_(fallbacks), list_(list) {}

  void Add(const PlanData& plan, bool in_body) {
    for (uint32_t i = 0; i < plan.shape_node_count; ++i) list_->reference.insert(plan.nodes[i].op->name);
    for (const SegmentData& segment : plan.segments) {
      for (uint32_t i = segment.begin; i < segment.end; ++i) {
        const PlanNode& node = plan.nodes[i];
        AddNode(plan, node, segment.delegate);
        // What a lowering refuses at the shapes of an exact plan, a Session tells; of other shapes nobody
        // knows.
        if (node.bodies.empty() && (fallbacks_ || in_body || plan.kind != BucketKind::kExact))
          list_->reference.insert(node.op->name);
        for (const PlanData& body : node.bodies) Add(body, true);
      }
    }
  }

 private:
  void AddNode(const PlanData& plan, const PlanNode& node, DelegateKind delegate) {
    switch (delegate) {
      case DelegateKind::kReference:
        list_->reference.insert(node.op->name);
        break;
      case DelegateKind::kXnnpack:
        list_->xnnpack.insert(node.op->name);
        for (const Span<const int32_t>& tensors : {node.inputs, node.outputs}) {
          for (const int32_t tensor : tensors)
            list_->f16 |= tensor >= 0 && plan.tensors[static_cast<size_t>(tensor)].view.dtype == DType::kF16;
        }
        break;
      case DelegateKind::kVulkan:
        list_->vulkan.insert(node.op->name);
        AddShaders(node.op->code, list_);
        break;
      case DelegateKind::kControl:
        list_->control.insert(node.op->name);
        break;
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
    if (node.fell_back && node.delegate == DelegateKind::kReference) list->reference.insert(node.op);
  }
}

std::string Set(const char* name, const std::set<std::string>& values) {
  return values.empty() ? fmt::format("set({})\n", name)
                        : fmt::format("set({}\n    {})\n", name, fmt::join(values, "\n    "));
}

}  // namespace

void AddModel(Model& model, bool fallbacks, SizeList* list) {
  for (const SignatureData& signature : model.data().signatures) {
    bool on_cpu = false;
    for (const PlanData& plan : signature.plans) {
      Walk(fallbacks, list).Add(plan, false);
      on_cpu = on_cpu || plan.target == Target::kCpu;
    }
    if (on_cpu) AddFallenBack(model, signature.name, Target::kCpu, list);
  }
}

std::string SizeListText(const SizeList& list, const std::vector<std::string>& sources) {
  return fmt::format(
             "# The operators that these models need: {}\n"
             "# Made by `skiff size-list`. A runtime with no others: cmake --preset minimal "
             "-DSKIFF_OPERATORS=<this file>\n",
             fmt::join(sources, ", ")) +
         Set("SKIFF_OPERATORS_REFERENCE", list.reference) + Set("SKIFF_OPERATORS_XNNPACK", list.xnnpack) +
         Set("SKIFF_OPERATORS_VULKAN", list.vulkan) + Set("SKIFF_OPERATORS_CONTROL", list.control) +
         fmt::format("set(SKIFF_OPERATORS_F16 {})\n", list.f16 ? "ON" : "OFF") +
         Set("SKIFF_VULKAN_SHADERS", list.shaders);
}

}  // namespace skiff::cli
