#include "eager/quantized.h"

#include <cmath>

#include "core/align.h"
#include "core/code_range.h"
#include "eager/kernels/dispatch.h"
#include "ops/build_ops.h"
#include "ops/quantized.h"

namespace skiff::eager {
namespace {

/// Operators that move elements have more; none of them comes here.
constexpr size_t kMostOperands = 8;
constexpr int64_t kCodes = 256;
constexpr size_t kBias = 2;

bool StandsForReal(const TensorView& view) { return view.quantization != nullptr || IsFloat(view.dtype); }

/// What decides a shape (the scales of a Resize2d) is plain numbers.
bool IsRealInput(const KernelArgs& args, size_t i) {
  const TensorView& view = args.inputs[i];
  return view.dtype != DType::kInvalid && StandsForReal(view) && !FindOp(args.op)->NeedsValues(i);
}

/// Elements [first, first + count) as integers, of any dtype that can be quantised.
void LoadIntegers(const TensorView& view, int64_t first, int64_t count, int64_t* lanes) {
  if (DTypeBits(view.dtype) != 4) return Loader<int64_t>(view.dtype)(view.data, first, 1, count, lanes);
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t byte = view.as<const uint8_t>()[(first + i) / 2];
    const int code = (first + i) % 2 == 0 ? byte & 15 : byte >> 4;
    lanes[i] = view.dtype == DType::kI4 && code > 7 ? code - 16 : code;
  }
}

/// What the kernel computes on, and by what its results are multiplied to be real numbers.
struct Units {
  bool integers = false;                   ///< Inputs come less their zero points and without their scales.
  double shared = 1;                       ///< What all scales that stand outside have in common.
  const Quantization* channels = nullptr;  ///< Scales by the output's last axis, beside the shared one.

  double At(int64_t channel) const {
    return channels == nullptr ? shared : shared * static_cast<double>(channels->ScaleAt(channel));
  }
};

/// The axis of the weights that becomes the output's last one.
int ChannelAxis(const KernelArgs& args) {
  if (args.op != OpCode::kMatMul) return 0;
  const int rank = args.inputs[1].shape.rank();
  return rank - (args.As<MatMulAttrs>().transpose_b ? 2 : 1);
}

Units UnitsOfProduct(const KernelArgs& args) {
  const Quantization* x = args.inputs[0].quantization;
  const Quantization* w = args.inputs[1].quantization;
  if (x == nullptr || w == nullptr || !x->per_tensor()) return {};
  if (w->per_tensor()) return {true, static_cast<double>(x->scale) * static_cast<double>(w->scale), nullptr};
  const bool by_channel = w->block == 0 && w->axis == ChannelAxis(args) && args.inputs[1].shape.rank() > 1;
  return by_channel ? Units{true, static_cast<double>(x->scale), w} : Units{};
}

/// One scale stands outside of an operator that is linear in all of its real operands together.
Units UnitsOfLinear(const KernelArgs& args) {
  const Quantization* first = args.inputs[0].quantization;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    if (!IsRealInput(args, i)) continue;
    const Quantization* quantization = args.inputs[i].quantization;
    if (quantization == nullptr || !quantization->per_tensor() || quantization->scale != first->scale)
      return {};
  }
  return {true, static_cast<double>(first->scale), nullptr};
}

Units UnitsOf(const KernelArgs& args) {
  switch (QuantizedUseOf(args.op)) {
    case QuantizedUse::kProducts:
      return UnitsOfProduct(args);
    case QuantizedUse::kLinear:
      return args.inputs[0].quantization == nullptr ? Units{} : UnitsOfLinear(args);
    default:
      return {};
  }
}

/// A float view as doubles.
void WidenFloats(const TensorView& view, double* to) {
  Loader<double>(view.dtype)(view.data, 0, 1, view.shape.elements(), to);
}

