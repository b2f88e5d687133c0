// Constants that the file stores narrower than they are: the same bits in memory, once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "core/align.h"
#include "core/half.h"
#include "core/wide_constant.h"
#include "core/widen.h"
#include "format/model_data.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "ops/op_codes.h"
#include "tests/fuzz/quantized_graph.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

constexpr int64_t kElements = 2048;

/// y = x + w, where w is f32 and what `element` says.
Graph AddsConstant(const std::function<float(int64_t)>& element, int64_t elements = kElements) {
  std::vector<float> floats;
  for (int64_t i = 0; i < elements; ++i) floats.push_back(element(i));
  Graph graph;
  const ValueId x = graph.AddInput("x", DType::kF32, {Dim(elements)});
  const ValueId w = graph.AddConstant("w", TensorData::OfFloats(floats));
  graph.AddOutput("y", graph.Emit(OpCode::kAdd, {x, w}, ClampAttrs{}, "y"));
  return graph;
}

struct Constant {
  const PlanTensor* tensor = nullptr;
  const TensorPlacement* placement = nullptr;
};

Constant Find(const Model& model, const std::string& name, size_t plan = 0) {
  const PlanData& data = model.data().signatures[0].plans[plan];
  for (size_t i = 0; i < data.tensors.size(); ++i) {
    if (name != data.tensors[i].name) continue;
    if (data.tensors[i].wide != nullptr) data.tensors[i].wide->Pin();
    return {&data.tensors[i], &data.placements[i]};
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

float Half(uint32_t bits) { return HalfToFloat(static_cast<uint16_t>(bits)); }

TEST(NarrowWeights, HalvesKeepTheirBits) {
  // All finite numbers and infinities, zeros of both signs, and quiet NaNs with their payloads.
  const auto element = [](int64_t i) {
    const auto bits = static_cast<uint32_t>(i * 32 + i / 64);
    return (bits & 0x7c00) == 0x7c00 ? Half(bits | 0x200) : Half(bits);
  };
  const OpenedModel opened(AddsConstant(element));
  const Constant w = Find(*opened.model, "w");
  ASSERT_EQ(w.placement->stored, DType::kF16);
  EXPECT_EQ(w.tensor->view.dtype, DType::kF32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w.tensor->view.data) % kAlignment, 0u);
  for (int64_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(w.tensor->view.as<const uint32_t>()[i], std::bit_cast<uint32_t>(element(i))) << i;
  }
  EXPECT_EQ(opened.model->weights_bytes(), static_cast<uint64_t>(kElements) * 2);
  EXPECT_EQ(opened.model->widened_bytes(), static_cast<uint64_t>(kElements) * 4);
  EXPECT_EQ(opened.model->data().format_version, 3u);
}

TEST(NarrowWeights, OneElementThatIsNoHalfKeepsAllWide) {
  const float odd[] = {1.0009f, 70000.0f, 1e-9f,
                       std::bit_cast<float>(0x7fc00001u),   // A payload that f16 has no room for.
                       std::bit_cast<float>(0x7f802000u)};  // A signalling NaN would become a quiet one.
  for (const float one : odd) {
    const OpenedModel opened(
        AddsConstant([&](int64_t i) { return i == kElements - 1 ? one : Half(0x3c00); }));
    EXPECT_EQ(Find(*opened.model, "w").placement->stored, DType::kInvalid) << one;
    EXPECT_EQ(opened.model->weights_bytes(), static_cast<uint64_t>(kElements) * 4);
    EXPECT_EQ(opened.model->widened_bytes(), 0u);
    EXPECT_EQ(opened.model->data().format_version, 1u) << "builds that know no newer format can read it";
  }
}

TEST(NarrowWeights, AFewElementsStayAsTheyAre) {
  const OpenedModel opened(AddsConstant([](int64_t) { return 1.0f; }, 1023));
  EXPECT_EQ(Find(*opened.model, "w").placement->stored, DType::kInvalid);
  const OpenedModel more(AddsConstant([](int64_t) { return 1.0f; }, 1024));
  EXPECT_EQ(Find(*more.model, "w").placement->stored, DType::kF16);
}

/// Every kind of integers: what the plan computes with is what Dequantize makes of them, and no node is left
/// that would make it in every run.
TEST(NarrowWeights, IntegersAreWhatDequantizeMakes) {
  ConvertOptions options = AsWritten();
  const OpenedModel opened(kNarrowGraph, options);
  const Graph graph = ParseGraph(kNarrowGraph);
  const struct {
    const char* name;
    const char* codes;
    DType stored;
  } kConstants[] = {{"rows", "row_codes", DType::kI8},
                    {"blocks", "block_codes", DType::kI4},
                    {"ones", "tensor_codes", DType::kU8}};
  uint64_t bytes = 0;
  for (const auto& [name, codes, stored] : kConstants) {
    const Constant constant = Find(*opened.model, name);
    ASSERT_TRUE(constant.tensor->constant);
    EXPECT_EQ(constant.placement->stored, stored) << name;
    const TensorData& from = *graph.value(graph.FindValue(codes)).constant;
    EXPECT_TRUE(SameQuantization(constant.placement->stored_quantization, from.quantization().get()));
    std::vector<float> expected(static_cast<size_t>(from.elements()));
    WidenCodes(from.view(), expected.data());
    EXPECT_EQ(std::memcmp(constant.tensor->view.data, expected.data(), expected.size() * sizeof(float)), 0)
        << name;
    bytes += expected.size() * sizeof(float);
  }
  for (const PlanNode& node : opened.model->data().signatures[0].plans[0].nodes)
    EXPECT_NE(node.op->code, OpCode::kDequantize);
  EXPECT_EQ(opened.model->widened_bytes(), bytes);
  EXPECT_EQ(opened.model->data().wide_weights.most_bytes(), bytes + 1024 * sizeof(float)) << "and the halves";

  const auto inputs = RandomInputs(graph, 5);
  const auto expected = Evaluate(graph, inputs);
  SessionOptions reference;
  reference.backend = Backend::kReference;
  for (const auto& [name, got] : RunSession(*Session::Create(*opened.model, reference).value(), inputs)) {
    EXPECT_EQ(std::memcmp(got.data(), expected.at(name).data(), got.size_bytes()), 0) << name;
  }
  for (const auto& [name, got] : RunSession(*Session::Create(*opened.model, {}).value(), inputs)) {
    const Difference difference = Compare(got, expected.at(name));
    EXPECT_LE(difference.difference, 2e-6 * difference.largest) << name;
  }
}

TEST(NarrowWeights, SessionsSayWhatTheyTake) {
  const OpenedModel opened(AddsConstant([](int64_t) { return 2.0f; }));
  const auto other = Session::Create(*opened.model, {});
  auto session = Session::Create(*opened.model, {});
  ASSERT_TRUE(other.ok() && session.ok());
  EXPECT_EQ((*session)->memory_usage().widened_weights, static_cast<uint64_t>(kElements) * 4);
  EXPECT_EQ((*session)->memory_usage().mapped_weights, static_cast<uint64_t>(kElements) * 2);
}

TEST(NarrowWeights, WhatIsPackedIsGivenBack) {
  const OpenedModel opened(R"(graph g {
    input x: f32[2, 256]
    const w: f16[256, 256] = seed 3
    wide = Cast(w) {to=f32}
    y = FullyConnected(x, wide, _)
    output y
  })");
  constexpr uint64_t kBytes = 256 * 256 * sizeof(float);
  EXPECT_EQ(opened.model->widened_bytes(), 0u) << "nothing is read when the file is opened";
  auto planned = Session::Create(*opened.model, {});
  ASSERT_TRUE(planned.ok());
  const bool packs = (*planned)->node(0).delegate == DelegateKind::kXnnpack;
  EXPECT_EQ((*planned)->memory_usage().widened_weights, packs ? 0 : kBytes);
  SessionOptions options;
  options.backend = Backend::kReference;
  auto reference = Session::Create(*opened.model, options);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ((*reference)->memory_usage().widened_weights, kBytes) << "the reference kernel reads them";
  const auto inputs = RandomInputs(opened.converted->graph, 7);
  const TensorData expected = RunSession(**reference, inputs).at("y");
  auto again = Session::Create(*opened.model, {});
  ASSERT_TRUE(again.ok());
  for (Session* session : {planned->get(), again->get()}) {
    const Difference difference = Compare(RunSession(*session, inputs).at("y"), expected);
    EXPECT_LE(difference.difference, 2e-6 * difference.largest);
  }
}

