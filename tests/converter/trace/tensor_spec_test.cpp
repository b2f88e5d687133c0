// The text form of argument types.
#include <gtest/gtest.h>

#include "expect_error.h"
#include "trace/tensor_spec.h"

namespace skiff::eager {
namespace {

TEST(TensorSpec, ParsesWhatItPrints) {
  for (const char* text : {"f32[]", "i64[3]", "f32[batch, seq<=128, 20]", "u8[h=8..64%8, w%2]",
                           "bool[n=2.., ?, 1]", "f16[n=0..4]"}) {
    EXPECT_EQ(ParseTensorSpec(text).Text(), text);
  }
  const TensorSpec spec = ParseTensorSpec(" f32[ seq=4..128%4 ,20 ] ");
  EXPECT_EQ(spec.dims[0].name, "seq");
  EXPECT_EQ(spec.dims[0].range, DimRange(4, 128, 4));
  EXPECT_EQ(spec.dims[1].size(), 20);
}

TEST(TensorSpec, SaysWhatItDoesNotUnderstand) {
  EXPECT_ERROR(ParseTensorSpec("f32"), "there are no [extents]");
  EXPECT_ERROR(ParseTensorSpec("float[1]"), "there is no dtype 'float'");
  EXPECT_ERROR(ParseTensorSpec("f32[1,,2]"), "an extent is empty");
  EXPECT_ERROR(ParseTensorSpec("f32[n<=0]"), "no size is in 'n<=0'");
  EXPECT_ERROR(ParseTensorSpec("f32[n<128]"), "'n<128' is no number, name or range");
  EXPECT_ERROR(ParseTensorSpec("f32[99999999999999999]"), "is too large");
  EXPECT_ERROR(ParseTensorSpec("f32[" + std::string(1000000, 'n') + "]"), "an extent has 1000000 characters");
  EXPECT_ERROR(ParseTensorSpec("f32[1,1,1,1,1,1,1,1,1]"), "at most 8 dimensions");
}

}  // namespace
}  // namespace skiff::eager
