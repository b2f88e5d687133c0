#include "files/input_type.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/counted.h"
#include "graph/error.h"

namespace skiff {
namespace {

const char* NumpyName(DType dtype) {
  constexpr const char* kNames[] = {"",       "float32", "float16", "int8",   "uint8",
                                    "int16",  "uint16",  "int32",   "uint32", "int64",
                                    "uint64", "bool",    "float64", "int4",   "uint4"};
  static_assert(std::size(kNames) == kDTypeCount);
  return kNames[static_cast<size_t>(dtype)];
}

/// How a file of this kind gets other elements: a Python expression over the array that it holds.
std::string SavedAs(const std::string& path, const std::string& expression) {
  return path.ends_with(".pb") ? fmt::format("write it with onnx.numpy_helper.from_array({})", expression)
                               : fmt::format("save it with numpy as {}", expression);
}

std::string TypeRemedy(const std::string& path, const PortInfo& port) {
  const std::string remedy = SavedAs(path, fmt::format("array.astype('{}')", NumpyName(port.dtype)));
  return port.quantization == nullptr ? remedy
                                      : remedy +
                                            " if these are its integers, as array.astype('float32') if they "
                                            "are the real numbers";
}

/// The shape, with -1 for its only open extent, where the file's elements fill it; "" where they do not.
std::string ShapeOfSameElements(const Shape& wanted, int64_t elements) {
  int64_t known = 1;
  int open = 0;
  for (const int64_t extent : wanted) {
    if (extent < 0) ++open;
    if (extent >= 0) known *= extent;
  }
  const bool fills = open == 0   ? known == elements
                     : open == 1 ? known > 0 && elements > 0 && elements % known == 0
                                 : false;
  return fills ? fmt::format("{}", fmt::join(wanted.begin(), wanted.end(), ", ")) : "";
}

bool Fits(const Shape& shape, const Shape& wanted) {
  bool fits = shape.rank() == wanted.rank();
  for (int i = 0; fits && i < wanted.rank(); ++i) fits = wanted[i] < 0 || wanted[i] == shape[i];
  return fits;
}

/// The extents that are not 1, whose order tells whether elements move.
std::vector<int64_t> LongExtents(const Shape& shape) {
  std::vector<int64_t> extents;
  for (const int64_t extent : shape) {
    if (extent != 1) extents.push_back(extent);
  }
  return extents;
}

Shape Transposed(const Shape& shape, const std::vector<int>& axes) {
  Shape transposed;
  for (const int axis : axes) transposed.Append(shape[axis]);
  return transposed;
}

/// What pictures and volumes are turned by: channels from behind to the front, and back.
std::vector<std::vector<int>> PictureOrders(int rank) {
  if (rank == 3) return {{2, 0, 1}, {1, 2, 0}};
  if (rank == 4) return {{0, 3, 1, 2}, {0, 2, 3, 1}};
  if (rank == 5) return {{0, 4, 1, 2, 3}, {0, 2, 3, 4, 1}};
  return {};
}

/// How the array is turned where the same extents are wanted in another order; "" where they are not, or no
/// element would move. Other elements would be neighbours if it were reshaped.
std::string TurnedAs(const Shape& shape, const Shape& wanted) {
  std::vector<std::vector<int>> orders = PictureOrders(shape.rank());
  std::vector<int> axes(static_cast<size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  // Behind those, whatever fits; sixth axes and more are nobody's pictures.
  while (axes.size() <= 4 && std::next_permutation(axes.begin(), axes.end())) orders.push_back(axes);
  const bool one_call = shape.rank() + 1 == wanted.rank() && (wanted[0] == 1 || wanted[0] < 0);
  for (const std::vector<int>& order : orders) {
    const Shape turned = Transposed(shape, order);
    if (LongExtents(turned) == LongExtents(shape)) continue;
    const std::string text = fmt::format("array.transpose({})", fmt::join(order, ", "));
    if (Fits(turned, wanted)) return text;
    if (!one_call) continue;
    Shape batch{1};
    for (const int64_t extent : turned) batch.Append(extent);
    if (Fits(batch, wanted)) return text + "[numpy.newaxis]";
  }
  return "";
}

/// The options that gave an open dimension another size than the file has, where that is all that is wrong.
std::string SaidOtherwise(const Shape& shape, const PortInfo& port, const SymbolSizes& sizes) {
  const PortInfo sized = sizes.Sized(port);
  std::vector<std::string> said;
  if (shape.rank() != port.shape.rank()) return "";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (sized.shape[axis] < 0 || sized.shape[axis] == shape[axis]) continue;
    if (port.shape[axis] >= 0) return "";
    const std::string& option = sizes.said[static_cast<size_t>(port.symbols[axis])];
    if (std::find(said.begin(), said.end(), option) == said.end()) said.push_back(option);
  }
  return said.empty()
             ? ""
             : fmt::format("it would fit without {}: the file says its sizes itself", fmt::join(said, " "));
}

std::string ShapeRemedy(const std::string& path, const Shape& shape, const PortInfo& port,
                        const SymbolSizes& sizes) {
  if (const std::string said = SaidOtherwise(shape, port, sizes); !said.empty()) return said;
  const PortInfo sized = sizes.Sized(port);
  if (const std::string turned = TurnedAs(shape, sized.shape); !turned.empty())
    return fmt::format("the axes are in another order: {}", SavedAs(path, turned));
  if (const std::string same = ShapeOfSameElements(sized.shape, shape.elements()); !same.empty())
    return SavedAs(path, fmt::format("array.reshape({})", same));
  if (shape.rank() != port.shape.rank())
    return fmt::format("the array needs {}, which no conversion changes",
                       Counted(static_cast<uint64_t>(port.shape.rank()), "dimension"));
  std::string axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (port.shape[axis] >= 0 && port.shape[axis] != shape[axis])
      axes += fmt::format("{}{}", axes.empty() ? "" : ", ", axis);
  }
  return fmt::format(
      "the model is for no other size of axis {}. Where its source leaves that open, as 'skiff inspect' "
      "tells, "
      "'skiff convert' makes a model for this one: --shape '{}={}'",
      axes, port.name, fmt::join(shape.begin(), shape.end(), "x"));
}

}  // namespace

void CheckInputType(const std::string& path, const TensorData& tensor, const PortInfo& port,
                    const SymbolSizes& sizes) {
  const auto fail = [&](const std::string& remedy) {
    Throw(StatusCode::kInvalidArgument, "{}: input '{}' must be {}, the file holds {} {}; {}", path,
          port.name, sizes.TypeText(port), DTypeName(tensor.dtype()), ShapeText(tensor.shape()).c_str(),
          remedy);
  };
  const bool reals = port.quantization != nullptr && tensor.dtype() == DType::kF32;
  if (tensor.dtype() != port.dtype && !reals) fail(TypeRemedy(path, port));
  const Shape wanted = sizes.Sized(port).shape;
  if (!Fits(tensor.shape(), wanted)) fail(ShapeRemedy(path, tensor.shape(), port, sizes));
}

}  // namespace skiff
