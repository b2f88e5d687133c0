// Every operator that takes quantised operands, against what its specification says: eagerly, and from a file
// on the reference kernels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "passes/passes.h"
#include "tests/converter/quantized/operator_cases.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using Tensors = std::map<std::string, TensorData>;

/// Nearer to half way than this part of a step, long double does not say on which side a number lies.
constexpr long double kUncertain = 1e-9L;

/// The elements of an input: all integers of its dtype, the ends for certain; floats are sixteenths.
TensorData Drawn(const Value& value, std::mt19937& random) {
  const Shape shape = value.shape();
  if (!value.quantization && IsFloat(value.dtype)) {
    std::vector<float> elements;
    for (int64_t i = 0; i < shape.elements(); ++i)
      elements.push_back((static_cast<float>(random() % 256) - 128.0f) / 16.0f);
    return TensorData(DType::kF32, shape, elements.data());
  }
  const CodeRange range = value.dtype == DType::kBool ? CodeRange{0, 1} : RangeOf(value.dtype);
  std::vector<int64_t> codes = {range.low, range.high};
  while (codes.size() < static_cast<size_t>(shape.elements()))
    codes.push_back(range.low + static_cast<int64_t>(random()) % (range.high - range.low + 1));
  return OfCodes(value.dtype, shape, codes).Quantized(value.quantization);
}

/// A case, its inputs, and what its outputs must be.
class Prepared {
 public:
  explicit Prepared(const OperatorCase& description)
      : graph_(ParseGraph("graph g { " + description.text + " }")) {
    const Node& node = graph_.node(0);
    operands_.op = node.op;
    operands_.attrs = node.attrs;
    outputs_ = node.outputs;
    for (const ValueId id : outputs_) graph_.AddOutput(graph_.value(id).name, id);
    InferShapes(graph_);
    std::mt19937 random(1);
    for (const GraphPort& port : graph_.inputs())
      inputs_[port.name] = Drawn(graph_.value(port.value), random);
    for (const ValueId id : graph_.node(0).inputs)
      operands_.inputs.push_back(id == kNoValue ? TensorData() : DataOf(graph_.value(id)));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      operands_.output = i;
      expected_.push_back(description.expectation(operands_));
    }
  }

  const Graph& graph() const { return graph_; }
  const Tensors& inputs() const { return inputs_; }
  const Operands& operands() const { return operands_; }
  const std::vector<Expected>& expected() const { return expected_; }
  const Value& output(size_t i) const { return graph_.value(outputs_[i]); }

 private:
  const TensorData& DataOf(const Value& value) const {
    return value.constant ? *value.constant : inputs_.at(value.name);
  }

  Graph graph_;
  Tensors inputs_;
  Operands operands_;
  std::vector<ValueId> outputs_;
  std::vector<Expected> expected_;
};

/// How an output must be stored, element by element. NaN: it cannot be told.
class Storing {
 public:
  explicit Storing(const Value& type) : type_(type) {}

  double operator()(const Exact& exact, size_t i) const {
    if (!type_.quantization) return static_cast<double>(static_cast<float>(exact.Real(i)));
    return static_cast<double>(RoundedCode(exact, i, type_.dtype, scale(i), zero_point(i)));
  }

  double operator()(const Stored& stored, size_t i) const { return static_cast<double>(stored.elements[i]); }

  double operator()(const Reals& reals, size_t i) const {
    const long double number = reals.numbers[i];
    if (!type_.quantization) return static_cast<double>(static_cast<float>(number));
    if (std::isnan(number)) return static_cast<double>(zero_point(i));
    const CodeRange range = RangeOf(type_.dtype);
    const auto low = static_cast<long double>(range.low - zero_point(i));
    const auto high = static_cast<long double>(range.high - zero_point(i));
    const long double steps = number / static_cast<long double>(scale(i));
    if (steps <= low - 1) return static_cast<double>(range.low);
    if (steps >= high + 1) return static_cast<double>(range.high);
    const long double whole = std::floor(steps);
    const long double rest = steps - whole;
    const long double half = 0.5L;
    if (rest != half && std::abs(rest - half) < kUncertain) return NAN;
    const bool up = rest > half || (rest == half && std::fmod(whole, 2.0L) != 0);
    const long double rounded = std::clamp(whole + (up ? 1 : 0), low, high);
    return static_cast<double>(rounded) + static_cast<double>(zero_point(i));
  }

  float scale(size_t i) const { return type_.quantization->ScaleAt(Which(i)); }
  int32_t zero_point(size_t i) const { return type_.quantization->ZeroPointAt(Which(i)); }

 private:
  int64_t Which(size_t i) const {
    return ScaleOf(*type_.quantization, type_.shape(), static_cast<int64_t>(i));
  }

  const Value& type_;
};

/// The integers of a quantised tensor, the elements of another.
std::vector<double> StoredElements(const TensorData& data) {
  return TensorData(data.dtype(), data.shape(), data.data()).ToDoubles();
}

