/// Files that were tampered with where a test says so: refused when they are opened, with the reason.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <stdexcept>

#include "graph/text.h"
#include "tests/fuzz/quantized_graph.h"
#include "tests/fuzz/skiff_parts.h"

namespace skiff::testing {

/// A file taken apart, and how to find things in it.
struct File {
  explicit File(const std::vector<uint8_t>& file) : parts(file), model(parts.Unpack()) {}
  explicit File(const std::string& graph) : File(OpenedModel(graph, AsWritten()).converted->file) {}

  format::PlanT& plan() { return *model->signatures[0]->plans[0]; }
  int32_t IndexOf(const std::string& name) {
    for (size_t i = 0; i < plan().tensors.size(); ++i) {
      if (plan().tensors[i]->name == name) return static_cast<int32_t>(i);
    }
    throw std::out_of_range("no tensor " + name);
  }
  format::TensorT& tensor(const std::string& name) {
    return *plan().tensors[static_cast<size_t>(IndexOf(name))];
  }
  format::QuantizationT& quantization(const std::string& name) {
    return *model->quantizations[static_cast<size_t>(tensor(name).quantization)];
  }
  /// The scales of a tensor that has many.
  float* scales(const std::string& name) {
    return reinterpret_cast<float*>(parts.weights.data() + BlobOf(quantization(name).scales).offset());
  }
  int32_t* zero_points(const std::string& name) {
    return reinterpret_cast<int32_t*>(parts.weights.data() + BlobOf(quantization(name).zero_points).offset());
  }
  format::Blob& BlobOf(int32_t index) { return model->blobs[static_cast<size_t>(index)]; }
  void Shorten(int32_t blob, uint64_t size) {
    format::Blob& old = BlobOf(blob);
    old = format::Blob(old.offset(), size, old.hash_low(), old.hash_high());
  }
  /// Another quantisation of the file, which no tensor had.
  int32_t Add(float scale, int32_t zero_point) {
    auto added = std::make_unique<format::QuantizationT>();
    added->scale = scale;
    added->zero_point = zero_point;
    model->quantizations.push_back(std::move(added));
    return static_cast<int32_t>(model->quantizations.size() - 1);
  }
  void SetBlob(int32_t index, uint64_t offset, uint64_t size) {
    BlobOf(index) = format::Blob(offset, size, BlobOf(index).hash_low(), BlobOf(index).hash_high());
  }
  std::string Outcome() const { return OpenAndRun(parts.Assemble(*model)); }

  Parts parts;
  std::unique_ptr<format::ModelT> model;
};

struct Damage {
  const char* name;
  std::function<void(File&)> apply;
  const char* message;
};

inline void Expect(const char* graph, std::initializer_list<Damage> damages) {
  EXPECT_EQ(File(graph).Outcome(), "");
  for (const Damage& damage : damages) {
    File file(graph);
    damage.apply(file);
    EXPECT_THAT(file.Outcome(), ::testing::HasSubstr(damage.message)) << damage.name;
  }
}

}  // namespace skiff::testing
