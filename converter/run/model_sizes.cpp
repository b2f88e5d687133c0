#include "run/model_sizes.h"

#include <algorithm>

#include "core/error_capture.h"
#include "core/extents.h"
#include "graph/error.h"
#include "session/input_contract.h"

namespace skiff {
namespace {

/// The largest sizes of a plan; what it does not bound is as in `sizes`.
std::vector<int64_t> CornerOf(const Model& model, const PlanData& plan, std::vector<int64_t> sizes) {
  for (const SymbolRange& range : plan.ranges) {
    const int64_t multiple = model.symbols()[range.symbol].multiple;
    const int64_t largest = range.max == SymbolInfo::kUnbounded ? std::max(sizes[range.symbol], range.min)
                                                                : range.max / multiple * multiple;
    sizes[range.symbol] = std::max(largest, range.min);
  }
  return sizes;
}

}  // namespace

const PlanData& PlanAt(const ModelSignature& signature, const std::vector<int64_t>& sizes, Target target) {
  return *Must([&] {
    return ChoosePlan(signature.model().data(), signature.data(), target, {sizes.data(), sizes.size()});
  });
}

bool IsServed(const ModelSignature& signature, const std::vector<int64_t>& sizes) {
  ErrorCapture quiet;
  return ChoosePlan(signature.model().data(), signature.data(), Target::kCpu, {sizes.data(), sizes.size()})
      .ok();
}

std::vector<int64_t> ClosedSizes(const ModelSignature& signature, const SymbolSizes& sizes,
                                 int64_t unbounded) {
  std::vector<int64_t> closed = DefaultSizes(signature, unbounded);
  for (size_t i = 0; i < sizes.sizes.size(); ++i) {
    if (sizes.sizes[i] >= 0) closed[i] = sizes.sizes[i];
  }
  return closed;
}

std::vector<int64_t> DefaultSizes(const ModelSignature& signature, int64_t unbounded) {
  const Model& model = signature.model();
  std::vector<int64_t> sizes;
  for (const SymbolInfo& symbol : model.symbols()) {
    if (!signature.Has(sizes.size())) {
      sizes.push_back(-1);
      continue;
    }
    const int64_t wanted =
        symbol.max == SymbolInfo::kUnbounded ? std::max(symbol.min, unbounded) : symbol.max;
    // Up where there is room, so that it is not below the smallest.
    const int64_t up = symbol.max == SymbolInfo::kUnbounded ? symbol.multiple - 1 : 0;
    sizes.push_back(std::max<int64_t>((wanted + up) / symbol.multiple, 1) * symbol.multiple);
  }
  return IsServed(signature, sizes) ? sizes : CornerOf(model, signature.data().plans[0], sizes);
}

std::vector<int64_t> SizesOf(const ModelSignature& signature, const NamedTensors& inputs) {
  const Model& model = signature.model();
  std::vector<TensorView> views;
  for (const PortInfo& port : signature.data().caller_inputs()) {
    views.push_back(inputs.at(port.name).view());
    Must([&] { return CheckInput(model.data(), port, views.back()); });
  }
  std::vector<int64_t> sizes(model.symbols().size());
  Must([&] {
    return SolveSymbols(model.data(), signature.data(), {views.data(), views.size()},
                        {sizes.data(), sizes.size()});
  });
  return sizes;
}

std::vector<TensorView> PlanInputs(const ModelSignature& signature, const NamedTensors& inputs) {
  const SignatureData& data = signature.data();
  std::vector<TensorView> views;
  for (const PortInfo& port : data.caller_inputs()) views.push_back(inputs.at(port.name).view());
  for (size_t i = data.input_count; i < data.inputs.size(); ++i)
    views.push_back(signature.model().variables()[static_cast<size_t>(data.inputs[i].variable)].initial);
  return views;
}

std::vector<int64_t> OtherSizes(const ModelSignature& signature, const std::vector<int64_t>& sizes) {
  const Model& model = signature.model();
  std::vector<int64_t> other = sizes;
  for (size_t i = 0; i < other.size(); ++i) {
    if (!signature.Has(i)) continue;
    const SymbolInfo& symbol = model.symbols()[i];
    if (sizes[i] - symbol.multiple >= std::max<int64_t>(symbol.min, 1)) {
      other[i] -= symbol.multiple;
    } else if (symbol.max - symbol.multiple >= sizes[i]) {
      other[i] += symbol.multiple;
    }
  }
  if (IsServed(signature, other)) return other;
  for (const PlanData& plan : signature.data().plans) {
    other = CornerOf(model, plan, sizes);
    if (other != sizes) return other;
  }
  return sizes;
}

Shape SizedShape(const Model& model, const PortInfo& port, const std::vector<int64_t>& sizes) {
  Shape shape = port.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (port.symbols[axis] >= 0) shape[axis] = sizes.at(static_cast<size_t>(port.symbols[axis]));
    if (shape[axis] < 0)
      Throw(StatusCode::kInternal, "input '{}' of {} has an open dimension without a name", port.name,
            model.producer());
  }
  if (const char* why = WhyNoTensor(port.dtype, shape))
    Throw(StatusCode::kInvalidArgument,
          "input '{}' would be {} {}, which {}; give its open dimensions smaller sizes", port.name,
          DTypeName(port.dtype), ShapeText(shape).c_str(), why);
  return shape;
}

}  // namespace skiff
