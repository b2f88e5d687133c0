#include "tests/fuzz/use_model.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/attrs.h"
#include "skiff/image.h"
#include "skiff/labels.h"
#include "tests/fuzz/misuse_session.h"
#include "tests/fuzz/run_for_a_while.h"
#include "tests/support/vulkan.h"

namespace skiff::testing {
namespace {

constexpr int kMostSignatures = 3;
constexpr int kMostPlans = 4;
constexpr int kShapesOfPlan = 2;
constexpr int64_t kLargestSize = 64;
constexpr int64_t kMostElements = 1 << 16;  // A window of a pool may reach over all of them, from each.
constexpr size_t kReadableBehind = 16;      // What BindInput() asks for.
constexpr uint64_t kMemoryLimit = uint64_t{24} << 20;
constexpr uint64_t kLoopLimit = 1 << 12;

struct Free {
  size_t mapped = 0;  ///< 0: of the heap.
  void operator()(uint8_t* memory) const {
    if (mapped == 0) std::free(memory);
    if (mapped != 0 && munmap(memory, mapped) != 0) std::abort();
  }
};
using Bytes = std::unique_ptr<uint8_t, Free>;

/// Aligned for every element, and not a byte longer than asked for: a sanitizer sees what is read behind it.
Bytes Exactly(size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, bytes) != 0) std::abort();
  return Bytes(static_cast<uint8_t*>(memory));
}

/// Whole pages, which can be protected.
Bytes Mapped(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return Bytes(static_cast<uint8_t*>(memory), Free{bytes});
}

/// Small numbers, and as integers indices that are often in range.
void Fill(uint8_t* bytes, size_t count, int round) {
  std::memset(bytes, 0, count);
  for (size_t i = 0; i < count; i += 8) bytes[i] = static_cast<uint8_t>(round % 3);
}

/// The sizes of the Symbols in the first, second, ... call of a plan.
std::vector<int64_t> Sizes(const Model& model, const PlanSummary& plan, int call) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < model.symbols().size(); ++i) {
    const SymbolInfo& symbol = model.symbols()[i];
    int64_t low = symbol.min;
    int64_t high = symbol.max;
    for (const SymbolRange& range : plan.ranges) {
      if (range.symbol == i) {
        low = range.min;
        high = range.max;
      }
    }
    const int64_t multiple = std::clamp<int64_t>(symbol.multiple, 1, kLargestSize);
    low = std::clamp<int64_t>(low, 0, kLargestSize);
    const int64_t first = (low + multiple - 1) / multiple * multiple;
    sizes.push_back(std::min(first + call * multiple, std::max(first, high)));
  }
  return sizes;
}

class User {
 public:
  /// `protects`: what is bound cannot be written, until TurnProtection().
  User(Model& model, Session& session, bool protects)
      : model_(model), session_(session), protects_(protects) {}

  void TurnProtection() { protects_ = !protects_; }
  void Call(const PlanSummary& plan, int call) {
    const std::vector<int64_t> sizes = Sizes(model_, plan, call);
    std::vector<Bytes> bound;
    const int inputs = static_cast<int>(session_.signature().inputs.size());
    bool set = true;
    for (int i = 0; set && i < inputs; ++i) set = Set(i, sizes, call, bound);
    if (!set) return;
    if (!RunForAWhile(session_).ok() && !RunForAWhile(session_).ok()) return;
    for (size_t i = 0; i < session_.signature().outputs.size(); ++i)
      Read(session_.Output(static_cast<int>(i)));
    LookAround();
    if (inputs < 2 || !Set(inputs - 1, Sizes(model_, plan, call + 1), call, bound)) return;
    static_cast<void>(RunForAWhile(session_).ok());  // Where inputs share a Symbol, of two sizes.
    // What is bound ends here: inputs are set again before the next run.
  }

