#include "trace/effects.h"

#include "ops/op_codes.h"
#include "trace/apply.h"
#include "trace/frame.h"
#include "trace/mode.h"

namespace skiff::eager {
namespace {

struct CheckEveryResult;
using CheckMode = Mode<CheckEveryResult>;

/// The text that the operators take: a zero byte stands for the next tensor.
Tensor TextOf(const Pieces& pieces, Tensors& operands) {
  std::string text;
  for (const Piece& piece : pieces) {
    if (!text.empty()) text += ' ';
    if (piece.tensor().empty()) {
      text += std::string(piece.text().c_str());  // A zero byte inside would stand for a tensor.
    } else {
      text += '\0';
      operands.push_back(piece.tensor());
    }
  }
  return Tensor(TensorData(DType::kU8, {static_cast<int64_t>(text.size())}, text.data()));
}

void ApplyEffect(OpCode op, Tensors operands, const Location& where) {
  AttrStorage attrs;
  InitAttrs(op, attrs);
  Frame* frame = Frame::Current();
  operands.insert(operands.begin(),
                  frame == nullptr ? Tensor::Scalar(uint8_t{0}) : frame->Export(frame->Effects(), where));
  const Tensor done = Apply(op, attrs, std::move(operands), 1, where)[0];
  if (frame != nullptr) frame->SetEffects(frame->Import(done, where));
}

}  // namespace

void Print(const Pieces& pieces, const Location& where) {
  Tensors tensors;
  const Tensor text = TextOf(pieces, tensors);
  tensors.insert(tensors.begin(), text);
  ApplyEffect(OpCode::kPrint, std::move(tensors), where);
}

void Assert(const Tensor& condition, const Pieces& pieces, const Location& where) {
  Tensors tensors;
  Pieces placed{fmt::format("at {}:", PlaceText(where))};
  placed.insert(placed.end(), pieces.begin(), pieces.end());
  const Tensor text = TextOf(placed, tensors);
  tensors.insert(tensors.begin(), {text, condition});
  ApplyEffect(OpCode::kAssert, std::move(tensors), where);
}

Tensor CheckNumerics(const Tensor& x, const std::string& message, const Location& where) {
  Tensors none;
  ApplyEffect(OpCode::kCheckNumerics, {TextOf({message}, none), x}, where);
  return x;
}

void SetCheckEveryResult(bool on) { CheckMode::SetEverywhere(on); }
bool ChecksEveryResult() { return CheckMode::On(); }

ScopedCheckEveryResult::ScopedCheckEveryResult(bool on)
    : before_(static_cast<int>(CheckMode::Set(on ? Override::kOn : Override::kOff))) {}
ScopedCheckEveryResult::~ScopedCheckEveryResult() { CheckMode::Set(static_cast<Override>(before_)); }

void CheckResults(OpCode op, const Tensors& results, const Location& where) {
  if (!ChecksEveryResult()) return;
  for (const Tensor& result : results) {
    if (IsFloat(result.dtype()))
      CheckNumerics(result, fmt::format("{} at {}", FindOp(op)->name, PlaceText(where)), where);
  }
}

}  // namespace skiff::eager
