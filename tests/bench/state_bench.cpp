// What a token costs against the length of the caches that it is written into: updated where they lie, and
// copied. README.md explains the figures.
#include <fmt/format.h>

#include <cstring>

#include "graph/must.h"
#include "tests/bench/measure.h"
#include "tests/support/state_nets.h"
#include "tests/support/tiny_models.h"

namespace skiff::bench {
namespace {

constexpr int kHeads = 8;
constexpr int kWidth = 64;
constexpr int kLayers = 4;
constexpr int kWarmup = 20;

struct Net {
  std::string text;
  std::vector<StatePair> states;
};

/// A token's row goes to both caches of each layer. With attention, each layer reads its caches as a decoder
/// does; else one row of them, so that what is left is the cost of the update.
Net CacheNet(int length, bool attention) {
  Net net;
  const std::string cache = fmt::format("f32[1, {}, {}, {}]", kHeads, length, kWidth);
  net.text =
      fmt::format("graph caches {{\n  input at: i64[1]\n  input row: f32[1, {}, 1, {}]\n", kHeads, kWidth);
  std::string outputs;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (const char* kind : {"keys", "values"}) {
      net.text += fmt::format("  input {}{}: {}\n", kind, layer, cache);
      outputs += fmt::format("  output next_{}{}\n", kind, layer);
      net.states.push_back({fmt::format("{}{}", kind, layer), fmt::format("next_{}{}", kind, layer)});
    }
  }
  net.text += fmt::format("  const one: i64[4] = [1, 1, 1, 1]\n  const rows: i64[4] = [1, {}, 1, {}]\n",
                          kHeads, kWidth);
  net.text += "  column = Reshape(at, one)\n  places = Expand(column, rows)\n  x0 = Tanh(row)\n";
  for (int layer = 0; layer < kLayers; ++layer) {
    for (const char* kind : {"keys", "values"})
      net.text +=
          fmt::format("  next_{0}{1} = ScatterElements({0}{1}, places, x{1}) {{axis=2}}\n", kind, layer);
    net.text += attention ? fmt::format(
                                "  likeness{0} = MatMul(x{0}, next_keys{0}) {{transpose_b=true}}\n"
                                "  share{0} = Softmax(likeness{0}) {{axis=3}}\n"
                                "  mixed{0} = MatMul(share{0}, next_values{0})\n",
                                layer)
                          : fmt::format(
                                "  one_key{0} = Gather(next_keys{0}, at) {{axis=2}}\n"
                                "  one_value{0} = Gather(next_values{0}, at) {{axis=2}}\n"
                                "  mixed{0} = Mul(one_key{0}, one_value{0})\n",
                                layer);
    net.text += fmt::format("  x{} = Tanh(mixed{})\n", layer + 1, layer);
  }
  net.text += fmt::format("  output x{}\n{}}}\n", kLayers, outputs);
  return net;
}

/// A net, and its Session.
class Decoder {
 public:
  Decoder(const Net& net, bool copy, int length)
      : opened_(testing::WithStates(net.text, net.states), Options(copy)), length_(length) {
    SessionOptions options;
    options.threads = 1;
    session_ = Must([&] { return Session::Create(*opened_.model, options); });
    at_ = Must([&] { return session_->InputBuffer(0); });
    const TensorView row = Must([&] { return session_->InputBuffer(1); });
    for (int64_t i = 0; i < row.shape.elements(); ++i)
      row.as<float>()[i] = 0.01f * static_cast<float>(i % 97);
    *at_.as<int64_t>() = 0;
  }

  void Step() {
    *at_.as<int64_t>() = (*at_.as<int64_t>() + 1) % length_;
    Must([&] { return session_->Run(); });
  }
  const Session& session() const { return *session_; }

 private:
  static ConvertOptions Options(bool copy) {
    ConvertOptions options;
    options.copy_state = copy;
    return options;
  }

  testing::OpenedModel opened_;
  std::unique_ptr<Session> session_;
  TensorView at_;
  int64_t length_;
};

void Measure(bool attention, int pairs) {
  fmt::print("{}: {} layers, {} heads of {}, one thread\n",
             attention ? "attention over the caches" : "one row is read", kLayers, kHeads, kWidth);
  fmt::print("  length   caches    in place   copied    copied / in place         arena in place, copied\n");
  for (int length = 64; length <= 4096; length *= 2) {
    const Net net = CacheNet(length, attention);
    Decoder in_place(net, false, length);
    Decoder copying(net, true, length);
    Pairs times;
    MeasurePairs(
        pairs, kWarmup, [&] { in_place.Step(); }, [&] { copying.Step(); }, [] {}, times);
    Pairs ratios{times.b, times.a};
    const Estimate ratio = RatioOf(ratios);
    fmt::print(
        "  {:6}  {:6.2f} MB  {:8.1f} us  {:8.1f} us  {:6.2f} [{:.2f}, {:.2f}]  {:9.3f} MB  {:9.3f} MB\n",
        length, static_cast<double>(in_place.session().memory_usage().variables) / 1e6, Median(times.a) / 1e3,
        Median(times.b) / 1e3, ratio.median, ratio.low, ratio.high,
        static_cast<double>(in_place.session().memory_usage().arena) / 1e6,
        static_cast<double>(copying.session().memory_usage().arena) / 1e6);
  }
}

}  // namespace
}  // namespace skiff::bench

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 200;
  if (pairs < 1) {
    std::fprintf(stderr, "usage: %s [PAIRS]\n", argv[0]);
    return 2;
  }
  try {
    skiff::bench::Measure(false, pairs);
    skiff::bench::Measure(true, pairs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
