// Operators through the whole of Skiff, on every backend: passes, partition, file, Session. What a case lists
// as constant comes as a graph input and computed, too; sizes are fixed or open.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "conformance_cases.h"
#include "core/error_capture.h"
#include "ops/op_codes.h"
#include "tests/support/tiny_models.h"
#include "tests/support/vulkan.h"
#include "tolerance.h"

namespace skiff::testing {
namespace {

using Tensors = std::map<std::string, TensorData>;

/// Views and places are the planner's choice here.
Case Dense(Case description) {
  for (Argument& input : description.inputs) input.row_gap = 0;
  description.output_row_gap = 0;
  description.in_place = -1;
  return description;
}

bool IsQuantized(const Case& description) {
  return description.output_quantization != nullptr ||
         std::any_of(description.inputs.begin(), description.inputs.end(),
                     [](const Argument& input) { return input.quantization != nullptr; });
}

/// The first case of each operator with these of its inputs, plain and quantised. Bodies and effects make no
/// numbers of their own.
std::vector<size_t> Sample() {
  std::set<std::tuple<OpCode, uint32_t, bool>> seen;
  std::vector<size_t> sample;
  for (size_t i = 0; i < ConformanceCases().size(); ++i) {
    const Case& description = ConformanceCases()[i];
    uint32_t present = 0;
    for (size_t k = 0; k < description.inputs.size(); ++k)
      present |= description.inputs[k].absent ? 0u : 1u << k;
    if (seen.insert({description.op, present, IsQuantized(description)}).second) sample.push_back(i);
  }
  return sample;
}

/// A graph of one node, and of what computes its inputs.
class OneNode {
 public:
  OneNode(const Case& description, const Form& form, bool open)
      : description_(description), node_(description), form_(form) {
    graph_.name = description.name;
    if (open) OpenFirstAxis();
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < description.inputs.size(); ++i)
      inputs.push_back(description.inputs[i].absent ? kNoValue : AddInput(i));
    std::vector<std::string> names;
    for (size_t i = 0; i < description.outputs; ++i) names.push_back("y" + std::to_string(i));
    const NodeId id = graph_.AddNode(description.op, inputs, names);
    graph_.node(id).attrs = description.attrs;
    if (description.output_quantization != nullptr)
      Declare(graph_.node(id).outputs[0], description.quantized_output, description.output_quantization);
    for (size_t i = 0; i < names.size(); ++i) graph_.AddOutput(names[i], graph_.node(id).outputs[i]);
  }

  const Graph& graph() const { return graph_; }
  const ConvertOptions& options() const { return options_; }
  /// What the first run gets, and what the second.
  const Tensors& others() const { return others_; }
  const Tensors& listed() const { return listed_; }

 private:
  bool Decides(size_t i) const { return FindOp(description_.op)->NeedsValues(i); }

  /// How many elements decide a shape is no open question.
  void OpenFirstAxis() {
    const Shape& shape = description_.inputs[0].shape;
    if (Decides(0) || shape.rank() == 0 || shape[0] < 1) return;
    extent_ = shape[0];
    const SymbolId symbol = graph_.AddSymbol("n");
    open_ = Dim::OfSymbol(symbol, graph_.symbols()[static_cast<size_t>(symbol)]);
    options_.dims["n"] = DimRange(1, extent_);
  }

  bool IsConstant(size_t i) const {
    return form_.Has(i) ? form_.supply == Supply::kConstant : description_.inputs[i].constant;
  }

  /// What no rule tells of a result.
  void Declare(ValueId value, DType dtype, const Quantization* quantization) {
    graph_.value(value).dtype = dtype;
    graph_.value(value).quantization = CopyOf(quantization);
  }

  TensorData Data(size_t i, const std::vector<double>& elements) const {
    TensorData data(description_.inputs[i].dtype, description_.inputs[i].shape);
    const TensorView view(data.mutable_data(), data.dtype(), data.shape());
    for (size_t k = 0; k < elements.size(); ++k) SetElement(view, static_cast<int64_t>(k), elements[k]);
    return data.Quantized(CopyOf(description_.inputs[i].quantization));
  }

  ValueId AddInput(size_t i) {
    const std::vector<double> elements = ElementsOf(node_.input(i));
    const std::string name = "x" + std::to_string(i);
    if (IsConstant(i)) return graph_.AddConstant(name, Data(i, elements));
    const Argument& argument = description_.inputs[i];
    std::vector<Dim> dims(argument.shape.begin(), argument.shape.end());
    // Axes of one size are one dimension.
    const bool opens = extent_ > 0 && !dims.empty() && argument.shape[0] == extent_;
    if (opens && !Decides(i) && (i == 0 || !description_.inputs[i].constant)) dims[0] = open_;
    const ValueId value = graph_.AddInput(name, argument.dtype, dims, CopyOf(argument.quantization));
    const bool computed = form_.Has(i) && form_.supply == Supply::kComputed;
    const auto feed = [&](std::vector<double> fed) {
      for (double& element : fed) {
        if (computed && IsFloat(argument.dtype)) element = -element;
        if (computed && argument.dtype == DType::kBool) element = element != 0 ? 0 : 1;
      }
      return Data(i, fed);
    };
    listed_[name] = feed(elements);
    others_[name] = Decides(i) ? listed_[name] : feed(node_.others(i));
    return computed ? Compute(value, name, argument) : value;
  }