/// A quantised view: real numbers, or the integers less their zero points.
void WidenQuantized(const TensorView& view, bool integers, double* to) {
  const Quantization& quantization = *view.quantization;
  const ScaleIndex scale_of(quantization, view.shape);
  int64_t lanes[kChunk];
  const int64_t elements = view.shape.elements();
  for (int64_t i = 0; i < elements; i += kChunk) {
    const int64_t count = elements - i < kChunk ? elements - i : kChunk;
    LoadIntegers(view, i, count, lanes);
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at = scale_of(i + j);
      const auto steps = static_cast<double>(lanes[j] - quantization.ZeroPointAt(at));
      to[i + j] = integers ? steps : steps * static_cast<double>(quantization.ScaleAt(at));
    }
  }
}

/// In units of the products. An i32 bias whose scale is theirs, rounded to a float, is meant to be theirs.
void WidenBias(const TensorView& view, const Units& units, double* to) {
  const int64_t elements = view.shape.elements();
  if (view.quantization == nullptr) {
    WidenFloats(view, to);
    for (int64_t i = 0; i < elements; ++i) to[i] /= units.At(i);
    return;
  }
  WidenQuantized(view, true, to);
  const ScaleIndex scale_of(*view.quantization, view.shape);
  for (int64_t i = 0; i < elements; ++i) {
    const float scale = view.quantization->ScaleAt(scale_of(i));
    if (scale != static_cast<float>(units.At(i))) to[i] *= static_cast<double>(scale) / units.At(i);
  }
}

void Widen(const KernelArgs& args, size_t i, const Units& units, double* to) {
  const TensorView& view = args.inputs[i];
  const bool bias = units.integers && i == kBias && QuantizedUseOf(args.op) == QuantizedUse::kProducts;
  if (bias) return WidenBias(view, units, to);
  if (view.quantization == nullptr) return WidenFloats(view, to);
  WidenQuantized(view, units.integers, to);
}

/// The kernel's results as elements of the output. `limits` are in real numbers.
void Narrow(const double* from, const Units& units, const LaneClamp<double>& limits, const TensorView& view) {
  const int64_t elements = view.shape.elements();
  const int64_t channels = view.shape.last();
  if (view.quantization == nullptr) {
    double lanes[kChunk];
    for (int64_t i = 0; i < elements; i += kChunk) {
      const int64_t count = elements - i < kChunk ? elements - i : kChunk;
      for (int64_t j = 0; j < count; ++j)
        lanes[j] = limits(units.integers ? from[i + j] * units.At((i + j) % channels) : from[i + j]);
      Storer<double>(view.dtype)(view.data, i, count, lanes);
    }
    return;
  }
  const Quantization& quantization = *view.quantization;
  const ScaleIndex scale_of(quantization, view.shape);
  const CodeRounder round(*CodeRangeOf(view.dtype));
  int64_t lanes[kChunk];
  for (int64_t i = 0; i < elements; i += kChunk) {
    const int64_t count = elements - i < kChunk ? elements - i : kChunk;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at = scale_of(i + j);
      const auto scale = static_cast<double>(quantization.ScaleAt(at));
      const double factor = units.At((i + j) % channels) / scale;
      const double steps = units.integers ? from[i + j] * factor : from[i + j] / scale;
      const double low = limits.low / scale;
      const double high = limits.high / scale;
      const double limited = steps < low ? low : (steps > high ? high : steps);
      lanes[j] = round(limited, quantization.ZeroPointAt(at));
    }
    Storer<int64_t>(view.dtype)(view.data, i, count, lanes);
  }
}

/// The attributes without their clamp, which is one of real numbers: Narrow() applies it.
struct ClampTaker {
  float min = -kInfinity;
  float max = kInfinity;

  template <class T>
  void operator()(int, const char* name, T& member) {
    if constexpr (std::is_same_v<T, float>) {
      if (std::string_view(name) == "min") min = std::exchange(member, -kInfinity);
      if (std::string_view(name) == "max") max = std::exchange(member, kInfinity);
    }
  }
};

