// What the list for a selective build says beside operators.
#include "cli/size_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert.h"
#include "graph/text.h"
#include "run/opened_model.h"

namespace skiff::cli {
namespace {

using ::testing::HasSubstr;

std::string Golden(const char* file) { return SKIFF_SOURCE_DIR "/tests/format/golden/" + std::string(file); }

std::string ListOf(Model& model) {
  SizeList list;
  AddModel(model, false, &list);
  return SizeListText(list, {"model.skiff"});
}

std::string ListOf(const std::string& text, const ShapeContract& contract = {}) {
  Graph graph = ParseGraph(text);
  FixShapes(graph, contract);
  OpenedModel opened(ConvertGraph(std::move(graph))->file);
  return ListOf(opened.model());
}

constexpr const char* kOpenGraph = "graph g { input x: f32[n, 2] y = HardSwish(x) output y }";

TEST(SizeList, OneShapeNeedsNoFeature) {
  EXPECT_THAT(ListOf("graph g { input x: f32[3, 2] y = HardSwish(x) output y }"),
              HasSubstr("set(SKIFF_FEATURES)\n"));
}

TEST(SizeList, RangesOfShapesWithAndWithoutAMaximum) {
  ShapeContract contract;
  contract.dims["n"] = {1, 4};
  EXPECT_THAT(ListOf(kOpenGraph, contract), HasSubstr("set(SKIFF_FEATURES\n    Shapes)\n"));
  EXPECT_THAT(ListOf(kOpenGraph), HasSubstr("set(SKIFF_FEATURES\n    Shapes\n    Unbounded)\n"));
}

/// Though there is no Stage: a loop variable has its shape during the run.
TEST(SizeList, LoopsThatGrowNeedWhatAStageNeeds) {
  const char* const loop =
      "graph g {{ input x: f32[2] const most: f32[] = 9 y = While(x, most) condition {{ input x input most s "
      "= "
      "ReduceSum(x) {{axes=[0], keep_dims=false}} go = Less(s, most) output go }} body {{ input x input most "
      "n = "
      "{} output n }} output y }}";
  EXPECT_THAT(ListOf(fmt::format(fmt::runtime(loop), "Concat(x, x) {axis=0}")), HasSubstr("    Stage\n"));
  EXPECT_THAT(ListOf(fmt::format(fmt::runtime(loop), "Add(x, most)")), ::testing::Not(HasSubstr("Stage")));
}

TEST(SizeList, HasTheFeaturesOfAllModels) {
  SizeList list;
  OpenedModel first(Golden("format_1.skiff"));
  AddModel(first.model(), false, &list);
  EXPECT_THAT(SizeListText(list, {}),
              HasSubstr("set(SKIFF_FEATURES\n    Images\n    Shapes\n    Unbounded\n    Variables)\n"));
  OpenedModel second(Golden("format_2.skiff"));
  AddModel(second.model(), false, &list);
  EXPECT_THAT(
      SizeListText(list, {}),
      HasSubstr(
          "set(SKIFF_FEATURES\n    Images\n    Quantization\n    Shapes\n    Unbounded\n    Variables)\n"));
}

}  // namespace
}  // namespace skiff::cli
