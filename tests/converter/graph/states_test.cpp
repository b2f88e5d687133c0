// What a variable is in a run is what it was at first: whatever a source says of its types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert.h"
#include "graph/error.h"
#include "graph/text.h"

namespace skiff {
namespace {

/// The graph's input and output become a variable that begins with `first`.
void Convert(const std::string& text, const TensorData& first) {
  Graph graph = ParseGraph(text);
  graph.MakeVariable(0, 0, {"h", first});
  static_cast<void>(ConvertGraph(std::move(graph), {}));
}

/// An i8 state that stays as it is, with the scales of the input and of the output.
std::string Kept(const char* before, const char* after) {
  return std::string("graph g { input h: i8[2] ") + before + " input x: f32[1] next: i8[2] " + after +
         " = Max(h, h) z = Neg(x) output next output z }";
}

TEST(States, HaveOneType) {
  const TensorData zeros = TensorData(DType::kI8, Shape{2}).Quantized(PerTensor(0.5f, 1));
  const char* const same = "{scale=0.5, zero_point=1}";
  EXPECT_NO_THROW(Convert(Kept(same, same), zeros));
  struct {
    std::string text;
    TensorData first;
  } const cases[] = {
      {Kept("", ""), zeros},
      {Kept(same, "{scale=0.25, zero_point=1}"), zeros},
      {Kept(same, same), TensorData(DType::kI8, Shape{2})},
      {Kept(same, same), TensorData(DType::kI8, Shape{3}).Quantized(PerTensor(0.5f, 1))},
      {Kept(same, same), TensorData(DType::kU8, Shape{2}).Quantized(PerTensor(0.5f, 1))},
  };
  for (const auto& [text, first] : cases) {
    SCOPED_TRACE(text);
    try {
      Convert(text, first);
      ADD_FAILURE() << "it was converted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kUnsupported);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("the variable 'h' is "));
    }
  }
}

TEST(States, AreNoLongerThanTheyWere) {
  const std::string text =
      "graph g { input h: f32[2] y = Concat(h, h) {axis=0} input x: f32[1] z = Neg(x) output y output z }";
  EXPECT_THROW(Convert(text, TensorData(DType::kF32, Shape{2})), Error);
}

}  // namespace
}  // namespace skiff
