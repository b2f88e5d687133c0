/// The type of a Function's argument: dtype and extents, of which some may vary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shape_contract.h"
#include "trace/tensor.h"

namespace skiff::eager {

/// An extent: a number, or a Symbol with its contract. Equal names mean equal sizes in a call.
struct DimSpec {
  std::string name;  ///< Empty: a number.
  DimRange range;

  bool open() const { return !name.empty(); }
  int64_t size() const { return range.min; }
};

struct TensorSpec {
  DType dtype = DType::kInvalid;
  std::vector<DimSpec> dims;

  std::string Text() const;
};

/// "f32[batch, seq<=128, 20]". An extent is a number; a name; a name with a largest size (`seq<=128`) or a
/// range
/// (`seq=8..128`, `seq=8..`), either one of multiples only (`seq<=128%8`); or `?`, which is equal to no
/// other. Throws Error (kInvalidArgument) with what was expected.
TensorSpec ParseTensorSpec(std::string_view text);

/// Whether the tensors have these types: the number of extents that are open, -1 where they have not.
int MatchTypes(const std::vector<TensorSpec>& types, const Tensors& tensors);

/// The type of a tensor that is there.
TensorSpec SpecOf(const Tensor& tensor);

}  // namespace skiff::eager
