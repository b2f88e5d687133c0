// The conformance cases with other extents and attributes: what somebody thought of, changed by chance. An
// extent that several tensors share, or that a list of sizes names, changes in all of them, so that most of
// what is drawn still fits together; the shape rules refuse the rest.
//
// SKIFF_RANDOM_CASES=N draws N of each case; those of a smaller N are among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "conformance_cases.h"
#include "delegates/xnnpack/delegate.h"
#include "ops/build_ops.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "skiff/thread_pool.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

constexpr int kDefaultCount = 2;
/// Of a case's inputs together, and of a result; larger ones are there for blocks and caches and take long in
/// the reference.
constexpr int64_t kMostElements = 60'000;

int Count() {
  const char* wanted = std::getenv("SKIFF_RANDOM_CASES");
  return wanted == nullptr ? kDefaultCount : std::atoi(wanted);
}

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

enum class Changes {
  kAll,
  kInputs,  ///< Not what is there when a Session prepares the node: constants, what decides shapes,
            ///< attributes.
};

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
    if (draw.OneIn(3)) field = draw.OneIn(2) ? field + draw.Between(-1, 1) : draw.Between(-2, 4);
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

int64_t ElementsOf(const Case& description) {
  int64_t elements = 0;
  for (const Argument& argument : description.inputs)
    if (!argument.absent) elements += argument.shape.elements();
  return elements;
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

std::string Describe(const Case& description) {
  std::string text = FindOp(description.op)->name;
  for (const Argument& input : description.inputs)
    text += input.absent ? " -" : " " + std::string(ShapeText(input.shape).c_str());
  VisitAttrs(description.op, description.attrs, [&](int, const char* name, const auto& member) {
    text += std::string(" ") + name + "=";
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Ints>) {
      for (int64_t i = 0; i < member.size; ++i) text += (i > 0 ? "," : "") + std::to_string(member[i]);
    } else if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(member)>>) {
      text += std::to_string(static_cast<int64_t>(member));
    } else {
      text += std::to_string(member);
    }
  });
  return text;
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

/// Null where the rules refuse what was drawn.
std::unique_ptr<Node> TryNode(Case description) {
  try {
    auto node = std::make_unique<Node>(description);
    if (!RulesTake(*node)) return nullptr;
    if (description.in_place < 0) return node;
    const TensorView& source = node->input(static_cast<size_t>(description.in_place));
    if (source.shape == node->output(0).shape) return node;
    description.in_place = -1;
    return std::make_unique<Node>(description);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

/// Nothing where the elements are refused.
std::optional<Node::Outcome> TryRun(Node& node, ModelState& state, const DelegateSessionOptions& options) {
  try {
    return node.Run(state, options);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

class RandomCases : public ::testing::TestWithParam<OpCode> {};

TEST_P(RandomCases, MatchTheReference) {
  const auto reference_state = std::move(ReferenceDelegate().CreateModelState({}).value());
  const auto fast_state = std::move(BuiltinXnnpackDelegate().CreateModelState({}).value());
  const std::unique_ptr<ThreadPool> pool = std::move(CreateThreadPool(2).value());
  int taken = 0;
  for (const Case& original : ConformanceCases()) {
    if (original.op != GetParam()) continue;
    for (int i = 0; i < Count(); ++i) {
      Case changed = Changed(original, Changes::kAll, static_cast<uint32_t>(i));
      changed.name += ", change " + std::to_string(i);
      if (ElementsOf(changed) > kMostElements) continue;
      const std::unique_ptr<Node> node = TryNode(changed);
      if (!node || node->output(0).shape.elements() > kMostElements) continue;
      ++taken;
      SCOPED_TRACE(changed.name + ": " + Describe(changed));
      const std::optional<Node::Outcome> expected = TryRun(*node, *reference_state, {});
      ThreadPool* const threads = i % 2 == 0 ? nullptr : pool.get();
      const std::optional<Node::Outcome> got =
          TryRun(*node, *fast_state, {.thread_pool = threads, .thread_small_work = true});
      EXPECT_EQ(got.has_value(), expected.has_value());
      if (!got || !expected) continue;
      EXPECT_EQ(Compare(*node, *got, *expected, *reference_state, DelegateKind::kXnnpack, /*exact=*/false),
                "");
    }
  }
  EXPECT_GT(taken, 0);
}

/// One prepared node at one size after the other, as in a Session of an open shape. Its constants stay.
TEST_P(RandomCases, FollowTheShape) {
  const auto reference_state = std::move(ReferenceDelegate().CreateModelState({}).value());
  const auto fast_state = std::move(BuiltinXnnpackDelegate().CreateModelState({}).value());
  const auto session = std::move(fast_state->CreateSession({}).value());
  for (Case original : ConformanceCases()) {
    if (original.op != GetParam() || ElementsOf(original) > kMostElements) continue;
    original.in_place = -1;
    for (Argument& input : original.inputs) input.others.clear();
    Node node(original);
    Result<std::unique_ptr<PreparedSegment>> prepared = session->Prepare(node.segment());
    ASSERT_TRUE(prepared.ok());
    for (int i = 0; i < Count(); ++i) {
      const Case changed = Changed(original, Changes::kInputs, static_cast<uint32_t>(i));
      if (ElementsOf(changed) > kMostElements) continue;
      const std::unique_ptr<Node> fresh = TryNode(changed);
      if (!fresh || fresh->output(0).shape.elements() > kMostElements) continue;
      SCOPED_TRACE(changed.name + ": " + Describe(changed));
      const std::optional<Node::Outcome> expected = TryRun(*fresh, *reference_state, {});
      if (!expected) continue;
      const Node::Outcome got = node.RunAt(*fresh, **prepared);
      EXPECT_EQ(Compare(*fresh, got, *expected, *reference_state, DelegateKind::kXnnpack, /*exact=*/false),
                "");
    }
  }
}

std::set<OpCode> Operators() {
  std::set<OpCode> all;
  for (const Case& description : ConformanceCases()) all.insert(description.op);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, RandomCases, ::testing::ValuesIn(Operators()),
                         [](const ::testing::TestParamInfo<OpCode>& info) {
                           return std::string(FindOp(info.param)->name);
                         });

}  // namespace
}  // namespace skiff::testing
