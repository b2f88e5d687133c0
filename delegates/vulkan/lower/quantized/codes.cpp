// Between codes and real numbers, and functions of one code.
#include "core/code_range.h"
#include "delegates/vulkan/lower/quantized/lowerings.h"
#include "eager/quantized.h"

namespace skiff::vulkan {
namespace {

constexpr int64_t kCodes = 256;

struct CodesPush {
  uint32_t vectors;
  float scale;
  int32_t zero;
  CodeLimits limits;
};

Status EmitCodes(Emitter& emit, uint32_t from_kind, uint32_t to_kind, const Operand& from, const Operand& to,
                 const TensorView& codes) {
  const auto vectors = static_cast<uint32_t>((codes.shape.elements() + 3) / 4);
  const CodesPush push{vectors, codes.quantization->scale, codes.quantization->zero_point,
                       LimitsOf(codes, -kInfinity, kInfinity)};
  return emit.Dispatch(Shader::kCodes, {from_kind, to_kind}, {from, to}, push, vectors);
}

/// The reference kernel's results for all codes.
Status ComputeTable(const Emitter& emit, unsigned char (&table)[kCodes]) {
  const OpDef* const op = FindOp(emit.op());
  if (op->kernel == nullptr) return Refuse();
  unsigned char codes[kCodes];
  for (int64_t i = 0; i < kCodes; ++i) codes[i] = static_cast<unsigned char>(i);
  const TensorView x(codes, emit.in(0).dtype, Shape{kCodes}, emit.in(0).quantization);
  const TensorView y(table, emit.out(0).dtype, Shape{kCodes}, emit.out(0).quantization);
  const KernelArgs args{emit.op(), &emit.attrs(), {&x, 1}, {&y, 1}};
  FixedArray<double> scratch;
  SKIFF_RETURN_IF_ERROR(scratch.Allocate(eager::QuantizedScratchBytes(args) / sizeof(double)));
  return eager::RunQuantized(*op, args, reinterpret_cast<unsigned char*>(scratch.data()));
}

/// A float operand, which other nodes keep in the storage type, as f32.
Status EmitToSingles(Emitter& emit, const Operand& from, const Operand& to, int64_t elements,
                     const MovedElement& element) {
  Block block;
  block.extents = Shape{elements};
  block.from_strides[0] = block.to_strides[0] = 1;
  return EmitCopy(emit, from, to, element, block);
}

}  // namespace

uint32_t KindOf(const TensorView& view) {
  if (view.dtype == DType::kI8) return kI8Codes;
  return view.dtype == DType::kU8 ? kU8Codes : kReals;
}

Status EmitToCodes(Emitter& emit, uint32_t kind, const Operand& from, const Operand& to,
                   const TensorView& codes) {
  return EmitCodes(emit, kind, KindOf(codes), from, to, codes);
}

Status EmitFromCodes(Emitter& emit, uint32_t kind, const Operand& from, const Operand& to,
                     const TensorView& codes) {
  return EmitCodes(emit, KindOf(codes), kind, from, to, codes);
}

Status LowerQuantizedToCodes(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return EmitToCodes(emit, kReals, x, y, emit.out(0));
}

Status LowerQuantizedFromCodes(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  return EmitFromCodes(emit, kReals, x, y, emit.in(0));
}

namespace {

Status EmitLookup(Emitter& emit, const Operand& table) {
  SKIFF_ASSIGN_OR_RETURN(const Operand x, emit.In(0));
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const struct { uint32_t words; } push{static_cast<uint32_t>((emit.out(0).shape.elements() + 3) / 4)};
  return emit.Dispatch(Shader::kLookup, {}, {x, table, y}, push, push.words);
}

}  // namespace

Status LowerLookup(Emitter& emit) {
  SKIFF_ASSIGN_OR_RETURN(const Operand table, emit.In(1));
  return EmitLookup(emit, table);
}

Status LowerQuantizedLookup(Emitter& emit) {
  if (emit.in(0).quantization == nullptr || emit.out(0).quantization == nullptr)
    return LowerQuantizedReals(emit);
  alignas(uint32_t) unsigned char codes[kCodes];
  SKIFF_RETURN_IF_ERROR(ComputeTable(emit, codes));
  uint32_t words[kCodes / 4];
  std::memcpy(words, codes, sizeof(words));
  SKIFF_ASSIGN_OR_RETURN(const Operand table, emit.Words(kLookupTable, {words, kCodes / 4}));
  return EmitLookup(emit, table);
}

namespace {

/// Codes become f32 in scratch, the operator's lowering for floats computes, and its result is rounded. All
/// of it in f32: with f16 storage a code would be lost. `in` and `out`, where they are not null, are what
/// codes stand for in place of the tensors' own.
Status LowerReals(Emitter& emit, const Quantization* in, const Quantization* out) {
  const VulkanPrecision stored = emit.precision();
  const bool f16 = emit.f16();
  for (size_t i = 0; i < emit.inputs(); ++i) {
    if (!emit.Has(i) || FindOp(emit.op())->NeedsValues(i)) continue;
    TensorView view = emit.in(i);
    const bool codes = view.quantization != nullptr;
    if (codes && in != nullptr) view.quantization = in;
    if (!codes && (!IsFloat(view.dtype) || !f16 || emit.input(i).constant)) continue;
    SKIFF_ASSIGN_OR_RETURN(const Operand from, emit.In(i));
    SKIFF_ASSIGN_OR_RETURN(const Operand to, emit.Scratch(static_cast<uint64_t>(view.shape.elements())));
    SKIFF_RETURN_IF_ERROR(codes ? EmitFromCodes(emit, kSingles, from, to, view)
                                : EmitToSingles(emit, from, to, view.shape.elements(), kToSingle));
    emit.ReplaceInput(i, to);
  }
  TensorView result = emit.out(0);
  SKIFF_ASSIGN_OR_RETURN(const Operand y, emit.Out(0));
  const bool codes = result.quantization != nullptr;
  if (codes && out != nullptr) result.quantization = out;
  Operand computed = y;
  if (codes || (f16 && IsFloat(result.dtype))) {
    SKIFF_ASSIGN_OR_RETURN(computed, emit.Scratch(static_cast<uint64_t>(result.shape.elements())));
    emit.ReplaceOutput(computed);
  }
  emit.SetPrecision(VulkanPrecision::kF32);
  SKIFF_RETURN_IF_ERROR(FindLowering(emit.op())(emit));
  emit.SetPrecision(stored);
  if (codes) return EmitToCodes(emit, kSingles, computed, y, result);
  if (f16 && IsFloat(result.dtype))
    return EmitToSingles(emit, computed, y, result.shape.elements(), kFromSingle);
  return OkStatus();
}

}  // namespace

Status LowerQuantizedReals(Emitter& emit) { return LowerReals(emit, nullptr, nullptr); }

/// Pixels that are only chosen keep their codes. Others are means of codes, of which many are half way
/// between two: they are computed in steps of the input's scale, where f32 is exact.
Status LowerQuantizedResize2d(Emitter& emit) {
  const bool moves = emit.As<ResizeAttrs>().mode == ResizeMode::kNearest &&
                     emit.in(0).dtype == emit.out(0).dtype &&
                     SameQuantization(emit.in(0).quantization, emit.out(0).quantization);
  if (moves) return LowerResize2d(emit);
  Quantization steps = *emit.in(0).quantization;
  Quantization result = *emit.out(0).quantization;
  result.scale = static_cast<float>(static_cast<double>(result.scale) / static_cast<double>(steps.scale));
  steps.scale = 1;
  return LowerReals(emit, &steps, &result);
}

}  // namespace skiff::vulkan
