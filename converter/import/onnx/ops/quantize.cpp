// ONNX rows: between numbers and integers.
#include "import/onnx/quantize.h"

#include <cmath>

#include "import/emit.h"
#include "import/onnx/cast.h"
#include "import/onnx/dynamic_product.h"
#include "import/onnx/integer_product.h"
#include "import/onnx/ops.h"
#include "import/onnx/quantized_rows.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// Factors of blocks lie as the input does, with one for each block along the axis. One alone is for all.
void CheckBlocks(OnnxBuilder& b, const char* what, ValueId factors, const OnnxQuantization& of) {
  const ValueId x = b.Input(0);
  const int rank = b.RankOf(x);
  const int of_blocks = AxisOf(b, "axis", of.axis, rank);
  const int given = b.RankOf(factors);
  bool alone = true;
  for (int axis = 0; axis < given; ++axis) alone = alone && b.ExtentOf(factors, axis) == 1;
  if (alone) return;
  if (given != rank) b.Invalid("the {} has rank {}; {} was expected, as the input has", what, given, rank);
  for (int axis = 0; axis < rank; ++axis) {
    const std::optional<int64_t> here = b.ExtentOf(factors, axis);
    const std::optional<int64_t> extent = b.ExtentOf(x, axis);
    if (!here || !extent) continue;
    const int64_t expected =
        axis != of_blocks ? *extent : *extent / of.block + (*extent % of.block == 0 ? 0 : 1);
    if (*here != expected)
      b.Invalid("the {} has {} elements along axis {}; {} were expected, for {} elements{}", what, *here,
                axis, expected, *extent, axis == of_blocks ? fmt::format(" in blocks of {}", of.block) : "");
  }
}

/// Inputs 1 and 2, and the attributes that place them.
OnnxQuantization ReadQuantization(OnnxBuilder& b) {
  OnnxQuantization read{b.Input(1), b.OptionalInput(2), b.Int("axis", 1), b.Int("block_size", 0)};
  const int rank = b.RankOf(read.scale);
  if (read.block < 0) b.Invalid("attribute 'block_size' is {}; at least 0 was expected", read.block);
  if (rank == 0 || !b.HasRank(b.Input(0), rank)) read.block = 0;
  if (rank > 1 && read.block == 0)
    b.Invalid("the scale has rank {} without the attribute 'block_size'; 0 or 1 was expected", rank);
  if (read.block > 0) {
    CheckBlocks(b, "scale", read.scale, read);
    if (read.zero_point != kNoValue) CheckBlocks(b, "zero point", read.zero_point, read);
  }
  return read;
}

/// The element type that an attribute names, where it is there and not 0.
std::optional<DType> GivenDType(OnnxBuilder& b, const char* name) {
  return b.Int(name, 0) == 0 ? std::nullopt : std::optional(b.DTypeAttribute(name));
}

}  // namespace

void BuildQuantizeLinear(OnnxBuilder& b) {
  const OnnxQuantization to = ReadQuantization(b);
  const bool stated = b.Int("output_dtype", 0) != 0;
  const OnnxType& type = to.zero_point != kNoValue ? b.OnnxTypeOf(to.zero_point)
                         : stated                  ? b.TypeAttribute("output_dtype")
                                                   : OnnxTypeOfDType(DType::kU8);
  if (stated && &b.TypeAttribute("output_dtype") != &type)
    b.Invalid("attribute 'output_dtype' is {}, the zero point is {}", b.TypeAttribute("output_dtype").name,
              type.name);
  const DType precision = GivenDType(b, "precision").value_or(b.DTypeOf(to.scale));
  if (!IsFloat(precision)) b.Unsupported("divides by a scale of {}", DTypeName(precision));
  if (IsFloat(type.dtype) && !type.format)
    b.Unsupported("has a zero point of floats whose type is not known; quantise to int8");
  if (type.format) {
    OutputAs(b, EmitSteps(b, "codes", b.Input(0), to, precision, false), type);
  } else if (const int bits = SmallIntegerBits(type); bits != 0) {
    const ValueId whole = EmitCodes(b, "whole", b.Input(0), type.dtype, to, precision);
    const auto lowest = type.dtype == DType::kI8 ? -std::ldexp(1.0f, bits - 1) : 0.0f;
    b.Output(OpCode::kClamp, {whole}, ClampAttrs{lowest, lowest + std::ldexp(1.0f, bits) - 1});
  } else {
    EmitCodes(b, nullptr, b.Input(0), type.dtype, to, precision);
  }
  b.NoteType(b.results()[0], type);
}

void BuildDequantizeLinear(OnnxBuilder& b) {
  const OnnxQuantization from = ReadQuantization(b);
  EmitReal(b, nullptr, b.Input(0), from, GivenDType(b, "output_dtype").value_or(b.DTypeOf(from.scale)));
}

namespace {

void BuildDynamicQuantizeLinear(OnnxBuilder& b) {
  const DynamicCodes made = EmitDynamicCodes(b, nullptr, b.Input(0));
  b.Output(OpCode::kIdentity, {made.scale}, NoAttrs{}, 1);
  b.Output(OpCode::kIdentity, {made.zero_point}, NoAttrs{}, 2);
  NoteDynamicCodes(b, b.results()[1], b.results()[2]);
}

constexpr OnnxOp kRows[] = {
    {"QuantizeLinear", 10, kNewest, BuildQuantizeLinear},
    {"DequantizeLinear", 10, kNewest, BuildDequantizeLinear},
    {"DynamicQuantizeLinear", 11, kNewest, BuildDynamicQuantizeLinear},
};

}  // namespace

std::span<const OnnxOp> OnnxQuantizeOps() { return kRows; }

}  // namespace skiff
