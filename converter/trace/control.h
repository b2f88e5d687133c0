/// Choices and loops over tensors: at once in eager mode, operators with bodies in a trace.
#pragma once

#include <functional>
#include <type_traits>

#include "trace/function.h"

namespace skiff::eager {
namespace internal {

Tensors CondTensors(const Tensor& condition, const std::function<Tensors()>& then,
                    const std::function<Tensors()>& otherwise, const Location& where);
Tensors WhileTensors(const std::function<Tensor(const Tensors&)>& condition,
                     const std::function<Tensors(const Tensors&)>& body, const Tensors& initial,
                     const Location& where);

}  // namespace internal

/// then() where the condition (bool, one element) is true, else otherwise(). Both return the same: nothing, a
/// Tensor, Tensors, or a tuple of tensors, of equal dtypes and shapes. They may capture tensors from around
/// them, and assign variables, print and assert; only the chosen one does so. While tracing, the C++ code of
/// both runs, once.
template <class Then, class Otherwise>
auto Cond(const Tensor& condition, Then&& then, Otherwise&& otherwise,
          const Location& where = Location::current()) {
  using R = std::invoke_result_t<Then>;
  return internal::Results<R>::From(internal::CondTensors(
      condition, [&] { return internal::Flattened<R>(then); },
      [&] { return internal::Flattened<R>(otherwise); }, where));
}

/// Calls variables = body(variables) for as long as condition(variables), a bool of one element, is true, and
/// returns the last ones. The variables are one Tensor or Tensors, and keep their dtypes and ranks.
inline Tensors While(const std::function<Tensor(const Tensors&)>& condition,
                     const std::function<Tensors(const Tensors&)>& body, const Tensors& initial,
                     const Location& where = Location::current()) {
  return internal::WhileTensors(condition, body, initial, where);
}
inline Tensor While(const std::function<Tensor(const Tensor&)>& condition,
                    const std::function<Tensor(const Tensor&)>& body, const Tensor& initial,
                    const Location& where = Location::current()) {
  return internal::WhileTensors([&](const Tensors& x) { return condition(x[0]); },
                                [&](const Tensors& x) { return Tensors{body(x[0])}; }, {initial}, where)[0];
}

}  // namespace skiff::eager
