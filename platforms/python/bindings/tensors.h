/// Eager tensors (trace/tensor.h) for Python, and where in a Python program they are used.
#pragma once

#include "platforms/python/bindings/arrays.h"
#include "trace/tensor.h"

namespace skiff::python {

/// The line of Python that is being run, outside of the package itself. With the GIL held.
eager::Location Here();

/// What Python passes for a tensor: a Tensor, a Variable, a number, a list, an array. Numbers and lists
/// become `wanted`; kInvalid: a number is an error, a list has NumPy's type. `what` begins messages about
/// arrays.
eager::Tensor ToOperand(nb::handle object, DType wanted, const std::string& what,
                        const eager::Location& where);
/// Whether it is one of those.
bool IsOperand(nb::handle object);
/// The dtype that an operand has of itself; kInvalid for numbers and lists.
DType OwnType(nb::handle object);
/// Integers as a vector of i64, or a tensor of them.
eager::Tensor ToIntList(nb::handle object, const std::string& what, const eager::Location& where);
/// numpy.float32, numpy.dtype("float32"), "float32" or "f32". Throws Error.
DType ToDType(nb::handle object);

nb::list ToList(const eager::Tensors& tensors);
eager::Tensors FromList(const nb::list& list);

/// Whether work over these should be done without the GIL: outside of traces, where it takes a while.
bool TakesTime(const eager::Tensors& operands);

void BindTensors(nb::module_& module);
void BindOperators(nb::module_& module);
void BindFunctions(nb::module_& module);

}  // namespace skiff::python