  /// What feed() has undone.
  ValueId Compute(ValueId value, const std::string& name, const Argument& argument) {
    const DType dtype = argument.dtype;
    if (argument.quantization != nullptr) {
      const ValueId same = graph_.Emit(OpCode::kRequantize, {value});
      Declare(same, dtype, argument.quantization);
      return same;
    }
    if (IsFloat(dtype)) return graph_.Emit(OpCode::kNeg, {value});
    if (dtype == DType::kBool) return graph_.Emit(OpCode::kNot, {value});
    const std::string zero = name + "_zero";
    listed_[zero] = others_[zero] = TensorData(dtype, Shape{});
    return graph_.Emit(OpCode::kAdd, {value, graph_.AddInput(zero, dtype, {})}, ClampAttrs());
  }

  const Case& description_;
  Node node_;
  const Form form_;
  Graph graph_;
  ConvertOptions options_;
  int64_t extent_ = 0;  ///< Of the open axis; 0: all are fixed.
  Dim open_;
  Tensors others_, listed_;
};

/// Runs with the other elements, then with the listed ones.
Node::Outcome RunTwice(Model& model, const OneNode& made, const SessionOptions& options) {
  ErrorCapture capture;
  Result<std::unique_ptr<Session>> session = Session::Create(model, options);
  if (!session.ok()) throw std::runtime_error(capture.message());
  Node::Outcome outcome;
  RunSession(**session, made.others());
  RunSession(**session, made.listed());
  for (size_t i = 0; i < (*session)->signature().outputs.size(); ++i)
    outcome.outputs.push_back(ElementsOf(*(*session)->Output(static_cast<int>(i))));
  return outcome;
}

struct BackendRow {
  const char* name;
  Backend backend;
  Target target;
  DelegateKind tolerance;
};

constexpr BackendRow kOnCpu[] = {
    {"reference", Backend::kReference, Target::kCpu, DelegateKind::kXnnpack},
    {"xnnpack", Backend::kPlanned, Target::kCpu, DelegateKind::kXnnpack},
};

constexpr BackendRow kOnGpu[] = {
    {"vulkan", Backend::kPlanned, Target::kVulkan, DelegateKind::kVulkan},
};

class PlanConformance : public ::testing::TestWithParam<size_t> {
 protected:
  const Case description_ = Dense(ConformanceCases()[GetParam()]);
  Node node_{description_};
  const std::unique_ptr<ModelState> reference_ =
      std::move(*ReferenceDelegate().CreateModelState(ModelStateOptions()));
  const Node::Outcome expected_ = node_.Run(*reference_, {});

  void Check(const Form& form, bool open, bool on_gpu) {
    SCOPED_TRACE(FormText(form) + (open ? ", open" : ""));
    try {
      Compute(OneNode(description_, form, open), on_gpu);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

 private:
  void Compute(const OneNode& made, bool on_gpu) {
    ConvertOptions convert = made.options();
    if (on_gpu) convert.targets = {Target::kVulkan};
    const OpenedModel opened(made.graph(), convert);
    const auto backends = on_gpu ? Span<const BackendRow>(kOnGpu, std::size(kOnGpu))
                                 : Span<const BackendRow>(kOnCpu, std::size(kOnCpu));
    for (const BackendRow& row : backends) {
      SessionOptions options;
      options.backend = row.backend;
      options.target = row.target;
      options.fall_back = false;
      options.threads = 1;
      options.poison = true;
      const Node::Outcome got = RunTwice(*opened.model, made, options);
      EXPECT_EQ(Compare(node_, got, expected_, *reference_, row.tolerance), "") << row.name;
    }
  }
};

TEST_P(PlanConformance, FollowsItsInputsOnTheCpu) {
  for (const Form& form : FormsOf(description_)) {
    for (const bool open : {false, true}) Check(form, open, false);
  }
}

/// As listed, and what is usually constant computed: to make a device's pipelines takes its time.
TEST_P(PlanConformance, FollowsItsInputsOnTheGpu) {
  if (!HasVulkan()) GTEST_SKIP() << "there is no Vulkan device here";
  const std::vector<Form> forms = FormsOf(description_);
  const uint64_t messages = VulkanMessages();
  Check(forms.front(), true, true);
  Check(forms.back(), false, true);
  EXPECT_EQ(VulkanMessages(), messages) << "the validation layer had something to say";
}

INSTANTIATE_TEST_SUITE_P(All, PlanConformance, ::testing::ValuesIn(Sample()),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           return ConformanceCases()[info.param].name;
                         });

}  // namespace
}  // namespace skiff::testing
