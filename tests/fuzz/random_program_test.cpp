// The same C++ code gives the same numbers in every mode: random programs run eagerly, traced and compiled,
// saved and loaded, and by the reference kernels without any optional pass, where not one bit may differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error_capture.h"
#include "graph/error.h"
#include "skiff/delegates.h"
#include "skiff/session.h"
#include "tests/fuzz/random_program.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/tiny_models.h"
#include "tests/support/vulkan.h"
#include "trace/function.h"
#include "trace/save.h"

namespace skiff::eager {
namespace {

/// Of a whole net's largest number (docs/numerics.md).
constexpr double kTolerance = 2e-5;

struct Figures {
  int outputs = 0;
  int with_nan = 0;
  int open = 0;    ///< Programs whose inputs vary and whose trace has an open extent.
  int closed = 0;  ///< Programs whose inputs vary, and whose code needs a number.
  int branching = 0;
  int looping = 0;
  int collecting = 0;  ///< A loop variable that grows.
};

bool HasNan(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) return false;
  const float* data = tensor.as<float>();
  return std::any_of(data, data + tensor.elements(), [](float x) { return std::isnan(x); });
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data().data(), b.data().data(), static_cast<size_t>(a.data().view().bytes())) == 0;
}

/// What is wrong with `got`; "" when nothing is.
std::string Difference(const Tensor& got, const Tensor& expected, double allowed) {
  if (got.dtype() != expected.dtype() || !(got.shape() == expected.shape()))
    return fmt::format("is {}, not {}", got.TypeText(), expected.TypeText());
  if (got.dtype() != DType::kF32) return SameBits(got, expected) ? "" : "differs";
  double largest = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.as<float>()[i], b = expected.as<float>()[i];
    if (std::isnan(a) != std::isnan(b)) return fmt::format("element {} is {}, not {}", i, a, b);
    if (!std::isnan(a)) largest = std::max(largest, std::fabs(a - b));
  }
  return largest <= allowed ? "" : fmt::format("differs by {}; {} is allowed", largest, allowed);
}

/// All optional passes off, by the reference kernels.
FunctionOptions PlainOptions() {
  FunctionOptions options;
  for (const Pass& pass : Pipeline()) {
    if (!pass.required) options.pipeline.disabled.insert(pass.name);
  }
  options.backend = Backend::kReference;
  return options;
}

using ProgramFunction = Function<Tensors(const Tensors&)>;

ProgramFunction FunctionOf(const RandomProgram& program, FunctionOptions options) {
  options.retrace_warning = 0;
  options.threads = 1;
  return ProgramFunction([&program](const Tensors& inputs) { return program(inputs); }, std::move(options));
}

bool HasOpenTrace(const ProgramFunction& function) {
  for (const auto& concrete : function.ConcreteFunctions()) {
    for (const TensorSpec& argument : concrete->arguments()) {
      if (std::any_of(argument.dims.begin(), argument.dims.end(),
                      [](const DimSpec& dim) { return dim.open(); }))
        return true;
    }
  }
  return false;
}

using Expected = std::array<Tensors, kInputSets>;

/// A file of one signature per set of inputs, run by the device's runtime.
class SavedProgram {
 public:
  SavedProgram(const RandomProgram& program, const ProgramFunction& function) : program_(program) {
    std::vector<SavedSignature> signatures;
    for (const std::string& name : SignatureNames()) {
      std::vector<std::string> types;
      for (const Tensor& input : program.inputs(signatures.size())) types.push_back(SpecOf(input).Text());
      signatures.push_back({name, function.Concrete(types)});
    }
    file_ = std::make_unique<skiff::testing::AlignedBytes>(SerializeFunctions(signatures));
    ErrorCapture capture;
    auto model = Model::Open(file_->span(), {BuiltinDelegates()});
    if (!model.ok()) Throw(model.status().code(), "{}", capture.message());
    model_ = std::move(model.value());
    for (const std::string& name : SignatureNames()) {
      SessionOptions options;
      options.signature = name.c_str();
      options.threads = 1;
      auto session = Session::Create(*model_, options);
      if (!session.ok()) Throw(session.status().code(), "{}", capture.message());
      sessions_.push_back(std::move(session.value()));
    }
  }

  Tensors Run(size_t set) {
    const Tensors& inputs = program_.inputs(set);
    Session& session = *sessions_[set];
    ErrorCapture capture;
    Status status;
    for (size_t i = 0; i < inputs.size() && status.ok(); ++i)
      status = session.SetInput(static_cast<int>(i), inputs[i].data().view());
    if (status.ok()) status = session.Run();
    if (!status.ok()) Throw(status.code(), "{}", capture.message());
    Tensors results;
    for (size_t i = 0; i < program_.output_count(); ++i) {
      const TensorView view = session.Output(static_cast<int>(i)).value();
      results.emplace_back(TensorData(view.dtype, view.shape, view.data));
    }
    return results;
  }

 private:
  static std::vector<std::string> SignatureNames() { return {"first", "second"}; }

