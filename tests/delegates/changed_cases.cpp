#include "changed_cases.h"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <random>
#include <stdexcept>

#include "core/error_capture.h"
#include "ops/build_ops.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"

namespace skiff::testing {
namespace {

constexpr int kDefaultCount = 2;
/// Of a case's inputs together, and of a result; larger ones are there for blocks and caches and take long in
/// the reference.
constexpr int64_t kMostElements = 60'000;

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }
  int64_t Extent() { return OneIn(20) ? 0 : OneIn(4) ? Between(10, 70) : Between(1, 9); }
  template <class T>
  T OneOf(const std::set<T>& all) {
    return *std::next(all.begin(), Between(0, static_cast<int64_t>(all.size()) - 1));
  }

 private:
  std::mt19937 random_;
};

/// What shape rules want to know the elements of.
bool DecidesShapes(const Case& description, size_t input) {
  return FindOp(description.op)->NeedsValues(input) && !IsFloat(description.inputs[input].dtype);
}

/// The same scales, as many times as the tensor wants.
const Quantization* Regrown(const Quantization* quantization, const Shape& shape) {
  if (quantization == nullptr || quantization->per_tensor() || quantization->axis >= shape.rank())
    return quantization;
  static std::list<Quantization> kept;
  static std::list<std::vector<float>> kept_scales;
  static std::list<std::vector<int32_t>> kept_zeros;
  Quantization grown = *quantization;
  const int64_t extent = shape[grown.axis];
  grown.count = extent;
  if (grown.block != 0 && extent != 0)
    grown.count = shape.elements() / extent * ((extent + grown.block - 1) / grown.block);
  std::vector<float>& scales = kept_scales.emplace_back();
  std::vector<int32_t>& zeros = kept_zeros.emplace_back();
  for (int64_t i = 0; i < grown.count; ++i) {
    scales.push_back(quantization->ScaleAt(i % quantization->count));
    zeros.push_back(quantization->ZeroPointAt(i % quantization->count));
  }
  grown.scales = scales.data();
  if (grown.zero_points != nullptr) grown.zero_points = zeros.data();
  return &kept.emplace_back(grown);
}

void ChangeExtent(Case& changed, Changes changes, Draw& draw) {
  const auto fixed = [&](size_t input) {
    return changed.inputs[input].absent ||
           (changes == Changes::kInputs && (changed.inputs[input].constant || DecidesShapes(changed, input)));
  };
  std::set<int64_t> extents;
  for (size_t i = 0; i < changed.inputs.size(); ++i) {
    if (fixed(i) || DecidesShapes(changed, i)) continue;
    for (const int64_t extent : changed.inputs[i].shape) extents.insert(extent);
  }
  if (extents.empty()) return;
  const int64_t from = draw.OneOf(extents);
  const int64_t to = draw.Extent();
  const bool all = !draw.OneIn(3);
  const auto change = [&](auto& value) {
    if (value == from && (all || draw.OneIn(2))) value = to;
  };
  for (size_t i = 0; i < changed.inputs.size(); ++i) {
    if (fixed(i)) continue;
    Argument& argument = changed.inputs[i];
    if (DecidesShapes(changed, i)) {
      for (double& value : argument.values) change(value);
    } else {
      for (int axis = 0; axis < argument.shape.rank(); ++axis) change(argument.shape[axis]);
    }
  }
  if (changes == Changes::kInputs) return;
  VisitAttrs(changed.op, changed.attrs, [&](int, const char*, auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Ints>) {
      for (int64_t i = 0; i < member.size; ++i) change(member[i]);
    }
  });
}

struct ChangedField {
  Draw& draw;

  void operator()(int, const char*, bool& field) const {
    if (draw.OneIn(4)) field = !field;
  }
  void operator()(int, const char*, int64_t& field) const {
    const bool open_end = field > INT32_MAX || field < INT32_MIN;
    if (!open_end && draw.OneIn(3)) field = draw.OneIn(2) ? field + draw.Between(-1, 1) : draw.Between(-2, 4);
  }
  void operator()(int, const char*, float&) const {}
  void operator()(int, const char*, Ints& field) const {
    for (int64_t i = 0; i < field.size; ++i) (*this)(0, "", field[i]);
  }
  template <class E>
  void operator()(int, const char*, E& field) const {
    if (draw.OneIn(3)) field = static_cast<E>(draw.Between(0, std::size(EnumNames<E>::kNames) - 1));
  }
};

int64_t InputElements(const Case& description) {
  int64_t elements = 0;
  for (const Argument& argument : description.inputs)
    if (!argument.absent) elements += argument.shape.elements();
  return elements;
}

bool RulesTake(const Node& node) {
  std::vector<TensorView> inputs(node.inputs());
  std::vector<TensorView> outputs(node.outputs());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = node.HasInput(i) ? node.input(i) : TensorView();
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = node.output(i);
  char message[InferContext<int64_t>::kMessageBytes];
  const Case& description = node.description();
  return CheckQuantized(*FindOp(description.op), description.attrs, {inputs.data(), inputs.size()},
                        {outputs.data(), outputs.size()}, message)
      .ok();
}

}  // namespace

int ChangesPerCase() {
  const char* wanted = std::getenv("SKIFF_RANDOM_CASES");
  return wanted == nullptr ? kDefaultCount : std::atoi(wanted);
}

Case Changed(const Case& original, Changes changes, uint32_t seed) {
  Draw draw(seed);
  Case changed = original;
  changed.falls_back = nullptr;
  const int64_t times = draw.Between(1, 3);
  for (int64_t i = 0; i < times; ++i) ChangeExtent(changed, changes, draw);
  for (Argument& argument : changed.inputs) {
    argument.quantization = Regrown(argument.quantization, argument.shape);
    argument.stored_quantization = Regrown(argument.stored_quantization, argument.shape);
    argument.others.clear();
  }
  if (changes == Changes::kAll && draw.OneIn(2)) VisitAttrs(changed.op, changed.attrs, ChangedField{draw});
  return changed;
}

std::unique_ptr<Node> TryNode(Case description) {
  if (InputElements(description) > kMostElements) return nullptr;
  try {
    auto node = std::make_unique<Node>(description);
    if (!RulesTake(*node) || node->output(0).shape.elements() > kMostElements) return nullptr;
    if (description.in_place < 0) return node;
    const TensorView& source = node->input(static_cast<size_t>(description.in_place));
    if (source.shape == node->output(0).shape) return node;
    description.in_place = -1;
    return std::make_unique<Node>(description);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

void ForEachChange(OpCode op, const std::function<void(int i, Node& node)>& visit) {
  for (const Case& original : ConformanceCases()) {
    for (int i = 0; original.op == op && i < ChangesPerCase(); ++i) {
      Case changed = Changed(original, Changes::kAll, static_cast<uint32_t>(i));
      changed.name += ", change " + std::to_string(i);
      if (const std::unique_ptr<Node> node = TryNode(changed)) visit(i, *node);
    }
  }
}

std::optional<Node::Outcome> TryRun(Node& node, ModelState& state, const DelegateSessionOptions& options) {
  ErrorCapture quiet;
  try {
    return node.Run(state, options);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

std::set<OpCode> CasesOperators() {
  std::set<OpCode> all;
  for (const Case& description : ConformanceCases()) all.insert(description.op);
  return all;
}

}  // namespace skiff::testing
