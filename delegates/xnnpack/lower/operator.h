/// Owns one XNNPACK operator and turns XNNPACK's status codes into ours.
#pragma once

#include <xnnpack.h>

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

/// kOutOfMemory stays what it is; whatever else XNNPACK refuses, the reference kernel can do.
Status FromXnn(xnn_status status);

xnn_datatype DatatypeOf(DType dtype);

class Operator {
 public:
  Operator() = default;
  ~Operator() { Reset(); }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  xnn_operator_t get() const { return operator_; }
  explicit operator bool() const { return operator_ != nullptr; }
  void Reset() {
    if (operator_ != nullptr) xnn_delete_operator(operator_);
    operator_ = nullptr;
  }
  /// Gives the operator away without deleting it.
  void Abandon() { operator_ = nullptr; }
  /// Makes it anew: `create` calls a create function of XNNPACK's with the place for the operator.
  template <class Create>
  Status Make(const Create& create) {
    Reset();
    return Made(create(&operator_));
  }
  Status Run(pthreadpool_t pool) const {
    return xnn_run_operator(operator_, pool) == xnn_status_success ? OkStatus() : RunFailed();
  }

 private:
  Status Made(xnn_status status);
  static Status RunFailed();

  xnn_operator_t operator_ = nullptr;
};

/// A step that runs exactly one XNNPACK operator.
class OperatorStep : public Step {
 public:
  using Step::Step;
  Status Run() final { return operator_.Run(environment_.pool); }

 protected:
  Operator operator_;
};

}  // namespace skiff::xnnpack
