#include "session/input_contract.h"

#include <cstdio>
#include <cstring>

#include "core/extents.h"

namespace skiff {
namespace {

/// "[batch, 3, 224]" for messages.
struct PortText {
  PortText(const ModelData& model, const PortInfo& port) {
    size_t used = 0;
    const auto append = [&](const char* format, auto... arguments) {
      const int written = std::snprintf(text + used, sizeof(text) - used, format, arguments...);
      used += written > 0 ? static_cast<size_t>(written) : 0;
      used = used < sizeof(text) ? used : sizeof(text) - 1;
    };
    append("%s", "[");
    for (int i = 0; i < port.shape.rank(); ++i) {
      const char* separator = i > 0 ? ", " : "";
      if (port.shape[i] >= 0) {
        append("%s%lld", separator, static_cast<long long>(port.shape[i]));
      } else {
        const int32_t symbol = port.symbols[i];
        append("%s%s", separator, symbol >= 0 ? model.symbols[static_cast<size_t>(symbol)].name : "?");
      }
    }
    append("%s", "]");
  }
  char text[512] = "";
};

Status CheckContract(const PortInfo& port, int axis, const SymbolInfo& symbol, int64_t extent) {
  const auto value = static_cast<long long>(extent);
  if (extent < symbol.min || extent > symbol.max) {
    if (symbol.max == SymbolInfo::kUnbounded)
      return Fail(StatusCode::kNoMatchingBucket,
                  "input '%s': dimension %d ('%s') is %lld; the model was converted for %lld or more (--dim "
                  "'%s=%lld..' takes it)",
                  port.name, axis, symbol.name, value, static_cast<long long>(symbol.min), symbol.name,
                  value);
    return Fail(StatusCode::kNoMatchingBucket,
                "input '%s': dimension %d ('%s') is %lld; the model was converted for %lld to %lld",
                port.name, axis, symbol.name, value, static_cast<long long>(symbol.min),
                static_cast<long long>(symbol.max));
  }
  if (extent % symbol.multiple != 0)
    return Fail(StatusCode::kNoMatchingBucket,
                "input '%s': dimension %d ('%s') is %lld; it must be a multiple of %lld", port.name, axis,
                symbol.name, value, static_cast<long long>(symbol.multiple));
  return OkStatus();
}

/// How wide a bucket is, so that narrow ones win; overflow does not matter to the order.
double Width(const PlanData& plan) {
  double width = 1;
  for (const SymbolRange& range : plan.ranges) width *= static_cast<double>(range.max - range.min) + 1.0;
  return width + (plan.kind == BucketKind::kUnbounded ? 1e300 : 0.0);
}

bool Contains(const PlanData& plan, Span<const int64_t> sizes) {
  for (const SymbolRange& range : plan.ranges) {
    const int64_t size = sizes[range.symbol];
    if (size >= 0 && (size < range.min || size > range.max)) return false;
  }
  return true;
}

}  // namespace

Status CheckInput(const ModelData& model, const PortInfo& port, const ConstTensorView& tensor) {
  if (tensor.dtype != port.dtype) {
    return Fail(StatusCode::kInvalidArgument, "input '%s' must be %s, got %s", port.name,
                DTypeName(port.dtype), DTypeName(tensor.dtype));
  }
  if (tensor.quantization != nullptr && !SameQuantization(tensor.quantization, port.quantization)) {
    return Fail(StatusCode::kInvalidArgument,
                "the tensor for input '%s' is quantised, and %s; requantise it, or say nothing of it where "
                "its integers "
                "are the model's",
                port.name, port.quantization == nullptr ? "the input is not" : "the input is in another way");
  }
  const bool same_rank = tensor.shape.rank() == port.shape.rank();
  bool fits = same_rank;
  for (int i = 0; fits && i < port.shape.rank(); ++i)
    fits = port.shape[i] < 0 ? tensor.shape[i] >= 0 : tensor.shape[i] == port.shape[i];
  if (!fits) {
    return same_rank
               ? Fail(StatusCode::kNoMatchingBucket,
                      "input '%s' must have the shape %s, got %s; 'skiff convert' makes a file for another "
                      "shape where its source leaves that open",
                      port.name, PortText(model, port).text, ShapeText(tensor.shape).c_str())
               : Fail(StatusCode::kInvalidArgument,
                      "input '%s' must have the shape %s, got %s, of another rank", port.name,
                      PortText(model, port).text, ShapeText(tensor.shape).c_str());
  }
  for (int i = 0; i < port.shape.rank(); ++i) {
    if (port.symbols[i] < 0) continue;
    SKIFF_RETURN_IF_ERROR(
        CheckContract(port, i, model.symbols[static_cast<size_t>(port.symbols[i])], tensor.shape[i]));
  }
  if (const char* why = WhyNoTensor(tensor.dtype, tensor.shape); why != nullptr) {
    return Fail(StatusCode::kInvalidArgument, "input '%s' is %s %s, which %s", port.name,
                DTypeName(tensor.dtype), ShapeText(tensor.shape).c_str(), why);
  }
  if (!IsAddressable(static_cast<uint64_t>(tensor.bytes()))) {
    return Fail(StatusCode::kOutOfMemory,
                "input '%s' is %s %s: %lld bytes, more than this machine can address", port.name,
                DTypeName(tensor.dtype), ShapeText(tensor.shape).c_str(),
                static_cast<long long>(tensor.bytes()));
  }
  if (tensor.data == nullptr && tensor.bytes() > 0)
    return Fail(StatusCode::kInvalidArgument, "input '%s' has no data", port.name);
  if (!tensor.dense()) return Fail(StatusCode::kInvalidArgument, "input '%s' must be dense", port.name);
  return OkStatus();
}

Status SolveSymbols(const ModelData& model, const SignatureData& signature, Span<const TensorView> inputs,
                    Span<int64_t> sizes) {
  for (int64_t& size : sizes) size = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PortInfo& port = signature.inputs[i];
    for (int axis = 0; axis < port.shape.rank(); ++axis) {
      if (port.symbols[axis] < 0) continue;
      const auto symbol = static_cast<size_t>(port.symbols[axis]);
      const int64_t extent = inputs[i].shape[axis];
      if (sizes[symbol] >= 0 && sizes[symbol] != extent) {
        return Fail(StatusCode::kInvalidArgument,
                    "input '%s': dimension %d ('%s') is %lld, but '%s' is %lld elsewhere; equal names "
                    "mean equal "
                    "sizes",
                    port.name, axis, model.symbols[symbol].name, static_cast<long long>(extent),
                    model.symbols[symbol].name, static_cast<long long>(sizes[symbol]));
      }
      sizes[symbol] = extent;
    }
  }
  return OkStatus();
}

Result<const PlanData*> ChoosePlan(const ModelData& model, const SignatureData& signature, Target target,
                                   Span<const int64_t> sizes) {
  const PlanData* best = nullptr;
  for (const PlanData& plan : signature.plans) {
    if (plan.target != target || !Contains(plan, sizes)) continue;
    if (best == nullptr || Width(plan) < Width(*best)) best = &plan;
  }
  if (best != nullptr) return best;
  char text[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizes.size() && used < sizeof(text); ++i) {
    if (sizes[i] < 0) continue;
    const int written = std::snprintf(text + used, sizeof(text) - used, " %s=%lld", model.symbols[i].name,
                                      static_cast<long long>(sizes[i]));
    used += written > 0 ? static_cast<size_t>(written) : 0;
  }
  return Fail(StatusCode::kNoMatchingBucket,
              "no plan of the file serves%s; convert with a --dim range or a --bucket that contains it",
              text);
}

}  // namespace skiff
