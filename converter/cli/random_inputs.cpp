#include "cli/random_inputs.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "cli/index_limits.h"
#include "cli/model_sizes.h"
#include "core/error_capture.h"
#include "core/half.h"
#include "graph/error.h"
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
