/// Runs one operator through its shape rule and its reference kernel, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/half.h"
#include "ops/op.h"

namespace skiff::test {

/// A tensor that owns exactly its bytes, so that a sanitizer sees each access beside them.
struct Tensor {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  Shape AsShape() const { return Shape(shape.data(), static_cast<int>(shape.size())); }
  int64_t elements() const { return AsShape().elements(); }
  TensorView View() {
    return dtype == DType::kInvalid ? TensorView() : TensorView(bytes.data(), dtype, AsShape());
  }
};

/// An absent optional input.
inline Tensor Absent() { return {}; }

template <class T>
T Convert(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// Calls visit(T{}) with the storage type of a dtype.
template <class Visit>
auto WithType(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(float{});
    case DType::kF16:
      return visit(Half{});
    case DType::kF64:
      return visit(double{});
    case DType::kI8:
      return visit(int8_t{});
    case DType::kU8:
    case DType::kBool:
      return visit(uint8_t{});
    case DType::kI16:
      return visit(int16_t{});
    case DType::kU16:
      return visit(uint16_t{});
    case DType::kI32:
      return visit(int32_t{});
    case DType::kU32:
      return visit(uint32_t{});
    case DType::kU64:
      return visit(uint64_t{});
    default:
      return visit(int64_t{});
  }
}

template <class T>
Tensor MakeExact(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  Tensor tensor{dtype, std::move(shape), {}};
  EXPECT_EQ(static_cast<size_t>(tensor.elements()), values.size());
  tensor.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

inline Tensor Make(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  return WithType(dtype, [&](auto tag) {
    using T = decltype(tag);
    std::vector<T> typed;
    for (double value : values) typed.push_back(Convert<T>(value));
    return MakeExact<T>(dtype, std::move(shape), typed);
  });
}

inline Tensor F32(std::vector<int64_t> shape, const std::vector<double>& values) {
  return Make(DType::kF32, std::move(shape), values);
}
inline Tensor I64(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return MakeExact(DType::kI64, std::move(shape), values);
}
/// A list of i64, the form of shape inputs.
inline Tensor List(const std::vector<int64_t>& values) {
  return I64({static_cast<int64_t>(values.size())}, values);
}

/// first, first + 1, ... in the shape.
inline Tensor Iota(DType dtype, std::vector<int64_t> shape, double first) {
  const int64_t count = Tensor{dtype, shape, {}}.elements();
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i));
  return Make(dtype, std::move(shape), values);
}

inline std::vector<double> Values(const Tensor& tensor) {
  return WithType(tensor.dtype, [&](auto tag) {
    using T = decltype(tag);
    std::vector<double> values;
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      T element;
      std::memcpy(&element, tensor.bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      if constexpr (std::is_same_v<T, Half>) {
        values.push_back(static_cast<double>(static_cast<float>(element)));
      } else {
        values.push_back(static_cast<double>(element));
      }
    }
    return values;
  });
}

/// Numbers between -1 and 1 that depend on the seed alone.
inline std::vector<double> RandomValues(int64_t count, uint32_t seed) {
  std::vector<double> values;
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<double>(static_cast<int32_t>(state)) / 2147483648.0);
  }
  return values;
}

inline Tensor Random(DType dtype, std::vector<int64_t> shape, uint32_t seed) {
  const int64_t count = Tensor{dtype, shape, {}}.elements();
  return Make(dtype, std::move(shape), RandomValues(count, seed));
}

struct Outcome {
  Status status;
  std::string message;  ///< Of the shape rule.
  std::vector<Tensor> outputs;

  const Tensor& operator[](size_t i) const { return outputs.at(i); }
};

struct OpRun {
  OpCode code{};
  AttrStorage attrs;
  std::vector<Tensor> inputs;
  size_t output_count = 1;