void ExpectOutputs(const Prepared& prepared, const Tensors& got) {
  for (size_t output = 0; output < prepared.expected().size(); ++output) {
    const Value& type = prepared.output(output);
    SCOPED_TRACE(type.name);
    const TensorData& data = got.at(type.name);
    const Expected& expected = prepared.expected()[output];
    ASSERT_EQ(data.dtype(), type.dtype);
    ASSERT_EQ(data.shape(), std::visit([](const auto& e) { return e.shape; }, expected));
    const std::vector<double> elements = StoredElements(data);
    size_t uncertain = 0;
    bool all_equal = true;
    for (size_t i = 0; i < elements.size(); ++i) {
      const double wanted = std::visit([&](const auto& e) { return Storing(type)(e, i); }, expected);
      all_equal = all_equal && elements[i] == elements[0];
      const bool untold = std::isnan(wanted) && type.quantization;
      uncertain += untold ? 1 : 0;
      const bool same = std::isnan(wanted) ? std::isnan(elements[i]) : elements[i] == wanted;
      ASSERT_TRUE(untold || same) << "element " << i << " is " << elements[i] << ", not " << wanted;
    }
    EXPECT_LE(uncertain * 100, elements.size());
    EXPECT_FALSE(all_equal) << "such a case shows little";
  }
}

class QuantizedOperator : public ::testing::TestWithParam<size_t> {
 protected:
  const Prepared prepared_{OperatorCases()[GetParam()]};
};

TEST_P(QuantizedOperator, ComputesWhatItsSpecificationSays) {
  const Tensors got = Evaluate(prepared_.graph(), prepared_.inputs());
  ExpectOutputs(prepared_, got);
  for (size_t i = 0; i < prepared_.expected().size(); ++i) {
    const Value& type = prepared_.output(i);
    EXPECT_TRUE(SameQuantization(got.at(type.name).quantization(), type.quantization));
  }
}

TEST_P(QuantizedOperator, ComputesTheSameFromAFile) {
  const OpenedModel opened(prepared_.graph());
  SessionOptions options;
  options.backend = Backend::kReference;
  options.threads = 1;
  options.poison = true;
  auto session = Session::Create(*opened.model, options);
  ASSERT_TRUE(session.ok());
  ExpectOutputs(prepared_, RunSession(**session, prepared_.inputs()));
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedOperator, ::testing::Range(size_t{0}, OperatorCases().size()),
                         [](const auto& info) { return OperatorCases()[info.param].name; });

/// What the cases of one operator have between them.
struct Coverage {
  int cases = 0;
  int quantised_results = 0;
  int exact = 0;
  int reals = 0;
  int stored = 0;
  // Results half way between two steps, by what another rounding would make of them.
  int ties_to_lower = 0;
  int ties_to_upper = 0;
  int ties_to_zero = 0;
};

void CountTies(const Exact& exact, const Value& type, Coverage& coverage) {
  const Storing storing(type);
  const CodeRange range = RangeOf(type.dtype);
  for (size_t i = 0; i < exact.numbers.size(); ++i) {
    const std::optional<int64_t> below = StepBelowTie(exact, i, storing.scale(i));
    if (!below) continue;
    const int64_t code = *below + storing.zero_point(i);
    if (code < range.low || code >= range.high) continue;
    const bool even = *below % 2 == 0;
    ++(even ? coverage.ties_to_lower : coverage.ties_to_upper);
    if (even == (*below >= 0)) ++coverage.ties_to_zero;
  }
}

std::map<OpCode, Coverage> Covered() {
  std::map<OpCode, Coverage> covered;
  for (const OperatorCase& description : OperatorCases()) {
    const Prepared prepared(description);
    const Operands& operands = prepared.operands();
    EXPECT_TRUE(description.name.starts_with(std::string(FindOp(operands.op)->name) + "_"))
        << description.name;
    bool quantised = prepared.output(0).quantization != nullptr;
    for (const TensorData& input : operands.inputs) quantised |= input.quantization() != nullptr;
    EXPECT_TRUE(quantised) << description.name;
    Coverage& coverage = covered[operands.op];
    ++coverage.cases;
    const Expected& expected = prepared.expected()[0];
    ++(std::holds_alternative<Exact>(expected)   ? coverage.exact
       : std::holds_alternative<Reals>(expected) ? coverage.reals
                                                 : coverage.stored);
    if (!prepared.output(0).quantization) continue;
    ++coverage.quantised_results;
    if (const auto* exact = std::get_if<Exact>(&expected)) CountTies(*exact, prepared.output(0), coverage);
  }
  return covered;
}

/// An operator that joins the table needs a case here.
TEST(QuantizedOperators, EachHasACaseOfItsKind) {
  std::map<OpCode, Coverage> covered = Covered();
  const auto check = [&](OpCode op, QuantizedUse use) {
    SCOPED_TRACE(FindOp(op)->name);
    const Coverage coverage = covered[op];
    covered.erase(op);
    ASSERT_GT(coverage.cases, 0) << "no case";
    switch (use) {
      case QuantizedUse::kMoves:
      case QuantizedUse::kCodes:
        EXPECT_EQ(coverage.stored, coverage.cases);
        break;
      case QuantizedUse::kProducts:
      case QuantizedUse::kLinear:
        EXPECT_EQ(coverage.exact, coverage.cases);
        if (op == OpCode::kDequantize) break;
        EXPECT_GT(coverage.ties_to_lower, 0);
        EXPECT_GT(coverage.ties_to_upper, 0);
        EXPECT_GT(coverage.ties_to_zero, 0);
        break;
      default:
        EXPECT_EQ(coverage.quantised_results > 0, coverage.reals + coverage.exact > 0)
            << "truths and places are plain";
    }
  };
#define QUANTIZED(Name, use) check(OpCode::k##Name, QuantizedUse::use);
#include "ops/quantized.def"
#undef QUANTIZED
  EXPECT_TRUE(covered.empty()) << "a case of " << FindOp(covered.begin()->first)->name
                               << ", which takes no quantised operands";
}

}  // namespace

}  // namespace skiff::testing