  const RandomProgram& program_;
  std::unique_ptr<skiff::testing::AlignedBytes> file_;
  std::unique_ptr<Model> model_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

/// Throws Error where a call with one of the sets, first, again, or after the other one, is not as expected.
void CheckCalls(const RandomProgram& program, const std::function<Tensors(size_t set)>& call,
                const Expected& expected, const char* mode, bool same_bits = false) {
  for (const size_t set : {0, 1, 0, 0, 1}) {
    try {
      const Tensors got = call(set);
      for (size_t i = 0; i < got.size(); ++i) {
        const double allowed = program.IsExact(i) ? 0 : kTolerance * std::max(program.Scale(set), 1.0);
        std::string wrong = Difference(got[i], expected[set][i], allowed);
        if (wrong.empty() && same_bits && !SameBits(got[i], expected[set][i])) wrong = "differs in its bits";
        if (!wrong.empty()) Throw(StatusCode::kInternal, "result {} {}", i, wrong);
      }
    } catch (const Error& error) {
      Throw(error.code(), "{}, with inputs {}: {}", mode, set, error.what());
    }
  }
}

Expected Evaluate(const RandomProgram& program, Figures& figures) {
  Expected expected;
  for (size_t set = 0; set < kInputSets; ++set) {
    expected[set] = program(program.inputs(set));
    for (const Tensor& output : expected[set]) {
      ++figures.outputs;
      figures.with_nan += HasNan(output) ? 1 : 0;
    }
  }
  return expected;
}

void CheckFunction(const RandomProgram& program, const Expected& expected, const ProgramFunction& function,
                   const char* mode, bool same_bits = false) {
  CheckCalls(
      program, [&](size_t set) { return function(program.inputs(set)); }, expected, mode, same_bits);
}

/// Throws Error where a mode computes something else than the program itself.
void CheckProgram(const RandomProgram& program, Figures& figures) {
  const Expected expected = Evaluate(program, figures);
  const ProgramFunction compiled = FunctionOf(program, {});
  CheckFunction(program, expected, compiled, "compiled");
  CheckFunction(program, expected, FunctionOf(program, PlainOptions()), "reference without passes", true);
  SavedProgram saved(program, FunctionOf(program, {}));
  CheckCalls(
      program, [&](size_t set) { return saved.Run(set); }, expected, "saved and loaded");
  figures.branching += program.Has("Cond") ? 1 : 0;
  figures.looping += program.Has("While") ? 1 : 0;
  figures.collecting += program.Has("WhileCollecting") ? 1 : 0;
  if (!program.open()) return;
  if (!HasOpenTrace(compiled)) {
    ++figures.closed;
    return;
  }
  ++figures.open;
  CheckFunction(program, expected, FunctionOf(program, {.input_signature = program.signature()}),
                "with an input_signature");
}

void CheckOnTheGpu(const RandomProgram& program, Figures& figures) {
  const uint64_t messages = skiff::testing::VulkanMessages();
  const ProgramFunction function = FunctionOf(program, {.target = Target::kVulkan});
  CheckFunction(program, Evaluate(program, figures), function, "on the GPU");
  for (const auto& concrete : function.ConcreteFunctions()) {
    if (concrete->session()->target() != Target::kVulkan)
      Throw(StatusCode::kInternal, "the cpu plan ran instead of the GPU's");
  }
  if (skiff::testing::VulkanMessages() != messages)
    Throw(StatusCode::kInternal, "the validation layer had something to say");
}

/// Under a sanitizer a program takes ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint32_t kPrograms = 100;
constexpr uint32_t kGpuPrograms = 20;
#else
constexpr uint32_t kPrograms = 2000;
constexpr uint32_t kGpuPrograms = 150;
#endif

/// True where all programs were right and none was named (SKIFF_FUZZ_SEED).
bool CheckPrograms(uint32_t count, void (*check)(const RandomProgram&, Figures&), Figures& figures) {
  return skiff::testing::CheckSeeds(count, [&](uint32_t seed, std::string& text) {
    const RandomProgram program(seed);
    text += program.Text();
    check(program, figures);
  });
}

TEST(RandomProgram, GivesTheSameNumbersInEveryMode) {
  Figures figures;
  const bool whole = CheckPrograms(kPrograms, CheckProgram, figures);
  std::printf(
      "%d programs branch, %d loop, %d with a variable that grows, %d work at every size, %d need a trace "
      "per size; %d of %d outputs hold "
      "NaN\n",
      figures.branching, figures.looping, figures.collecting, figures.open, figures.closed, figures.with_nan,
      figures.outputs);
  if (!whole) return;
  EXPECT_LT(figures.with_nan, 0.05 * figures.outputs);
  EXPECT_GT(figures.branching, static_cast<int>(kPrograms / 5));
  EXPECT_GT(figures.looping, static_cast<int>(kPrograms / 5));
  EXPECT_GT(figures.collecting, static_cast<int>(kPrograms / 20));
  EXPECT_GT(figures.open, static_cast<int>(kPrograms / 5));
  EXPECT_LT(figures.closed, figures.open);
}

TEST(RandomProgram, GivesTheSameNumbersOnTheGpu) {
  if (!skiff::testing::HasVulkan()) GTEST_SKIP() << "there is no Vulkan device here";
  Figures figures;
  CheckPrograms(kGpuPrograms, CheckOnTheGpu, figures);
}

}  // namespace
}  // namespace skiff::eager
