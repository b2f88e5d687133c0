/// The tables of ONNX operators that Skiff imports: one row per operator and span of opset versions. Rows
/// live beside their builders, in one file per family; to import another operator, write a builder there and
/// add its row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/builder.h"

namespace skiff {

inline constexpr int64_t kOldestOnnxOpset = 6;
/// The newest opset whose changes the rows take into account.
inline constexpr int64_t kNewestOnnxOpset = 25;
/// Of ai.onnx.ml.
inline constexpr int64_t kNewestMlOpset = 5;
/// Of domains that do not count theirs.
inline constexpr int64_t kAnyOpset = INT64_MAX;

struct OnnxOp {
  const char* name;
  int64_t since;  ///< First and last opset in which the row's builder is right.
  int64_t until;
  void (*build)(OnnxBuilder& builder);
  OpCode op{};             ///< For builders that serve several rows.
  uint64_t sequences = 0;  ///< Bits of the inputs that may be sequences; bit 63 is of all from there on.
};

/// OnnxOp::sequences of all inputs from one on.
constexpr uint64_t SequencesFrom(int input) { return ~uint64_t{0} << input; }

std::span<const OnnxOp> OnnxElementwiseOps();
std::span<const OnnxOp> OnnxWindowOps();
std::span<const OnnxOp> OnnxPoolOps();
std::span<const OnnxOp> OnnxPatchOps();
std::span<const OnnxOp> OnnxSampleOps();
std::span<const OnnxOp> OnnxResizeOps();
std::span<const OnnxOp> OnnxNormalizeOps();
std::span<const OnnxOp> OnnxReductionOps();
std::span<const OnnxOp> OnnxNormOps();
std::span<const OnnxOp> OnnxAttentionOps();
std::span<const OnnxOp> OnnxEinsumOps();
std::span<const OnnxOp> OnnxSpectrumOps();
std::span<const OnnxOp> OnnxShapeOps();
std::span<const OnnxOp> OnnxMovementOps();
std::span<const OnnxOp> OnnxIndexOps();
std::span<const OnnxOp> OnnxScanOps();
std::span<const OnnxOp> OnnxCountedOps();
std::span<const OnnxOp> OnnxLossOps();
std::span<const OnnxOp> OnnxControlOps();
std::span<const OnnxOp> OnnxLoopOps();
std::span<const OnnxOp> OnnxTfIdfOps();
std::span<const OnnxOp> OnnxSequenceOps();
std::span<const OnnxOp> OnnxRecurrentOps();
std::span<const OnnxOp> OnnxQuantizeOps();
std::span<const OnnxOp> OnnxQLinearOps();
std::span<const OnnxOp> OnnxRandomOps();
// Of ai.onnx.ml.
std::span<const OnnxOp> OnnxTreeOps();
std::span<const OnnxOp> OnnxLinearModelOps();
std::span<const OnnxOp> OnnxFeatureOps();
// Of com.microsoft.
std::span<const OnnxOp> MicrosoftQuantizedOps();
std::span<const OnnxOp> MicrosoftProductOps();
std::span<const OnnxOp> MicrosoftFusedOps();
std::span<const OnnxOp> MicrosoftTransformerOps();
std::span<const OnnxOp> MicrosoftAttentionOps();

/// The row of an operator; the domain ai.onnx is "". Null when no row covers the opset.
const OnnxOp* FindOnnxOp(std::string_view domain, std::string_view name, int64_t opset);

/// All rows of a domain, sorted by name.
std::vector<const OnnxOp*> AllOnnxOps(std::string_view domain);

/// What a user can do about an operator that has no row, as a sentence.
std::string OnnxRemedy(std::string_view domain, std::string_view name);

/// The builder of operators that are one Skiff operator with the same inputs and no attributes.
void BuildDirect(OnnxBuilder& builder);

}  // namespace skiff
