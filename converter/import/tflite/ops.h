/// The tables of TensorFlow Lite operators that Skiff imports: one row per operator, for all of its versions.
/// Rows live beside their builders, in one file per family; to import another operator, write a builder there
/// and add its row.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "import/tflite/builder.h"

namespace skiff {

// Rows read best in this order.
struct TfliteOp {  // NOLINT(clang-analyzer-optin.performance.Padding)
  tflite::BuiltinOperator code;
  void (*build)(TfliteBuilder& builder);
  OpCode op{};  ///< For builders that serve several rows.
};

std::span<const TfliteOp> TfliteElementwiseOps();
std::span<const TfliteOp> TfliteArithmeticOps();
std::span<const TfliteOp> TfliteWindowOps();
std::span<const TfliteOp> TflitePoolOps();
std::span<const TfliteOp> TfliteProductOps();
std::span<const TfliteOp> TfliteReductionOps();
std::span<const TfliteOp> TfliteNormalizeOps();
std::span<const TfliteOp> TfliteShapeOps();
std::span<const TfliteOp> TfliteMovementOps();
std::span<const TfliteOp> TfliteSliceOps();
std::span<const TfliteOp> TfliteBlockOps();
std::span<const TfliteOp> TfliteIndexOps();
std::span<const TfliteOp> TfliteCountedOps();
std::span<const TfliteOp> TfliteQuantizeOps();
std::span<const TfliteOp> TfliteControlOps();
std::span<const TfliteOp> TfliteRecurrentOps();
std::span<const TfliteOp> TfliteSpectrumOps();
std::span<const TfliteOp> TfliteVolumeOps();
std::span<const TfliteOp> TfliteReduceWindowOps();

/// An operator that is no part of TensorFlow Lite, by its name in the file.
struct TfliteCustomOp {
  const char* name;
  void (*build)(TfliteBuilder& builder);
};
std::span<const TfliteCustomOp> TfliteCustomOps();
std::span<const TfliteCustomOp> TfliteDetectionOps();
std::span<const TfliteCustomOp> TfliteAudioOps();
std::span<const TfliteCustomOp> TfliteUnpoolOps();
std::span<const TfliteCustomOp> TfliteSignalOps();

/// The row's builder and operator; a null builder where there is none.
struct TfliteRow {
  void (*build)(TfliteBuilder& builder) = nullptr;
  OpCode op{};
};

/// What an operator does with complex inputs.
enum class ComplexUse {
  kNone,
  kReads,   ///< Its builder asks for their imaginary parts.
  kEither,  ///< The same to either part.
};
ComplexUse ComplexUseOf(tflite::BuiltinOperator op);
TfliteRow FindTfliteOp(const TfliteFile::Operator& op);

/// What a user can do about an operator that has no row, as a sentence.
std::string TfliteRemedy(const TfliteFile::Operator& op);

/// The builder of operators that are one Skiff operator of the same operands and no attributes.
void BuildDirectTflite(TfliteBuilder& builder);
/// The same of truths only.
void BuildLogicalTflite(TfliteBuilder& builder);

}  // namespace skiff
