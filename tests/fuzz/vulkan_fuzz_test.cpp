// The GPU computes what eager mode computes: random graphs at several sizes, in two Sessions that take turns,
// with whatever makes a segment's memory and command buffers differ: staging, shaders that are out of use, so
// that reference kernels run between command buffers, few or many kept shapes, f16 storage. Device memory
// that nobody has written is full of NaN, and the validation layer listens.
#include <gtest/gtest.h>

#include <cstring>

#include "core/error_capture.h"
#include "delegates/vulkan/delegate.h"
#include "delegates/vulkan/device/device.h"
#include "delegates/vulkan/pipelines/shader_code.h"
#include "ops/op_codes.h"
#include "skiff/delegates.h"
#include "tests/fuzz/open_shapes_check.h"
#include "tests/fuzz/seeds.h"
#ifdef SKIFF_WITH_XNNPACK
#include "delegates/xnnpack/delegate.h"
#endif

namespace skiff::testing {
namespace {

/// Of sums, exponentials and quotients, and of one rounding to 11 bits.
constexpr double kInexact = 4e-6;
constexpr double kInexactInHalf = 2e-3;

constexpr const char* kFamilies[] = {
#define SHADER(Name, file) #file,
#include "delegates/vulkan/pipelines/shaders.def"
#undef SHADER
};

/// A delegate with options of its own.
class Setup {
 public:
  explicit Setup(RandomOpenGraph& random) {
    const auto chance = [&](uint32_t percent) { return random.random()() % 100 < percent; };
    options_.validation = true;
    options_.force_staging = chance(50);
    // So small that larger tensors are out of the shaders' reach: which nodes fall back depends on the sizes.
    if (chance(25)) options_.limits = {512u << random.random()() % 4, 3, 64};
    if (chance(25) && FitsHalf(random.graph())) options_.precision = VulkanPrecision::kF16Storage;
    if (chance(50)) {
      for (const char* family : kFamilies) {
        if (chance(15)) quarantine_ += std::string(quarantine_.empty() ? "" : ",") + family;
      }
    }
    if (!quarantine_.empty()) options_.quarantine = quarantine_.c_str();
    delegate_ = std::make_unique<VulkanDelegate>(options_);
    delegates_[0] = delegate_.get();
  }

  Span<const Delegate* const> delegates() const { return {delegates_, std::size(delegates_)}; }
  bool f16() const { return options_.precision != VulkanPrecision::kF32; }
  double inexact() const { return f16() ? kInexactInHalf : kInexact; }
  std::string Text() const {
    return fmt::format("{} {} range={} quarantine={}\n", f16() ? "f16" : "f32",
                       options_.force_staging ? "staged" : "mapped", options_.limits.buffer_range,
                       quarantine_);
  }

 private:
  /// All numbers are exact in f16, except the quarters of an average.
  static bool FitsHalf(const Graph& graph) {
    for (const NodeId id : graph.TopologicalOrder()) {
      if (graph.node(id).op == OpCode::kAveragePool2d) return false;
    }
    return true;
  }

  VulkanOptions options_;
  std::string quarantine_;
  std::unique_ptr<VulkanDelegate> delegate_;
  const Delegate* delegates_[2] = {
      nullptr,
#ifdef SKIFF_WITH_XNNPACK
      &BuiltinXnnpackDelegate(),
#else
      &ReferenceDelegate(),
#endif
  };
};

struct Figures {
  int on_gpu = 0;  ///< Nodes.
  int fell_back = 0;
  int crossings = 0;  ///< From a shader to a kernel of the host or back, in a run.
};

void Count(const Session& session, Figures& figures) {
  bool before = false;
  for (int i = 0; i < session.node_count(); ++i) {
    const NodeInfo node = session.node(i);
    if (node.shape_program) continue;
    const bool gpu = node.delegate == DelegateKind::kVulkan && !node.fell_back;
    figures.on_gpu += gpu ? 1 : 0;
    figures.fell_back += node.fell_back ? 1 : 0;
    figures.crossings += i > 0 && gpu != before ? 1 : 0;
    before = gpu;
  }
}

/// The same bits, of Sessions and of runs.
void CheckSameBits(const Tensors& got, const Tensors& first) {
  for (const auto& [name, data] : first) {
    const TensorData& other = got.at(name);
    if (!(other.shape() == data.shape()) || std::memcmp(other.data(), data.data(), data.size_bytes()) != 0)
      Throw(StatusCode::kInternal, "{} has other bits in another run", name);
  }
}

void RunAll(RandomOpenGraph& random, Model& model, const Setup& setup, const std::vector<size_t>& order,
            Figures& figures) {
  SessionOptions options;
  options.target = Target::kVulkan;
  options.fall_back = false;
  options.threads = 1;
  options.poison = true;
  std::unique_ptr<Session> sessions[2];
  for (auto& session : sessions) {
    options.kept_shapes = 1 + static_cast<int>(random.random()() % 3);
    session = MustCreate(model, options);
  }
  for (const size_t at : order) {
    Tensors first;
    for (const int turn : {0, 1, 0}) {
      try {
        Tensors got = RunSession(*sessions[turn], random.inputs(at));
        CheckSame(random, got, random.Expected(at), setup.inexact());
        if (first.empty())
          first = std::move(got);
        else
          CheckSameBits(got, first);
      } catch (const Error& error) {
        Throw(error.code(), "session {}, size {}: {}", turn, at, error.what());
      }
    }
  }
  Count(*sessions[0], figures);
}

void CheckSeed(uint32_t seed, std::string& text, Figures& figures) {
  RandomOpenGraph random(seed);
  text += random.Text();
  ConvertOptions options;
  options.targets = {Target::kVulkan};
  if (seed % 4 == 0) options.pipeline.disabled = AnyPasses(random);
  for (const std::string& pass : options.pipeline.disabled) text += "without " + pass + "\n";
  const Setup setup(random);
  text += setup.Text();
  const uint64_t messages = vulkan::ValidationMessages();
  const bool exact = seed % 3 == 0;
  Graph graph = exact ? AtFirstSize(random, options) : random.graph();
  const auto converted = ConvertGraph(std::move(graph), options);
  OpenedPlans opened(*converted, setup.delegates());
  RunAll(random, *opened.model, setup, exact ? std::vector<size_t>{0, 0} : AnyOrder(random), figures);
  if (vulkan::ValidationMessages() != messages)
    Throw(StatusCode::kInternal, "the validation layer had something to say");
}

TEST(VulkanFuzz, ShadersComputeWhatEagerModeComputes) {
  VulkanOptions options;
  options.validation = true;
  const auto find = [&] {
    ErrorCapture quiet;
    return vulkan::Device::Get(options);
  };
  const auto device = find();  // Kept, so that pipelines are made once.
  if (!device.ok()) GTEST_SKIP() << "there is no Vulkan device here";
  Figures figures;
  const bool whole =
      CheckSeeds(300, [&](uint32_t seed, std::string& text) { CheckSeed(seed, text, figures); });
  std::printf("%d nodes on the GPU, %d fell back; %d crossings\n", figures.on_gpu, figures.fell_back,
              figures.crossings);
  if (!whole) return;
  EXPECT_GT(figures.on_gpu, 1000);
  EXPECT_GT(figures.fell_back, 100);
  EXPECT_GT(figures.crossings, 300);
}

}  // namespace
}  // namespace skiff::testing
