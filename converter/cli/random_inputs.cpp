#include "cli/random_inputs.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "cli/index_limits.h"
#include "core/error_capture.h"
#include "core/half.h"
#include "graph/error.h"
#include "input_contract.h"
#include "plan/shaped_plan.h"

namespace skiff::cli {
namespace {

constexpr int64_t kDefaultLimit = 8;
constexpr int64_t kLargestIndexLimit = 100;

template <class T>
void Fill(TensorData& tensor, const std::function<double()>& next) {
  auto* data = static_cast<T*>(tensor.mutable_data());
  for (int64_t i = 0; i < tensor.elements(); ++i) data[i] = static_cast<T>(next());
}

void FillAny(TensorData& tensor, const std::function<double()>& next) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return Fill<float>(tensor, next);
    case DType::kF64:
      return Fill<double>(tensor, next);
    case DType::kI8:
      return Fill<int8_t>(tensor, next);
    case DType::kI16:
      return Fill<int16_t>(tensor, next);
    case DType::kU16:
      return Fill<uint16_t>(tensor, next);
    case DType::kI32:
      return Fill<int32_t>(tensor, next);
    case DType::kU32:
      return Fill<uint32_t>(tensor, next);
    case DType::kI64:
      return Fill<int64_t>(tensor, next);
    case DType::kU64:
      return Fill<uint64_t>(tensor, next);
    case DType::kU8:
    case DType::kBool:
      return Fill<uint8_t>(tensor, next);
    case DType::kF16: {
      auto* data = static_cast<Half*>(tensor.mutable_data());
      for (int64_t i = 0; i < tensor.elements(); ++i) data[i] = Half(static_cast<float>(next()));
      return;
    }
    case DType::kInvalid:
      return;
  }
}

void FillShapeInput(TensorData& tensor, const ShapeValues& values, std::mt19937_64& generator) {
  const auto count = static_cast<uint64_t>(values.high - values.low + 1);
  bool first = values.first.has_value();
  FillAny(tensor, [&] {
    const int64_t drawn = values.low + static_cast<int64_t>(generator() % count);
    return static_cast<double>(std::exchange(first, false) ? *values.first : drawn);
  });
}

/// The plan that serves these sizes.
const PlanData& PlanAt(const Model& model, const std::vector<int64_t>& sizes) {
  return *Must([&] {
    return ChoosePlan(model.data(), model.data().signatures[0], Target::kCpu, {sizes.data(), sizes.size()});
  });
}

bool IsServed(const Model& model, const std::vector<int64_t>& sizes) {
  ErrorCapture quiet;
  return ChoosePlan(model.data(), model.data().signatures[0], Target::kCpu, {sizes.data(), sizes.size()})
      .ok();
}

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

/// The shape of each tensor of the plan for these inputs; as stored where the plan refuses them, which the
/// run will then say.
std::vector<Shape> ShapesAt(const PlanData& plan, const std::vector<TensorView>& inputs) {
  ErrorCapture quiet;
  ShapedPlan shaped;
  PlanMessage message;
  const bool known = plan.kind != BucketKind::kExact && shaped.Init(plan, true).ok() &&
                     shaped.Shape({inputs.data(), inputs.size()}, message).ok();
  std::vector<Shape> shapes;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    shapes.push_back(known ? shaped.tensors()[i].view.shape : plan.tensors[i].view.shape);
  return shapes;
}

}  // namespace

std::vector<int64_t> ClosedSizes(const Model& model, const SymbolSizes& sizes) {
  std::vector<int64_t> closed = DefaultSizes(model);
  for (size_t i = 0; i < sizes.sizes.size(); ++i) {
    if (sizes.sizes[i] >= 0) closed[i] = sizes.sizes[i];
  }
  return closed;
}

std::vector<int64_t> DefaultSizes(const Model& model) {
  constexpr int64_t kUnboundedSize = 7;
  std::vector<int64_t> sizes;
  for (const SymbolInfo& symbol : model.symbols()) {
    const int64_t wanted =
        symbol.max == SymbolInfo::kUnbounded ? std::max(symbol.min, kUnboundedSize) : symbol.max;
    sizes.push_back(std::max<int64_t>(wanted / symbol.multiple, 1) * symbol.multiple);
  }
  return IsServed(model, sizes) ? sizes : CornerOf(model, model.data().signatures[0].plans[0], sizes);
}

std::vector<int64_t> SizesOf(const Model& model, const NamedTensors& inputs) {
  const SignatureData& signature = model.data().signatures[0];
  std::vector<TensorView> views;
  for (const PortInfo& port : signature.inputs) {
    views.push_back(inputs.at(port.name).view());
    Must([&] { return CheckInput(model.data(), port, views.back()); });
  }
  std::vector<int64_t> sizes(model.symbols().size());
  Must([&] {
    return SolveSymbols(model.data(), signature, {views.data(), views.size()}, {sizes.data(), sizes.size()});
  });
  return sizes;
}

std::vector<int64_t> OtherSizes(const Model& model, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> other = sizes;
  for (size_t i = 0; i < other.size(); ++i) {
    const SymbolInfo& symbol = model.symbols()[i];
    if (sizes[i] - symbol.multiple >= std::max<int64_t>(symbol.min, 1)) {
      other[i] -= symbol.multiple;
    } else if (symbol.max - symbol.multiple >= sizes[i]) {
      other[i] += symbol.multiple;
    }
  }
  if (IsServed(model, other)) return other;
  for (const PlanData& plan : model.data().signatures[0].plans) {
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
  return shape;
}

NamedTensors RandomInputs(const Model& model, uint64_t seed, const RandomRange& range) {
  return RandomInputs(model, DefaultSizes(model), seed, range);
}

NamedTensors RandomInputs(const Model& model, const std::vector<int64_t>& sizes, uint64_t seed,
                          const RandomRange& range) {
  const SignatureData& signature = model.data().signatures[0];
  const PlanData& plan = PlanAt(model, sizes);
  NamedTensors inputs;
  std::vector<TensorView> views;
  // Elements that decide shapes come first: what others index depends on them.
  std::mt19937_64 shape_generator(seed);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const PortInfo& port = signature.inputs[i];
    TensorData& tensor = inputs[port.name] = TensorData(port.dtype, SizedShape(model, port, sizes));
    if (plan.shape_inputs[i]) FillShapeInput(tensor, ShapeValuesOf(plan, i, port.name), shape_generator);
    views.push_back(tensor.view());
  }
  const std::vector<Shape> shapes = ShapesAt(plan, views);
  std::mt19937_64 generator(seed);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const PortInfo& port = signature.inputs[i];
    if (plan.shape_inputs[i]) continue;
    const int64_t indexed = IndexLimit(plan, shapes, plan.inputs[i]).value_or(kDefaultLimit);
    const int64_t limit =
        port.dtype == DType::kBool ? 2 : std::clamp<int64_t>(indexed, 1, kLargestIndexLimit);
    // The distributions of <random> differ between standard libraries; these two lines do not.
    const auto real = [&] {
      return range.low + (range.high - range.low) * (static_cast<double>(generator() >> 11) * 0x1p-53);
    };
    const auto integer = [&] { return static_cast<double>(generator() % static_cast<uint64_t>(limit)); };
    FillAny(inputs[port.name],
            IsFloat(port.dtype) ? std::function<double()>(real) : std::function<double()>(integer));
  }
  return inputs;
}

}  // namespace skiff::cli