TEST(NarrowWeights, SessionsOfSeveralThreadsPackAtOnce) {
  const OpenedModel opened(kNarrowGraph, AsWritten());
  const Graph graph = ParseGraph(kNarrowGraph);
  const auto inputs = RandomInputs(graph, 8);
  const auto expected = Evaluate(graph, inputs);
  std::vector<std::map<std::string, TensorData>> got(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] {
      SessionOptions options;
      options.threads = 1;
      options.backend = i % 4 == 3 ? Backend::kReference : Backend::kPlanned;
      got[i] = RunSession(*Session::Create(*opened.model, options).value(), inputs);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& outputs : got) {
    for (const auto& [name, output] : outputs) {
      const Difference difference = Compare(output, expected.at(name));
      EXPECT_LE(difference.difference, 2e-6 * difference.largest) << name;
    }
  }
}

TEST(NarrowWeights, PlansShareThem) {
  ConvertOptions options;
  options.buckets = {{{"n", 1}}, {{"n", 4}}};
  const OpenedModel opened(R"(graph g {
    symbol n: 1..8
    input x: f32[n, 64]
    const half: f16[64, 64] = seed 3
    const codes: i8[64, 64] {scale=0.01} = seed 4
    w = Cast(half) {to=f32}
    numbers = Dequantize(codes)
    m = Mul(w, numbers)
    y = MatMul(x, m)
    z = Add(y, x)
    output z
  })",
                           options);
  EXPECT_EQ(opened.model->plan_count(0), 3);
  EXPECT_EQ(opened.model->data().wide_weights.most_bytes(), 2u * 64 * 64 * sizeof(float));
  EXPECT_EQ(Find(*opened.model, "numbers", 0).tensor->view.data,
            Find(*opened.model, "numbers", 1).tensor->view.data);
}