/// Elementwise from 256 codes to 256 codes: each is computed once.
bool IsTable(const OpDef& op, const KernelArgs& args) {
  const auto is_code = [](const TensorView& view) {
    return view.quantization != nullptr && view.quantization->per_tensor() && DTypeSize(view.dtype) == 1;
  };
  return op.Is(kUnary) && is_code(args.inputs[0]) && is_code(args.outputs[0]);
}

Status RunWidened(const OpDef& op, const KernelArgs& args, double* scratch) {
  const Units units = UnitsOf(args);
  TensorView inputs[kMostOperands];
  TensorView outputs[kMostOperands];
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    inputs[i] = args.inputs[i];
    if (!IsRealInput(args, i)) continue;
    Widen(args, i, units, scratch);
    inputs[i] = TensorView(scratch, DType::kF64, inputs[i].shape);
    scratch += inputs[i].shape.elements();
  }
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    outputs[i] = args.outputs[i];
    if (!StandsForReal(outputs[i])) continue;
    outputs[i] = TensorView(scratch, DType::kF64, outputs[i].shape);
    scratch += outputs[i].shape.elements();
  }
  AttrStorage attrs = *args.attrs;
  ClampTaker clamp;
  if (units.integers) VisitAttrs(args.op, attrs, clamp);
  SKIFF_RETURN_IF_ERROR(
      op.kernel({args.op, &attrs, {inputs, args.inputs.size()}, {outputs, args.outputs.size()}}));
  const LaneClamp<double> limits(clamp.min, clamp.max);
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    if (StandsForReal(args.outputs[i])) Narrow(outputs[i].as<const double>(), units, limits, args.outputs[i]);
  }
  return OkStatus();
}

/// All codes of the input as a tensor of their own.
Status RunTable(const OpDef& op, const KernelArgs& args, double* scratch) {
  uint8_t codes[kCodes];
  uint8_t results[kCodes];
  for (int i = 0; i < kCodes; ++i) codes[i] = static_cast<uint8_t>(i);
  const TensorView& x = args.inputs[0];
  const TensorView& y = args.outputs[0];
  const TensorView all(codes, x.dtype, Shape{kCodes}, x.quantization);
  const TensorView table(results, y.dtype, Shape{kCodes}, y.quantization);
  SKIFF_RETURN_IF_ERROR(RunWidened(op, {args.op, args.attrs, {&all, 1}, {&table, 1}}, scratch));
  const int64_t elements = x.shape.elements();
  for (int64_t i = 0; i < elements; ++i) y.as<uint8_t>()[i] = results[x.as<const uint8_t>()[i]];
  return OkStatus();
}

}  // namespace

bool ComputesQuantized(const KernelArgs& args) {
  const QuantizedUse use = QuantizedUseOf(args.op);
  if (use == QuantizedUse::kMoves || use == QuantizedUse::kCodes || args.op == OpCode::kCustom) return false;
  for (const TensorView& view : args.inputs) {
    if (view.quantization != nullptr) return true;
  }
  for (const TensorView& view : args.outputs) {
    if (view.quantization != nullptr) return true;
  }
  return false;
}

uint64_t QuantizedScratchBytes(const KernelArgs& args) {
  if (IsTable(*FindOp(args.op), args)) return 2 * kCodes * sizeof(double);
  int64_t elements = 0;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    if (IsRealInput(args, i)) elements += args.inputs[i].shape.elements();
  }
  for (const TensorView& view : args.outputs) {
    if (StandsForReal(view)) elements += view.shape.elements();
  }
  return static_cast<uint64_t>(elements) * sizeof(double);
}

Status RunQuantized(const OpDef& op, const KernelArgs& args, unsigned char* scratch) {
  if (args.inputs.size() > kMostOperands || args.outputs.size() > kMostOperands)
    return Fail(StatusCode::kUnsupported, "%s: more than %zu quantised operands", op.name, kMostOperands);
  auto* doubles = reinterpret_cast<double*>(scratch);
  return IsTable(op, args) ? RunTable(op, args, doubles) : RunWidened(op, args, doubles);
}

}  // namespace skiff::eager
