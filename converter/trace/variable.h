/// State that outlives calls, shared by all Functions that read or assign it, saved with them, and kept by
/// the device's Session between runs.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "trace/tensor.h"

namespace skiff::eager {

/// Functions that share it run on several threads: each sees a whole value.
class VariableState {
 public:
  VariableState(std::string variable, Tensor initial)
      : name(std::move(variable)), value_(std::move(initial)) {}

  const std::string name;
  Tensor Get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void Put(Tensor value) {
    const std::lock_guard lock(mutex_);
    std::swap(value_, value);
  }

 private:
  mutable std::mutex mutex_;
  Tensor value_;  ///< Never symbolic.
};

/// A handle: copies are the same variable. Its dtype, shape and scales are those of the initial value and
/// never change. Outside of traces, reading and assigning happen at once; in a trace they become part of the
/// graph, in the order of the program, also through bodies of Cond and While. Several threads read whole
/// values; of updates that they make at the same time, some may be lost.
class Variable {
 public:
  /// Throws Error where a Function is being traced: each trace would make another one. Create it outside and
  /// let the function capture it.
  explicit Variable(std::string name, const Tensor& initial, const Location& where = Location::current());

  const std::string& name() const { return state_->name; }
  Tensor Read(const Location& where = Location::current()) const;
  operator Tensor() const { return Read(); }  // NOLINT: a variable stands for its value
  /// Throws Error where dtype, shape or scales are others.
  void Assign(const Tensor& value, const Location& where = Location::current());
  void AssignAdd(const Operand& more) { Assign(Sum(more), more.where()); }

  const std::shared_ptr<VariableState>& state() const { return state_; }

 private:
  Tensor Sum(const Operand& more) const;

  std::shared_ptr<VariableState> state_;
};

}  // namespace skiff::eager
