#include "trace/variable.h"

#include "trace/apply.h"
#include "trace/frame.h"
#include "trace/ops.h"

namespace skiff::eager {

Variable::Variable(std::string name, const Tensor& initial, const Location& where) {
  if (const Frame* frame = Frame::Current()) {
    ThrowAt(where, StatusCode::kInvalidArgument,
            "variable '{}' is created while '{}' is traced: every trace would create another one, and none "
            "would keep its "
            "value. Create it outside of the function, which may capture it",
            name, frame->function());
  }
  initial.data();  // Says what is wrong with a symbolic one.
  state_ = std::make_shared<VariableState>(std::move(name), initial);
}

Tensor Variable::Read(const Location& where) const {
  Frame* frame = Frame::Current();
  return frame == nullptr ? state_->Get() : frame->Export(frame->Read(state_), where);
}

void Variable::Assign(const Tensor& value, const Location& where) {
  Frame* frame = Frame::Current();
  const ValueId id = frame == nullptr ? kNoValue : frame->Import(value, where);
  const Tensor before = state_->Get();
  const TensorData& now = before.data();
  const bool fits = value.dtype() == now.dtype() && value.rank() == now.shape().rank() &&
                    SameQuantization(value.quantization(), now.quantization()) &&
                    (frame == nullptr ? value.data().shape() == now.shape()
                                      : frame->graph.value(id).dims ==
                                            std::vector<Dim>(now.shape().begin(), now.shape().end()));
  if (!fits) {
    ThrowAt(where, StatusCode::kInvalidArgument, "variable '{}' is {}{} and cannot become {}{}", state_->name,
            before.TypeText(), QuantizationText(now.quantization()), value.TypeText(),
            QuantizationText(value.quantization()));
  }
  if (frame == nullptr) {
    state_->Put(Tensor(value.data()));
  } else {
    frame->Assign(state_, id);
  }
}

Tensor Variable::Sum(const Operand& more) const {
  return Add(Operand(Read(more.where()), more.where()), more);
}

Operand::Operand(const Variable& variable, Location where) : tensor_(variable.Read(where)), where_(where) {}

}  // namespace skiff::eager
