// The program's own operators, eagerly and traced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/error.h"
#include "trace/function.h"
#include "trace/ops.h"

namespace skiff::eager {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Status SameShape(void*, const CustomCall& call) {
  if (call.inputs[0].dtype != DType::kF32) return Fail(StatusCode::kInvalidArgument, "it reads f32");
  call.outputs[0].dtype = DType::kF32;
  call.outputs[0].shape = call.inputs[0].shape;
  return OkStatus();
}

/// x * options[0], or x * 2.
Status Times(void*, const CustomCall& call) {
  const float factor = call.options.empty() ? 2.0f : static_cast<float>(call.options[0]);
  for (int64_t i = 0; i < call.inputs[0].shape.elements(); ++i)
    call.outputs[0].as<float>()[i] = call.inputs[0].as<float>()[i] * factor;
  return OkStatus();
}

const CustomOperator kTimes = {"test::Times", SameShape, Times};

TEST(CustomOperators, ComputeTheSameEagerlyAndTraced) {
  const uint8_t five = 5;
  const auto both = [&](const Tensor& x) {
    return Custom(kTimes, {x})[0] + Custom(kTimes, {x}, 1, {&five, 1})[0];
  };
  Function<Tensor(Tensor)> traced(both);
  for (const float number : {1.0f, -3.5f}) {
    const Tensor x = Tensor::Of<float>({number, 2});
    const TensorData at_once = both(x).data();
    const TensorData later = traced(x).data();
    EXPECT_EQ(at_once.as<float>()[0], number * 7);
    EXPECT_EQ(std::memcmp(at_once.data(), later.data(), at_once.size_bytes()), 0);
  }
}

TEST(CustomOperators, RefusalsNameThePlace) {
  try {
    Custom(kTimes, {Tensor::Of<int64_t>({1})});
    FAIL() << "it was computed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("custom_test.cpp:"), HasSubstr("test::Times: it reads f32")));
  }
  EXPECT_THROW(Custom({"test::Half", SameShape}, {Tensor::Of<float>({1})}), Error);
}

}  // namespace
}  // namespace skiff::eager