/// The same integers with other scales are other weights: neither their memory nor what delegates pack of
/// them is shared.
TEST(NarrowWeights, EqualIntegersOfOtherScalesAreNotMixedUp) {
  const char* const text = R"(graph g {
    input x: f32[2, 64]
    const a: u8[64, 64] {scale=0.01, zero_point=3} = seed 4
    const b: u8[64, 64] {scale=0.02, zero_point=3} = seed 4
    const c: u8[64, 64] {scale=0.02, zero_point=3} = seed 4
    p = Dequantize(a)
    q = Dequantize(b)
    r = Dequantize(c)
    y = FullyConnected(x, p, _)
    z = FullyConnected(x, q, _)
    v = FullyConnected(x, r, _)
    output y
    output z
    output v
  })";
  ConvertOptions options;
  options.pipeline.disabled = {"eliminate-common-subexpressions"};
  const OpenedModel opened(text, options);
  EXPECT_EQ(opened.model->data().wide_weights.most_bytes(), 2u * 64 * 64 * sizeof(float));
  EXPECT_EQ(opened.model->weights_bytes(), 2u * 64 * 64);
  const Graph graph = ParseGraph(text);
  const auto inputs = RandomInputs(graph, 6);
  const auto expected = Evaluate(graph, inputs);
  for (const auto& [name, got] : RunSession(*Session::Create(*opened.model, {}).value(), inputs)) {
    const Difference difference = Compare(got, expected.at(name));
    EXPECT_LE(difference.difference, 2e-6 * difference.largest) << name;
  }
}