 private:
  bool Set(int index, const std::vector<int64_t>& sizes, int call, std::vector<Bytes>& bound) {
    const PortInfo& port = session_.signature().inputs[static_cast<size_t>(index)];
    Shape shape = port.shape;
    int64_t elements = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int32_t symbol = port.symbols[axis];
      if (shape[axis] < 0) shape[axis] = symbol < 0 ? 1 : sizes[static_cast<size_t>(symbol)];
      if (shape[axis] > kMostElements) return false;
      elements *= shape[axis];
      if (elements > kMostElements) return false;
    }
    const auto bytes = static_cast<size_t>(elements * DTypeSize(port.dtype));
    if (elements > 0) WritePicture(port, shape, bytes);
    switch ((call + index) % 3) {
      case 0: {
        const Bytes copied = Exactly(bytes);
        Fill(copied.get(), bytes, call);
        return session_.SetInput(index, TensorView(copied.get(), port.dtype, shape)).ok();
      }
      case 1: {
        bound.push_back(protects_ ? Mapped(bytes + kReadableBehind) : Exactly(bytes + kReadableBehind));
        Fill(bound.back().get(), bytes + kReadableBehind, call);
        if (protects_ && mprotect(bound.back().get(), bytes + kReadableBehind, PROT_READ) != 0) std::abort();
        return session_.BindInput(index, TensorView(bound.back().get(), port.dtype, shape)).ok();
      }
      default: {
        Result<TensorView> buffer = session_.InputBuffer(index, shape);
        if (buffer.ok()) Fill(buffer.value().as<uint8_t>(), bytes, call);
        return buffer.ok();
      }
    }
  }

  /// The file says how pictures become this input; to memory of its exact size.
  static void WritePicture(const PortInfo& port, const Shape& shape, size_t bytes) {
    constexpr uint32_t kWidth = 3;
    constexpr uint32_t kHeight = 5;
    static const uint8_t kSamples[kWidth * kHeight * 4] = {0, 128, 255};
    Result<std::unique_ptr<ImageInput>> image = ImageInput::Create(port);
    if (!image.ok()) return;
    const Bytes input = Exactly(bytes);
    const TensorView view(input.get(), port.dtype, shape, port.quantization);
    for (const PixelFormat format : {PixelFormat::kGrey8, PixelFormat::kRgb8, PixelFormat::kRgba8})
      static_cast<void>((*image)->Write({kSamples, kWidth, kHeight, format}, view).ok());
  }

  /// What tools ask for after a run.
  void LookAround() {
    for (const PortInfo& port : session_.signature().outputs) {
      const Result<TensorView> output = session_.Output(port.name);
      Read(output);
      ClassScore best[3];
      if (!output.ok()) continue;
      const Result<size_t> count = BestClasses(port, output.value(), {best, 3}, ScoreKind::kSoftmax);
      for (size_t i = 0; count.ok() && i < count.value(); ++i) Read(best[i].label);
      Ints perm;
      Read(session_.Tap(port.name, &perm));
    }
    for (int i = 0; i < session_.node_count(); ++i) Read(session_.Tap(session_.node(i).name));
    for (int i = 0; i < session_.inner_node_count(); ++i) Read(session_.inner_node(i).name);
    sum_ = sum_ + static_cast<uint8_t>(session_.memory_usage().arena);
    Read(model_.producer());
    Read(TargetName(session_.target()));
    for (const VariableInfo& variable : model_.variables()) {
      const Result<TensorView> kept = session_.variables().Get(variable.name);
      Read(kept);
      if (kept.ok()) static_cast<void>(session_.variables().Set(variable.name, variable.initial).ok());
    }
  }

  void Read(const char* text) {
    for (; *text != 0; ++text) sum_ = sum_ + static_cast<uint8_t>(*text);
  }
  void Read(const Result<TensorView>& tensor) {
    if (!tensor.ok()) return;
    const TensorView& view = tensor.value();
    const int64_t width = view.shape.rank() == 0 ? 1 : view.shape.last();
    const int64_t rows = width == 0 ? 0 : view.shape.elements() / width;
    const int64_t stride = view.row_stride == 0 ? width : view.row_stride;
    const int64_t size = DTypeSize(view.dtype);
    for (int64_t row = 0; row < rows; ++row) {
      const uint8_t* elements = view.as<uint8_t>() + row * stride * size;
      for (int64_t i = 0; i < width * size; ++i) sum_ = sum_ + elements[i];
    }
  }

  Model& model_;
  Session& session_;
  bool protects_;
  volatile uint8_t sum_ = 0;  ///< So that reading is not left out.
};

void UseSignature(Model& model, int signature, Backend backend, Target target) {
  SessionOptions options;
  const SignatureInfo info = model.signature(signature);
  options.signature = info.name;
  options.backend = backend;
  options.target = target;
  options.fall_back = false;
  options.threads = 1;
  options.memory_limit = kMemoryLimit;
  options.loop_limit = kLoopLimit;
  options.keep_intermediates = backend == Backend::kReference;
  options.profile = backend == Backend::kPlanned;
  options.poison = backend == Backend::kPlanned;
  Result<std::unique_ptr<Session>> session = Session::Create(model, options);
  if (!session.ok()) return;
  static_cast<void>((*session)->Run().ok());  // Inputs that were never set.
  MisuseSession(model, **session);
  // By chance at first, then the other way: a sanitizer sees no end of what is protected.
  User user(model, **session, target == Target::kVulkan || model.file_bytes() / 64 % 2 == 0);
  int call = 0;
  for (int plan = 0; plan < std::min(kMostPlans, model.plan_count(signature)); ++plan) {
    for (int shape = 0; shape < kShapesOfPlan; ++shape) user.Call(model.plan(signature, plan), call++);
  }
  (*session)->variables().Reset();
  user.TurnProtection();
  for (const int again : {0, 1}) user.Call(model.plan(signature, 0), again);
}

bool UsesVulkan() {
  if (std::getenv("SKIFF_FUZZ_VULKAN") == nullptr) return false;
  if (!HasVulkan()) std::puts("SKIPPED: there is no Vulkan device here");
  return HasVulkan();
}

}  // namespace

void UseModel(Model& model) {
  static const bool on_gpu = UsesVulkan();
  MisuseOptions(model);
  for (int signature = 0; signature < std::min(kMostSignatures, model.signature_count()); ++signature) {
    if (model.plan_count(signature) == 0) continue;
    UseSignature(model, signature, Backend::kReference, Target::kCpu);
    UseSignature(model, signature, Backend::kPlanned, Target::kCpu);
    if (on_gpu) UseSignature(model, signature, Backend::kPlanned, Target::kVulkan);
  }
}

}  // namespace skiff::testing
