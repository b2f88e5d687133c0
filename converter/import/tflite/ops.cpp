#include "import/tflite/ops.h"

#include <algorithm>
#include <map>

#include "import/custom.h"
#include "import/tflite/names.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

using tflite::BuiltinOperator;
using Table = std::map<BuiltinOperator, const TfliteOp*>;

const Table& Rows() {
  static const Table rows = [] {
    Table table;
    for (const auto family :
         {TfliteElementwiseOps(), TfliteArithmeticOps(), TfliteWindowOps(), TflitePoolOps(),
          TfliteProductOps(), TfliteReductionOps(), TfliteNormalizeOps(), TfliteShapeOps(),
          TfliteMovementOps(), TfliteSliceOps(), TfliteBlockOps(), TfliteIndexOps(), TfliteCountedOps(),
          TfliteQuantizeOps(), TfliteControlOps(), TfliteRecurrentOps(), TfliteSpectrumOps(),
          TfliteVolumeOps(), TfliteReduceWindowOps()}) {
      for (const TfliteOp& row : family) table.emplace(row.code, &row);
    }
    return table;
  }();
  return rows;
}

std::vector<const TfliteCustomOp*> CustomRows() {
  std::vector<const TfliteCustomOp*> rows;
  for (const auto family :
       {TfliteCustomOps(), TfliteDetectionOps(), TfliteAudioOps(), TfliteUnpoolOps(), TfliteSignalOps()}) {
    for (const TfliteCustomOp& row : family) rows.push_back(&row);
  }
  return rows;
}

constexpr BuiltinOperator kReadsComplex[] = {
    BuiltinOperator::COMPLEX_ABS,
    BuiltinOperator::REAL,
    BuiltinOperator::IMAG,
};
constexpr BuiltinOperator kMovesComplex[] = {
    BuiltinOperator::RESHAPE,       BuiltinOperator::SQUEEZE, BuiltinOperator::EXPAND_DIMS,
    BuiltinOperator::TRANSPOSE,     BuiltinOperator::SLICE,   BuiltinOperator::STRIDED_SLICE,
    BuiltinOperator::CONCATENATION, BuiltinOperator::PACK,    BuiltinOperator::UNPACK,
    BuiltinOperator::SPLIT,         BuiltinOperator::GATHER,
};

template <size_t kCount>
bool Lists(const BuiltinOperator (&list)[kCount], BuiltinOperator op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

}  // namespace

TfliteRow FindTfliteOp(const TfliteFile::Operator& op) {
  if (op.builtin == BuiltinOperator::CUSTOM) {
    for (const TfliteCustomOp* row : CustomRows()) {
      if (row->name == op.custom) return {row->build, OpCode::kInvalid};
    }
    return {};
  }
  const auto found = Rows().find(op.builtin);
  return found == Rows().end() ? TfliteRow{} : TfliteRow{found->second->build, found->second->op};
}

ComplexUse ComplexUseOf(BuiltinOperator op) {
  if (Lists(kReadsComplex, op)) return ComplexUse::kReads;
  return Lists(kMovesComplex, op) ? ComplexUse::kEither : ComplexUse::kNone;
}

std::vector<TfliteName> AllTfliteNames() {
  std::vector<TfliteName> all;
  for (const auto& [code, row] : Rows()) all.push_back({tflite::EnumNameBuiltinOperator(code), row->op});
  std::sort(all.begin(), all.end(), [](const TfliteName& a, const TfliteName& b) { return a.name < b.name; });
  return all;
}

std::vector<std::string> AllTfliteCustomNames() {
  std::vector<std::string> all;
  for (const TfliteCustomOp* row : CustomRows()) all.emplace_back(row->name);
  std::sort(all.begin(), all.end());
  return all;
}

std::string TfliteRemedy(const TfliteFile::Operator& op) {
  if (op.builtin == BuiltinOperator::CUSTOM && op.custom.rfind("Flex", 0) == 0)
    return "It is an operator of TensorFlow itself (Select TF ops): convert the net with TFLITE_BUILTINS "
           "alone, "
           "or write this part with other operators.";
  if (op.builtin == BuiltinOperator::CUSTOM && op.custom.rfind("Signal", 0) == 0)
    return "It is an operator of TensorFlow Lite Micro's audio front end: cut the model behind it, and "
           "compute the "
           "front end in the program.";
  if (op.builtin == BuiltinOperator::CUSTOM)
    return "It is an operator of its author's own: cut the model in front of it, and do this step in the "
           "program." +
           CustomRemedy(std::string(op.custom));
  return "Write it with other operators before the conversion to TensorFlow Lite, or cut the model in front "
         "of "
         "it.";
}

void BuildDirectTflite(TfliteBuilder& b) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < FindOp(b.op())->min_inputs; ++i) inputs.push_back(b.Operand(i));
  b.Output(b.op(), std::move(inputs));
}

void BuildLogicalTflite(TfliteBuilder& b) {
  for (size_t i = 0; i < b.input_count(); ++i) {
    const DType dtype = b.TypeOf(b.Input(i)).dtype;
    if (dtype != DType::kBool && dtype != DType::kInvalid)
      b.Invalid("its input {} is {}; {} was expected", i, DTypeName(dtype), DTypeName(DType::kBool));
  }
  BuildDirectTflite(b);
}

}  // namespace skiff
