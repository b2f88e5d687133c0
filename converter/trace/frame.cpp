#include "trace/frame.h"

#include <algorithm>

#include "trace/apply.h"
#include "trace/variable.h"

namespace skiff::eager {
namespace {

thread_local Frame* g_current = nullptr;

}  // namespace

std::string LeakText(const Tensor& tensor) {
  const Tensor::Impl& impl = *tensor.impl();
  const bool body = impl.frame->outer() != nullptr;
  const std::string origin =
      impl.where.line() == 0 ? "is an argument of" : fmt::format("was made at {} by", PlaceText(impl.where));
  return fmt::format(
      "an operand {} {} '{}', which is over: it stands for a value of that graph only. {}", origin,
      body ? "a body of Cond or While," : "the trace of", impl.frame->function(),
      body ? "Return it from the body" : "Return it from the function, or keep state in a Variable");
}

Frame::Frame(std::string function, std::shared_ptr<Frame> outer)
    : function_(std::move(function)), outer_(std::move(outer)) {
  graph.name = function_;
  if (outer_) graph.symbols() = outer_->graph.symbols();
}

Frame* Frame::Current() { return g_current; }

FrameScope::FrameScope(std::shared_ptr<Frame> frame) : frame_(std::move(frame)), before_(g_current) {
  g_current = frame_.get();
}

FrameScope::~FrameScope() { g_current = before_; }

ValueId Frame::Import(const Tensor& tensor, const Location& where) {
  if (tensor.empty())
    ThrowAt(where, StatusCode::kInvalidArgument, "an operand is an empty Tensor: it was never assigned");
  const Tensor::Impl& impl = *tensor.impl();
  if (!impl.frame) {
    const auto [known, fresh] = constants_.try_emplace(&impl, kNoValue);
    if (fresh) {
      kept_.push_back(tensor);
      known->second = graph.AddConstant("constant", impl.data);
    }
    return known->second;
  }
  if (impl.frame.get() == this) return impl.value;
  if (impl.frame->finished() || !outer_) ThrowAt(where, StatusCode::kInvalidArgument, "{}", LeakText(tensor));
  return InputFor({Capture::Kind::kValue, outer_->Import(tensor, where), nullptr, kNoValue});
}

Tensor Frame::Export(ValueId value, const Location& where) {
  auto impl = std::make_shared<Tensor::Impl>();
  impl->frame = shared_from_this();
  impl->value = value;
  impl->dtype = graph.value(value).dtype;
  impl->dims = graph.value(value).dims;
  impl->quantization = graph.value(value).quantization;
  impl->where = where;
  return Tensor(std::shared_ptr<const Tensor::Impl>(std::move(impl)));
}

ValueId Frame::InputFor(const Capture& source) {
  const auto known = std::find_if(captures_.begin(), captures_.end(),
                                  [&](const Capture& capture) { return capture.SameSource(source); });
  if (known != captures_.end()) return known->inner;
  Capture capture = source;
  switch (source.kind) {
    case Capture::Kind::kValue: {
      const Value& value = outer_->graph.value(source.outer);
      capture.inner = graph.AddInput(value.name, value.dtype, value.dims, value.quantization);
      graph.value(capture.inner).elements = value.elements;
      break;
    }
    case Capture::Kind::kVariable: {
      const Tensor variable = source.variable->Get();
      const TensorData& now = variable.data();
      capture.inner = graph.AddInput(source.variable->name, now.dtype(),
                                     {now.shape().begin(), now.shape().end()}, now.quantization());
      break;
    }
    case Capture::Kind::kEffects:
      capture.inner = graph.AddInput("effects", DType::kU8, {});
      break;
  }
  captures_.push_back(capture);
  return capture.inner;
}

ValueId Frame::Read(const std::shared_ptr<VariableState>& variable) {
  const auto known = variables_.find(variable);
  if (known != variables_.end()) return known->second;
  return variables_[variable] = InputFor({Capture::Kind::kVariable, kNoValue, variable, kNoValue});
}

void Frame::Assign(const std::shared_ptr<VariableState>& variable, ValueId value) {
  variables_[variable] = value;
  if (std::find(assigned_.begin(), assigned_.end(), variable) == assigned_.end())
    assigned_.push_back(variable);
}

ValueId Frame::Effects() {
  if (effects_ != kNoValue) return effects_;
  effects_ = outer_ ? InputFor({Capture::Kind::kEffects, kNoValue, nullptr, kNoValue})
                    : graph.AddConstant("effects", TensorData(DType::kU8, Shape()));
  return effects_;
}

}  // namespace skiff::eager
