// Einsum in forms that the ONNX node tests do not reach; extents are open, so that only ranks are known.
#include <gmock/gmock.h>

#include "tests/converter/import/onnx/model.h"

namespace skiff {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// A model of one node whose inputs have open extents, so that nothing is known ahead of time but ranks.
OnnxModel OpenModel(const std::string& op, int64_t opset, const std::vector<TensorData>& inputs) {
  OnnxModel model(opset);
  std::vector<std::string> names;
  for (const TensorData& input : inputs) {
    const std::string name = "x" + std::to_string(names.size());
    auto* shape = model.AddInput(name, {})->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int i = 0; i < input.shape().rank(); ++i)
      shape->add_dim()->set_dim_param(name + "_" + std::to_string(i));
    names.push_back(name);
  }
  model.AddNode(op, names, {"y"});
  model.AddOutput("y");
  return model;
}

onnx::NodeProto* NodeOf(OnnxModel& model) { return model.proto.mutable_graph()->mutable_node(0); }

std::map<std::string, TensorData> ByName(const std::vector<TensorData>& inputs) {
  std::map<std::string, TensorData> named;
  for (const TensorData& input : inputs) named["x" + std::to_string(named.size())] = input;
  return named;
}

TensorData Einsum(const std::string& equation, const std::vector<TensorData>& inputs) {
  OnnxModel model = OpenModel("Einsum", 12, inputs);
  SetString(NodeOf(model), "equation", equation);
  return RunModel(model, ByName(inputs));
}

TEST(OnnxEinsum, ProductsOfOpenExtents) {
  const TensorData a = Counting({2, 3});
  const TensorData b = Counting({3, 2});
  EXPECT_THAT(AsFloats(Einsum("ij,jk->ik", {a, b})), ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(AsFloats(Einsum("ij,jk->ki", {a, b})), ElementsAre(10, 28, 13, 40));
  EXPECT_THAT(AsFloats(Einsum("ij,ji", {a, b})), ElementsAre(50)) << "no label is left";
  EXPECT_THAT(AsFloats(Einsum("ij,kj->ik", {a, a})), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(AsFloats(Einsum("ab,ab->b", {a, a})), ElementsAre(9, 17, 29));
}

/// What is needed later is looked up at each operand: minutes, if all later ones were gone through.
TEST(OnnxEinsum, ManyOperands) {
  constexpr int kOperands = 20'000;
  OnnxModel model;
  model.AddInput("x", {1, 1, 1, 1});
  std::string terms = "abcd";
  for (int i = 1; i < kOperands; ++i) terms += ",abcd";
  SetString(model.AddNode("Einsum", std::vector<std::string>(kOperands, "x"), {"y"}), "equation", terms);
  model.AddOutput("y");
  EXPECT_EQ(RunModel(model, {{"x", Floats({1, 1, 1, 1}, {-1})}}).as<float>()[0], 1);
}

TEST(OnnxEinsum, SeveralFreeAndContractedAxes) {
  const TensorData x = Counting({2, 1, 2, 2});
  const TensorData w = Counting({2, 2, 1});
  const TensorData y = Einsum("bshd,hdm->bsm", {x, w});
  EXPECT_EQ(y.shape(), (Shape{2, 1, 1}));
  EXPECT_THAT(AsFloats(y), ElementsAre(14, 38));
  const TensorData outer = Einsum("ab,cde->eabdc", {Counting({1, 2}), Counting({2, 1, 1})});
  EXPECT_EQ(outer.shape(), (Shape{1, 1, 2, 1, 2}));
  EXPECT_THAT(AsFloats(outer), ElementsAre(0, 0, 0, 1));
}

TEST(OnnxEinsum, DiagonalsAndTraces) {
  const TensorData x = Counting({2, 3, 3});
  EXPECT_THAT(AsFloats(Einsum("bii->bi", {x})), ElementsAre(0, 4, 8, 9, 13, 17));
  EXPECT_THAT(AsFloats(Einsum("...ii->...", {x})), ElementsAre(12, 39));
  EXPECT_THAT(AsFloats(Einsum("iii", {Counting({2, 2, 2})})), ElementsAre(7));
}

TEST(OnnxEinsum, EllipsesBroadcastAndComeFirst) {
  const TensorData y = Einsum("a...,...a", {Counting({2, 3}), Counting({1, 3, 2})});
  EXPECT_EQ(y.shape(), (Shape{1, 3}));
  EXPECT_THAT(AsFloats(y), ElementsAre(3, 14, 33));
}

TEST(OnnxEinsum, NothingToSumIsZero) {
  const TensorData y = Einsum("ij,jk->ik", {Floats({2, 0}, {}), Floats({0, 2}, {})});
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  EXPECT_THAT(AsFloats(y), Each(0));
}

TEST(OnnxEinsum, RefusesWhatIsNoEquation) {
  const std::pair<const char*, const char*> kBad[] = {
      {"ij->ik", "'k'"},     {"ij->ii", "twice"}, {"ij,jk->ik", "names 2 operands"}, {"i", "has 1 axes"},
      {"ijk", "has 3 axes"}, {"i1->i", "'1'"},    {"...j->j", "lacks the '...'"},    {"..", "'.'"},
      {"", "has 0 axes"}};
  for (const auto& [equation, message] : kBad) {
    OnnxModel model(12);
    model.AddInput("x", {2, 3});
    SetString(model.AddNode("Einsum", {"x"}, {"y"}), "equation", equation);
    model.AddOutput("y");
    const Error error = ImportError(model);
    EXPECT_EQ(error.code(), StatusCode::kInvalidModel) << equation;
    EXPECT_THAT(std::string(error.what()), HasSubstr(message)) << equation;
  }
}

}  // namespace
}  // namespace skiff