/// Integers that are read as they are, and as numbers elsewhere, lie in the file once.
TEST(NarrowWeights, ReadAsIntegersAndAsNumbers) {
  const OpenedModel opened(R"(graph g {
    input x: f32[2, 64]
    const a: i8[64, 64] {scale=0.01} = seed 4
    p = Dequantize(a)
    y = FullyConnected(x, p, _)
    s = Neg(p)
    z = MatMul(x, s)
    output y
    output z
  })");
  EXPECT_EQ(opened.model->weights_bytes(), 64u * 64);
}

/// The same bytes are the weights of windows first, and then of pixels behind codes for each of them.
TEST(NarrowWeights, OtherShapesOfTheSameBytes) {
  const OpenedModel opened(R"(graph g {
    input a: f32[1, 4, 4, 16]
    input x: f32[1, 4, 4, 144]
    const q1: i8[64, 3, 3, 16] {scale=0.02} = seed 5
    const q2: i8[64, 1, 1, 144] {scale=0.02} = seed 5
    w1 = Dequantize(q1)
    w2 = Dequantize(q2)
    y1 = Conv2d(a, w1) {pads=[1, 1, 1, 1]}
    c = FakeQuantize(x) {axis=-1}
    y2 = Conv2d(c, w2)
    output y1
    output y2
  })");
  std::map<std::string, TensorData> outputs[2];
  for (const bool planned : {false, true}) {
    SessionOptions options;
    options.backend = planned ? Backend::kPlanned : Backend::kReference;
    const auto session = std::move(Session::Create(*opened.model, options).value());
    const std::map<std::string, TensorData> inputs = {{"a", RandomTensor(DType::kF32, {1, 4, 4, 16}, 1)},
                                                      {"x", RandomTensor(DType::kF32, {1, 4, 4, 144}, 2)}};
    outputs[planned] = RunSession(*session, inputs);
  }
  for (const char* name : {"y1", "y2"})
    EXPECT_LE(Compare(outputs[1].at(name), outputs[0].at(name)).difference, 1e-4) << name;
}

/// Kernels that copy their weights need them as wide as those that pack them.
TEST(NarrowWeights, OfOneTap) {
  const OpenedModel opened(R"(graph g {
    input x: f32[1, 2, 3, 1100]
    const q: i8[1100, 1, 1, 1] {scale=0.02} = seed 5
    w = Dequantize(q)
    y = Conv2d(x, w) {groups=1100}
    output y
  })");
  const TensorData x = RandomTensor(DType::kF32, {1, 2, 3, 1100}, 1);
  std::vector<TensorData> results;
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    const auto session = std::move(Session::Create(*opened.model, options).value());
    results.push_back(RunSession(*session, {{"x", x}}).at("y"));
  }
  EXPECT_LE(Compare(results[1], results[0]).difference, 1e-6);
}

/// An odd number of i4 has the bytes of as many and a 0: two blobs, which widen to different numbers.
TEST(NarrowWeights, OddNumbersOfHalfBytesHaveTheirOwnBlob) {
  std::string numbers;
  for (int i = 0; i < 2047; ++i) numbers += fmt::format("{}, ", i % 13 - 6);
  const OpenedModel opened(
      "graph g { input x: f32[1, 2047]  input z: f32[1, 2048]\n" +
      fmt::format("const a: i4[1, 2047] {{scale=0.5, zero_point=3}} = [{}]\n",
                  numbers.substr(0, numbers.size() - 2)) +
      fmt::format("const b: i4[1, 2048] {{scale=0.5, zero_point=3}} = [{}0]\n", numbers) +
      "p = Dequantize(a)  q = Dequantize(b)\n"
      "y = FullyConnected(x, p)  w = FullyConnected(z, q)  output y  output w }");
  const auto session = std::move(Session::Create(*opened.model).value());
  std::vector<float> last(2048);
  last.back() = 1;
  const auto outputs = RunSession(*session, {{"x", RandomTensor(DType::kF32, {1, 2047}, 1)},
                                             {"z", TensorData(DType::kF32, {1, 2048}, last.data())}});
  EXPECT_EQ(outputs.at("w").as<float>()[0], -1.5f);
}

}  // namespace
}  // namespace skiff::testing
