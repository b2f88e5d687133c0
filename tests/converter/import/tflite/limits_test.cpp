// What TensorFlow Lite files may have of what becomes memory and time: one clear message each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/error.h"
#include "import/tflite/import_tflite.h"
#include "tests/converter/import/tflite/changed_case.h"

namespace skiff {
namespace {

using ::testing::HasSubstr;

/// A kilobyte cannot ask for gigabytes.
TEST(TfliteLimits, TensorsThatAreNotInTheFile) {
  const auto state = [](tflite::ModelT& model) -> tflite::TensorT& {
    return Tensor(model, Node(model).inputs[18]);
  };
  ExpectError(Changed("lstm_f32",
                      [&](auto& model) {
                        state(model).shape = {1 << 16, 1 << 16};
                      }),
              StatusCode::kUnsupported,
              HasSubstr("has 16384 MiB that are not in the file, and 256 MiB are left"));
  ExpectError(Changed("conv_2d_same_f32",
                      [&](auto& model) {
                        tflite::TensorT& weights = Tensor(model, Node(model).inputs[1]);
                        weights.shape[0] = 1 << 28;
                        weights.sparsity = std::make_unique<tflite::SparsityT>();
                      }),
              StatusCode::kUnsupported, HasSubstr("MiB that are not in the file, and 256 MiB are left"));
}

/// Sparse weights of one element, two axes and as many blocks as are asked for, all of axis 1.
Bytes WithBlocks(size_t count) {
  return Changed("conv_2d_same_f32", [&](auto& model) {
    tflite::TensorT& weights = Tensor(model, Node(model).inputs[1]);
    weights.shape = {1, 1};
    weights.sparsity = std::make_unique<tflite::SparsityT>();
    tflite::SparsityT& sparsity = *weights.sparsity;
    sparsity.block_map.assign(count, 1);
    for (size_t i = 0; i < 2 + count; ++i) {
      sparsity.traversal_order.push_back(static_cast<int32_t>(i));
      sparsity.dimensions.push_back(std::make_unique<tflite::SparseDimensionT>());
      sparsity.dimensions.back()->dense_size = 1;
    }
  });
}

TEST(TfliteLimits, SparseWeightsHaveABlockAnAxis) {
  ExpectError(WithBlocks(2), StatusCode::kInvalidModel, HasSubstr("block 1 is of axis 1"));
  ExpectError(WithBlocks(100000), StatusCode::kInvalidModel,
              HasSubstr("it has 100000 blocks, the tensor 2 axes"));
}

/// Places that multiply to more than 63 bits.
TEST(TfliteLimits, SparseWeightsTraverseAnAxisOnce) {
  const auto changed = [](std::vector<int32_t> order, int32_t block, int32_t index) {
    return Changed("conv_2d_same_f32", [&](auto& model) {
      tflite::TensorT& weights = Tensor(model, Node(model).inputs[1]);
      weights.shape = {4, 4};
      weights.sparsity = std::make_unique<tflite::SparsityT>();
      tflite::SparsityT& sparsity = *weights.sparsity;
      sparsity.traversal_order = std::move(order);
      sparsity.block_map = {1};
      for (const int32_t extent : {4, 2, block}) {
        sparsity.dimensions.push_back(std::make_unique<tflite::SparseDimensionT>());
        sparsity.dimensions.back()->dense_size = extent;
      }
      tflite::SparseDimensionT& sparse = *sparsity.dimensions[1];
      sparse.format = tflite::DimensionFormat::SPARSE_CSR;
      tflite::Int32VectorT segments;
      segments.values = {0, 1, 1, 1, 1};
      sparse.segments.Set(segments);
      tflite::Int32VectorT indices;
      indices.values = {index};
      sparse.indices.Set(indices);
    });
  };
  ExpectError(changed({0, 0, 2}, 2, 0), StatusCode::kInvalidModel, HasSubstr("axis 0 is traversed"));
  ExpectError(changed({0, 1, 2}, 5, 0), StatusCode::kInvalidModel,
              HasSubstr("block 0 has 5 elements along axis 1"));
  ExpectError(changed({0, 1, 2}, 2, 2), StatusCode::kInvalidModel, HasSubstr("they do not fit the tensor"));
  ExpectError(changed({0, 1, 2}, 2, INT32_MAX), StatusCode::kInvalidModel,
              HasSubstr("they do not fit the tensor"));
}

TEST(TfliteLimits, ShapesToBroadcastOfMoreExtentsThanATensorHas) {
  const Bytes bytes = Changed("broadcast_args_f32",
                              [](auto& model) { Tensor(model, Node(model).inputs[0]).shape = {INT32_MAX}; });
  ExpectError(bytes, StatusCode::kUnsupported,
              HasSubstr("a shape of 2147483647 extents; at most 8 are supported"));
}

}  // namespace
}  // namespace skiff