  /// The shape rule; the outputs have their extents but no bytes.
  Outcome Infer() {
    const OpDef& op = *FindOp(code);
    std::vector<InferInput<int64_t>> infer_inputs(inputs.size());
    std::vector<std::vector<int64_t>> values(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& tensor = inputs[i];
      InferInput<int64_t>& input = infer_inputs[i];
      input.present = tensor.dtype != DType::kInvalid;
      input.dtype = tensor.dtype;
      input.rank = static_cast<int>(tensor.shape.size());
      for (size_t j = 0; j < tensor.shape.size(); ++j) input.extents[j] = tensor.shape[j];
      if (!input.present || tensor.bytes.empty()) continue;
      input.constant = tensor.bytes.data();
      if (IsFloat(tensor.dtype)) continue;
      WithType(tensor.dtype, [&](auto tag) {
        using T = decltype(tag);
        for (size_t k = 0; k * sizeof(T) < tensor.bytes.size(); ++k) {
          T element;
          std::memcpy(&element, tensor.bytes.data() + k * sizeof(T), sizeof(T));
          if constexpr (!std::is_same_v<T, Half>) values[i].push_back(static_cast<int64_t>(element));
        }
      });
      input.values = values[i].data();
      input.value_count = static_cast<int64_t>(values[i].size());
    }
    std::vector<InferOutput<int64_t>> infer_outputs(output_count);
    char message[InferContext<int64_t>::kMessageBytes] = "";
    InferContext<int64_t> context{code,
                                  &attrs,
                                  {infer_inputs.data(), infer_inputs.size()},
                                  {infer_outputs.data(), infer_outputs.size()},
                                  message};
    Outcome outcome;
    outcome.status = op.infer(context);
    outcome.message = message;
    EXPECT_EQ(outcome.status.ok(), outcome.message.empty()) << outcome.message;
    if (!outcome.status.ok()) return outcome;
    for (const InferOutput<int64_t>& output : infer_outputs) {
      Tensor tensor{output.dtype, {output.extents, output.extents + output.rank}, {}};
      for (int64_t extent : tensor.shape) EXPECT_GE(extent, 0);
      outcome.outputs.push_back(std::move(tensor));
    }
    return outcome;
  }

  Outcome Run() {
    Outcome outcome = Infer();
    if (!outcome.status.ok()) return outcome;
    std::vector<TensorView> in;
    std::vector<TensorView> out;
    for (Tensor& tensor : inputs) in.push_back(tensor.View());
    for (Tensor& tensor : outcome.outputs) {
      // Filled with a pattern, so that an element that a kernel leaves out is seen.
      tensor.bytes.assign(static_cast<size_t>(tensor.elements() * DTypeSize(tensor.dtype)), 0xa5);
      out.push_back(tensor.View());
    }
    const KernelArgs args{code, &attrs, {in.data(), in.size()}, {out.data(), out.size()}};
    outcome.status = FindOp(code)->kernel(args);
    return outcome;
  }
};

template <class Attrs = NoAttrs>
OpRun Op(OpCode code, std::vector<Tensor> inputs, const Attrs& attrs = {}, size_t output_count = 1) {
  OpRun run{code, {}, std::move(inputs), output_count};
  InitAttrs(code, run.attrs);
  if constexpr (!std::is_same_v<Attrs, NoAttrs>) run.attrs.as<Attrs>() = attrs;
  return run;
}

/// The only output of a run that must succeed.
template <class Attrs = NoAttrs>
Tensor RunOp(OpCode code, std::vector<Tensor> inputs, const Attrs& attrs = {}) {
  Outcome outcome = Op(code, std::move(inputs), attrs).Run();
  EXPECT_TRUE(outcome.status.ok()) << FindOp(code)->name << ": " << outcome.message;
  return outcome.status.ok() ? outcome.outputs[0] : Tensor{};
}

/// NaN equals NaN; the sign of zero does not matter.
inline void ExpectValues(const Tensor& tensor, const std::vector<double>& expected, double tolerance = 0) {
  ASSERT_NE(tensor.dtype, DType::kInvalid);
  const std::vector<double> actual = Values(tensor);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "element " << i << " is " << actual[i];
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(actual[i], expected[i]) << "element " << i;
    } else {
      EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
    }
  }
}

inline void ExpectTensor(const Tensor& tensor, const std::vector<int64_t>& shape,
                         const std::vector<double>& expected, double tolerance = 0) {
  EXPECT_EQ(tensor.shape, shape);
  ExpectValues(tensor, expected, tolerance);
}

/// The shape rule refuses, and says why with these words.
inline void ExpectError(OpRun run, const std::string& words) {
  const Outcome outcome = run.Infer();
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(outcome.message.find(words), std::string::npos) << outcome.message;
}

inline const double kNan = std::nan("");
inline constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace skiff::test
