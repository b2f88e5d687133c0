#include "tests/docs/operators_page.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "import/onnx/ops.h"
#include "import/tflite/names.h"
#include "ops/op_codes.h"
#include "ops/quantized.h"
#include "tests/docs/kernel_dtypes.h"
#include "tests/support/operators.h"

namespace skiff {
namespace {

constexpr struct {
  OpCode op;
  const char* delegate;
} kLowered[] = {
#define LOWERING(Name, Lowering) {OpCode::k##Name, "xnnpack"},
#include "delegates/xnnpack/lowerings.def"
#undef LOWERING
#define LOWERING(Name, Lowering) {OpCode::k##Name, "vulkan"},
#include "delegates/vulkan/lowerings.def"
#undef LOWERING
};

std::vector<std::string> DelegatesOf(OpCode op) {
  std::vector<std::string> delegates;
  for (const auto& row : kLowered) {
    if (row.op == op) delegates.emplace_back(row.delegate);
  }
  return delegates;
}

std::string DTypesText(const std::vector<DType>& taken) {
  if (taken.empty()) return "none yet";
  constexpr int kPackedDTypes = 2;  // As quantised operands only.
  if (taken.size() == kDTypeCount - 1 - kPackedDTypes) return "all";
  std::vector<DType> rest = taken;
  std::vector<std::string> words;
  const auto name_group = [&](const char* name, const std::vector<DType>& group) {
    const auto in_group = [&](DType dtype) {
      return std::find(group.begin(), group.end(), dtype) != group.end();
    };
    if (std::count_if(rest.begin(), rest.end(), in_group) != static_cast<int64_t>(group.size())) return;
    words.emplace_back(name);
    std::erase_if(rest, in_group);
  };
  name_group("floats", {DType::kF16, DType::kF32, DType::kF64});
  name_group("integers", {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32,
                          DType::kI64, DType::kU64});
  for (DType dtype : rest) words.emplace_back(DTypeName(dtype));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// "Clip 6-10, 11-23" without the spans where one follows the other: "Clip 6-23".
std::string OpsetsText(std::vector<std::pair<int64_t, int64_t>> spans) {
  std::sort(spans.begin(), spans.end());
  std::vector<std::pair<int64_t, int64_t>> joined;
  for (const auto& span : spans) {
    if (!joined.empty() && span.first <= joined.back().second + 1) {
      joined.back().second = std::max(joined.back().second, span.second);
    } else {
      joined.push_back(span);
    }
  }
  std::vector<std::string> words;
  for (const auto& [first, last] : joined) words.push_back(fmt::format("{}-{}", first, last));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// What an ONNX operator becomes, where that is one operator of the core set.
struct OnnxEntry {
  OpCode op = OpCode::kInvalid;  ///< kInvalid: a composition.
  std::vector<std::pair<int64_t, int64_t>> spans;
};

/// ONNX operators that become one Skiff operator of another name (around it, views, transposes or constants).
constexpr struct {
  const char* onnx;
  OpCode op;
} kRenamings[] = {
    {"AveragePool", OpCode::kAveragePool2d},
    {"BatchNormalization", OpCode::kBatchNorm},
    {"CastLike", OpCode::kCast},
    {"Clip", OpCode::kClamp},
    {"ConstantOfShape", OpCode::kFill},
    {"Conv", OpCode::kConv2d},
    {"ConvTranspose", OpCode::kConvTranspose2d},
    {"Dropout", OpCode::kIdentity},
    {"Gemm", OpCode::kMatMul},
    {"GRU", OpCode::kGru},
    {"LSTM", OpCode::kLstm},
    {"LayerNormalization", OpCode::kLayerNorm},
    {"MaxPool", OpCode::kMaxPool2d},
    {"RNN", OpCode::kRnn},
    {"Relu", OpCode::kClamp},
    {"Resize", OpCode::kResize2d},
};

std::map<std::string, OnnxEntry> OnnxEntries() {
  std::map<std::string, OnnxEntry> entries;
  for (const OnnxOp* row : AllOnnxOps("")) {
    OnnxEntry& entry = entries[row->name];
    entry.spans.emplace_back(row->since, row->until);
    const OpDef* same_name = FindOp(row->name);
    if (row->op != OpCode::kInvalid) entry.op = row->op;
    if (entry.op == OpCode::kInvalid && same_name != nullptr) entry.op = same_name->code;
  }
  for (const auto& renaming : kRenamings) entries.at(renaming.onnx).op = renaming.op;
  return entries;
}

std::string RowText(const OpDef& op, const std::map<std::string, OnnxEntry>& entries) {
  const testing::OperatorRow& row = testing::RowOf(op.code);
  std::vector<std::string> onnx;
  for (const auto& [name, entry] : entries) {
    if (entry.op == op.code) onnx.push_back(name);
  }
  std::string dtypes = op.Is(kBodies) ? "all" : DTypesText(KernelDTypes(op.code));
  const bool converts = QuantizedUseOf(op.code) == QuantizedUse::kCodes || op.code == OpCode::kQuantize ||
                        op.code == OpCode::kDequantize || op.code == OpCode::kRequantize;
  if (QuantizedUseOf(op.code) != QuantizedUse::kNone)
    dtypes = converts ? "quantised" : dtypes + ", quantised";
  const std::vector<std::string> delegates = DelegatesOf(op.code);
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", op.name, row.computes, dtypes,
                     fmt::join(delegates, ", "), fmt::join(onnx, ", "), row.limits);
}

/// "|x|" inside a table's cell.
std::string Escaped(std::string row) {
  const std::string bars = "| |x|;";
  if (const size_t at = row.find(bars); at != std::string::npos) row.replace(at, bars.size(), "| \\|x\\|;");
  return row;
}

std::string TflitePart() {
  const std::vector<TfliteName> names = AllTfliteNames();
  std::string part = fmt::format(
      "\n## TensorFlow Lite operators\n\n"
      "The importer reads {} builtin operators, in all of their versions and number formats. One without an "
      "entry in "
      "the second column becomes several operators of the core set.\n\n"
      "| TensorFlow Lite operator | Becomes |\n|---|---|\n",
      names.size());
  for (const TfliteName& name : names) {
    const OpDef* op = FindOp(name.op);
    part += fmt::format("| {} | {} |\n", name.name, op == nullptr ? "" : op->name);
  }
  return part + fmt::format("\nOf operators that are no part of it, the importer reads {}.\n",
                            fmt::join(AllTfliteCustomNames(), ", "));
}

}  // namespace

std::string OperatorsPage() {
  const std::map<std::string, OnnxEntry> entries = OnnxEntries();
  std::string page =
      "# Operators\n\n"
      "Made by `tests/docs/write_operators_page` from `runtime/ops/ops.def`, the importer's tables and the "
      "reference kernels; a test "
      "compares.\n\n"
      "## The core set\n\n"
      "Every operator runs on the `reference` delegate, for the dtypes of its kernel, and those with bodies "
      "are "
      "run by "
      "the runtime itself; the column *Delegates* "
      "names "
      "those that have a lowering as well (for which of the dtypes, their support predicate says). *ONNX* "
      "names the "
      "operators that become this one. *Quantised* operands are integers with a scale "
      "([numerics](numerics.md)).\n\n"
      "| Operator | Computes | Dtypes | Delegates | ONNX | Limits |\n|---|---|---|---|---|---|\n";
  for (const OpDef& op : AllOps()) page += Escaped(RowText(op, entries));
  page += fmt::format(
      "\n## ONNX operators\n\n"
      "The importer reads opsets {} to {} of ai.onnx. An operator without an entry in the second column "
      "becomes several "
      "operators of the core set, which passes may fuse again.\n\n"
      "| ONNX operator | Becomes | Opsets |\n|---|---|---|\n",
      kOldestOnnxOpset, kNewestOnnxOpset);
  for (const auto& [name, entry] : entries) {
    const OpDef* op = FindOp(entry.op);
    page += fmt::format("| {} | {} | {} |\n", name, op == nullptr ? "" : op->name, OpsetsText(entry.spans));
  }
  const auto names_of = [](const char* domain) {
    std::set<std::string> names;
    for (const OnnxOp* row : AllOnnxOps(domain)) names.emplace(row->name);
    return names;
  };
  page += fmt::format(
      "\n## Operators of ai.onnx.ml\n\n"
      "Of the models of scikit-learn and its like the importer reads {}, up to version {}. Inputs are "
      "numbers: of texts there are "
      "none, so that CastMap, CategoryMapper, DictVectorizer and what LabelEncoder and OneHotEncoder make of "
      "texts are refused. Classes "
      "that are texts become their numbers. Forests become TreeEnsemble; a category that OneHotEncoder does "
      "not know is zeros; Normalizer's MAX is of "
      "absolute values, as in scikit-learn.\n",
      fmt::join(names_of("ai.onnx.ml"), ", "), kNewestMlOpset);
  const std::set<std::string> microsoft = names_of("com.microsoft");
  page += fmt::format(
      "\n## Operators of ONNX Runtime\n\n"
      "Of the domain com.microsoft, which its optimiser and its quantiser write, the importer reads {}. "
      "DynamicQuantizeLSTM multiplies the sequence and the states by what its weights stand for, as they "
      "are: "
      "ONNX Runtime rounds them to bytes first. GatherBlockQuantized reads constants of int4 and uint4. "
      "GroupQueryAttention returns its past with the new keys behind it, not in a buffer that both share; "
      "where a sample has other keys than `seqlens_k` says, its results are NaN, but for a first call "
      "without "
      "a past, which may be padded behind. Decoders begin so where the conversion says `--dim "
      "past_sequence_length=0..N`. MatMulNBits whose `accuracy_level` "
      "is 4 rounds its input to 8 bits, a scale for each block.\n",
      fmt::join(microsoft, ", "));
  return page + TflitePart();
}

}  // namespace skiff
