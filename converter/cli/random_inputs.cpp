#include "cli/random_inputs.h"

#include <algorithm>
#include <functional>
#include <random>

#include "core/half.h"
#include "format/model_data.h"
#include "graph/error.h"

namespace skiff::cli {
namespace {

constexpr int64_t kDefaultLimit = 8;

/// The smallest extent that some Gather indexes by the elements of `tensor`; 0 when none does.
int64_t IndexLimit(const PlanData& plan, int32_t tensor) {
  int64_t limit = 0;
  const auto tighten = [&](int64_t other) {
    if (other > 0) limit = limit == 0 ? other : std::min(limit, other);
  };
  for (const PlanNode& node : plan.nodes) {
    const auto* used = std::find(node.inputs.begin(), node.inputs.end(), tensor);
    if (used == node.inputs.end()) continue;
    if (node.op->code == OpCode::kGather && used - node.inputs.begin() == 1) {
      const Shape& data = plan.tensors[static_cast<size_t>(node.inputs[0])].view.shape;
      const int64_t axis = node.attrs->as<AxisAttrs>().axis;
      tighten(data[static_cast<int>(axis < 0 ? axis + data.rank() : axis)]);  // Open ones, -1, limit nothing.
    } else if (node.op->Is(kReinterpret) || node.op->code == OpCode::kCast ||
               node.op->code == OpCode::kTranspose) {
      tighten(IndexLimit(plan, node.outputs[0]));
    }
  }
  return limit;
}

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

}  // namespace

std::vector<int64_t> DefaultSizes(const Model& model) {
  constexpr int64_t kUnboundedSize = 7;
  std::vector<int64_t> sizes;
  for (const SymbolInfo& symbol : model.symbols()) {
    const int64_t wanted =
        symbol.max == SymbolInfo::kUnbounded ? std::max(symbol.min, kUnboundedSize) : symbol.max;
    sizes.push_back(std::max<int64_t>(wanted / symbol.multiple, 1) * symbol.multiple);
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
  const SignatureInfo signature = model.signature(0);
  const PlanData& plan = model.data().signatures[0].plans[0];
  std::mt19937_64 generator(seed);
  NamedTensors inputs;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const PortInfo& port = signature.inputs[i];
    const int64_t index_limit = IndexLimit(plan, plan.inputs[i]);
    const int64_t limit = port.dtype == DType::kBool
                              ? 2
                              : std::min<int64_t>(index_limit > 0 ? index_limit : kDefaultLimit, 100);
    TensorData tensor(port.dtype, SizedShape(model, port, sizes));
    // The distributions of <random> differ between standard libraries; these two lines do not.
    const auto real = [&] {
      return range.low + (range.high - range.low) * (static_cast<double>(generator() >> 11) * 0x1p-53);
    };
    const auto integer = [&] { return static_cast<double>(generator() % static_cast<uint64_t>(limit)); };
    FillAny(tensor, IsFloat(port.dtype) ? std::function<double()>(real) : std::function<double()>(integer));
    inputs[port.name] = std::move(tensor);
  }
  return inputs;
}

}  // namespace skiff::cli
