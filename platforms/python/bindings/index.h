/// tensor[key], as NumPy writes it.
#pragma once

#include "platforms/python/bindings/python.h"

#include "trace/tensor.h"

namespace skiff::python {

/// Integers, slices (whose ends may be tensors), None, ... and one tensor of integers, which takes rows.
/// Throws Error.
eager::Tensor IndexTensor(const eager::Tensor& tensor, nb::handle key);

}  // namespace skiff::python
