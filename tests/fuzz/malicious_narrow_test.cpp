// Files that lie about constants which they store narrower than they are.
#include "ops/op.h"
#include "tests/fuzz/damaged_file.h"

namespace skiff::testing {
namespace {

void Store(File& file, const char* name, DType stored) {
  file.tensor(name).stored = static_cast<uint8_t>(stored);
}

TEST(MaliciousNarrow, FormsOfLies) {
  Expect(
      kNarrowGraph,
      {{"an unknown dtype", [](File& file) { file.tensor("halves").stored = 200; },
        "does not fit its weights"},
       {"floats of another size", [](File& file) { Store(file, "halves", DType::kF64); },
        "does not fit its weights"},
       {"plain integers", [](File& file) { Store(file, "halves", DType::kI16); },
        "is f32 and stored as i16, from which it cannot be made"},
       {"its own dtype",
        [](File& file) {
          Store(file, "halves", DType::kF32);
          file.Shorten(file.tensor("halves").blob, 4096);
        },
        "is f32 and stored as f32, from which it cannot be made"},
       {"halves that are quantised",
        [](File& file) { file.tensor("halves").stored_quantization = file.Add(1, 0); },
        "its dtype cannot be quantised"},
       {"integers without a scale", [](File& file) { file.tensor("rows").stored_quantization = -1; },
        "is f32 and stored as i8, from which it cannot be made"},
       {"half bytes without a scale", [](File& file) { file.tensor("blocks").stored_quantization = -1; },
        "a tensor of i4 has no quantisation"},
       {"a quantisation behind the end", [](File& file) { file.tensor("rows").stored_quantization = 1000; },
        "a tensor refers to quantisation 1000"},
       {"a tensor that is quantised", [](File& file) { file.tensor("rows").quantization = file.Add(1, 0); },
        "its dtype cannot be quantised"},
       {"scales along another axis",
        [](File& file) {
          file.model->quantizations[static_cast<size_t>(file.tensor("rows").stored_quantization)]->axis = 1;
        },
        "another number of scales"},
       {"another block",
        [](File& file) {
          file.model->quantizations[static_cast<size_t>(file.tensor("blocks").stored_quantization)]->block =
              32;
        },
        "another number of scales"},
       {"a zero point that is no code",
        [](File& file) { file.tensor("rows").stored_quantization = file.Add(1, 128); },
        "outside of its dtype"},
       {"fewer weights than elements", [](File& file) { file.Shorten(file.tensor("blocks").blob, 639); },
        "does not fit its weights"},
       {"another dtype of the tensor",
        [](File& file) { file.tensor("rows").dtype = static_cast<uint8_t>(DType::kI32); },
        "is i32 and stored as quantised i8, from which it cannot be made"},
       {"no weights", [](File& file) { file.tensor("rows").blob = -1; }, "has no weights"},
       {"an activation", [](File& file) { Store(file, "wide", DType::kF16); }, "has no weights"},
       {"an activation with a meaning", [](File& file) { file.tensor("wide").stored_quantization = 0; },
        "has no weights"}});
}

/// Otherwise each form of one blob would take memory of its own.
TEST(MaliciousNarrow, WeightsOfTwoForms) {
  File file(kNarrowGraph);
  file.tensor("ones").blob = file.tensor("rows").blob;
  EXPECT_THAT(file.Outcome(), ::testing::HasSubstr("stored in two forms"));
  File same(kNarrowGraph);
  same.tensor("ones").blob = same.tensor("rows").blob;
  same.tensor("ones").stored = same.tensor("rows").stored;
  same.tensor("ones").stored_quantization = same.tensor("rows").stored_quantization;
  EXPECT_EQ(same.Outcome(), "");
  File other_shape(kNarrowGraph);
  const int32_t one_scale = other_shape.Add(0.5f, 0);
  for (const char* name : {"rows", "ones"}) {
    other_shape.tensor(name).blob = other_shape.tensor("rows").blob;
    other_shape.tensor(name).stored = static_cast<uint8_t>(DType::kI8);
    other_shape.tensor(name).stored_quantization = one_scale;
  }
  EXPECT_EQ(other_shape.Outcome(), "") << "one scale has every shape";
}

/// Blobs that lie one over the other: each is in the file, and all together are not.
TEST(MaliciousNarrow, MoreMemoryThanWeights) {
  File file(kNarrowGraph);
  format::PlanT& plan = file.plan();
  const format::TensorT pattern = file.tensor("blocks");
  const format::Blob blob = file.BlobOf(pattern.blob);
  for (int i = 0; i < 100; ++i) {
    file.model->blobs.push_back(blob);
    plan.tensors.push_back(std::make_unique<format::TensorT>(pattern));
    plan.tensors.back()->blob = static_cast<int32_t>(file.model->blobs.size() - 1);
  }
  EXPECT_THAT(file.Outcome(), ::testing::HasSubstr("more than 8 times their bytes"));
}

}  // namespace
}  // namespace skiff::testing
