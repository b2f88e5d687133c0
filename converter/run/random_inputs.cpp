#include "run/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "core/error_capture.h"
#include "core/half.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "plan/limits.h"
#include "plan/shaped_plan.h"
#include "run/index_limits.h"
#include "run/model_sizes.h"
#include "skiff/session.h"

namespace skiff {
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
    case DType::kI4:
    case DType::kU4:
    case DType::kInvalid:
      return;  // No input has it.
  }
}

/// Whole numbers from low to high. The distributions of <random> differ between standard libraries; this does
/// not.
double DrawWhole(std::mt19937_64& generator, int64_t low, int64_t high) {
  return static_cast<double>(low + static_cast<int64_t>(generator() % static_cast<uint64_t>(high - low + 1)));
}
double DrawReal(std::mt19937_64& generator, const RandomRange& range) {
  return range.low + (range.high - range.low) * (static_cast<double>(generator() >> 11) * 0x1p-53);
}

void FillShapeInput(TensorData& tensor, const ShapeInputValues& values, std::mt19937_64& generator) {
  bool first = values.first.has_value();
  FillAny(tensor, [&] {
    const double drawn = DrawWhole(generator, values.low, values.high);
    return std::exchange(first, false) ? static_cast<double>(*values.first) : drawn;
  });
}

/// What the file's settings make of samples of 0 to 255.
void FillPicture(TensorData& tensor, const ImageSpec& image, std::mt19937_64& generator) {
  const int64_t plane = int64_t{image.width} * image.height;
  int64_t i = 0;
  FillAny(tensor, [&] {
    const int64_t channel = (image.nhwc ? i : i / plane) % std::max<int64_t>(image.channels, 1);
    ++i;
    return (DrawWhole(generator, 0, 255) - static_cast<double>(image.mean[channel])) *
           static_cast<double>(image.scale[channel]);
  });
}

/// The whole numbers of an integer type, up to where a double is exact.
RandomRange WholeNumbersOf(DType dtype) {
  constexpr double kMost = 0x1p53;
  if (dtype == DType::kBool) return {0, 1};
  const bool has_sign =
      dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
  const double half = std::ldexp(1.0, static_cast<int>(8 * DTypeSize(dtype) - 1));
  return {has_sign ? -std::min(half, kMost) : 0, std::min(has_sign ? half - 1 : 2 * half - 1, kMost)};
}

/// The width may pass what a double holds, and then there is nothing to draw.
bool IsRange(const RandomRange& range) {
  return std::isfinite(range.low) && std::isfinite(range.high - range.low) && range.low <= range.high;
}

void CheckWhole(const std::string& name, const std::string& why, const RandomRange& range,
                const RandomRange& all) {
  const bool whole = range.low == std::floor(range.low) && range.high == std::floor(range.high);
  if (whole && range.low >= all.low && range.high <= all.high) return;
  Throw(StatusCode::kInvalidArgument,
        "--input-range {}={}..{}: the input {}, so both ends must be whole numbers from {:.0f} to {:.0f}",
        name, range.low, range.high, why, all.low, all.high);
}

void CheckRange(const std::string& name, DType dtype, const RandomRange& range) {
  if (!IsRange(range))
    Throw(StatusCode::kInvalidArgument,
          "--input-range {}={}..{}: expected finite numbers, the lower one first, for example {}=0..1", name,
          range.low, range.high, name);
  if (!IsFloat(dtype))
    CheckWhole(name, fmt::format("holds {}", DTypeName(dtype)), range, WholeNumbersOf(dtype));
}

/// The range of this input, where one was given.
std::optional<RandomRange> Given(const InputRanges& ranges, const PortInfo& port) {
  const auto found = ranges.find(port.name);
  if (found == ranges.end()) return {};
  CheckRange(port.name, port.dtype, found->second);
  return found->second;
}

void CheckNames(const InputRanges& ranges, Span<const PortInfo> ports) {
  for (const auto& [name, range] : ranges) {
    const auto is_it = [&, &wanted = name](const PortInfo& port) { return wanted == port.name; };
    if (std::any_of(ports.begin(), ports.end(), is_it)) continue;
    Throw(StatusCode::kInvalidArgument, "--input-range {}: the model has no input '{}'; its inputs are {}{}",
          name, name, PortNames(ports), DidYouMean(name, NamesOf(ports)));
  }
}

/// What no Session could hold is not drawn first, element by element.
void CheckMemory(const ModelSignature& chosen, const PlanData& plan, const std::vector<int64_t>& sizes) {
  uint64_t drawn = 0;
  for (const PortInfo& port : chosen.data().caller_inputs())
    drawn +=
        static_cast<uint64_t>(ElementBytes(port.dtype, SizedShape(chosen.model(), port, sizes).elements()));
  uint64_t session = drawn;  // At least.
  if (plan.exact())
    session = plan.inputs_outside ? drawn + plan.arena_bytes : std::max(drawn, plan.arena_bytes);
  const uint64_t limit = kDefaultMemoryLimit + kMemoryPerFileByte * chosen.model().file_bytes();
  if (drawn + session <= limit) return;
  Throw(StatusCode::kOutOfMemory,
        "the random inputs would take {} bytes, and a session that runs on them {}{}; both together may take "
        "{}{}",
        drawn, plan.exact() ? "" : "at least ", session, limit,
        plan.exact() ? "" : "; give the model's open dimensions smaller sizes");
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

NamedTensors RandomInputs(const ModelSignature& signature, uint64_t seed,
                          const std::optional<RandomRange>& range) {
  return RandomInputs(signature, DefaultSizes(signature), seed, range);
}

NamedTensors RandomInputs(const ModelSignature& chosen, const std::vector<int64_t>& sizes, uint64_t seed,
                          const std::optional<RandomRange>& range, const InputRanges& ranges,
                          const NamedTensors& known) {
  const Model& model = chosen.model();
  const SignatureData& signature = chosen.data();
  const PlanData& plan = PlanAt(chosen, sizes);
  CheckNames(ranges, signature.caller_inputs());
  if (range && !IsRange(*range))
    Throw(StatusCode::kInvalidArgument,
          "reals of {}..{} cannot be drawn; expected finite numbers, the lower one first, for example 0..255",
          range->low, range->high);
  CheckMemory(chosen, plan, sizes);
  NamedTensors inputs = known;
  // Elements that decide shapes come first: what others index depends on them.
  std::mt19937_64 shape_generator(seed);
  for (size_t i = 0; i < signature.caller_inputs().size(); ++i) {
    const PortInfo& port = signature.caller_inputs()[i];
    if (known.contains(port.name)) continue;
    TensorData& tensor = inputs[port.name] = TensorData(port.dtype, SizedShape(model, port, sizes));
    if (plan.shape_inputs[i]) {
      const std::optional<RandomRange> given = Given(ranges, port);
      if (given) CheckWhole(port.name, "decides a shape", *given, WholeNumbersOf(DType::kI64));
      const ShapeInputValues values =
          given ? ShapeInputValues{static_cast<int64_t>(given->low), static_cast<int64_t>(given->high), {}}
                : ShapeInputValuesOf(plan, i, port.name);
      FillShapeInput(tensor, values, shape_generator);
    }
  }
  const std::vector<Shape> shapes = ShapesAt(plan, PlanInputs(chosen, inputs));
  std::mt19937_64 generator(seed);
  for (size_t i = 0; i < signature.caller_inputs().size(); ++i) {
    const PortInfo& port = signature.caller_inputs()[i];
    if (plan.shape_inputs[i] || known.contains(port.name)) continue;
    const std::optional<RandomRange> given = Given(ranges, port);
    if (IsFloat(port.dtype) && port.image.width > 0 && !given && !range) {
      FillPicture(inputs[port.name], port.image, generator);
      continue;
    }
    if (IsFloat(port.dtype)) {
      FillAny(inputs[port.name],
              [&] { return DrawReal(generator, given ? *given : range.value_or(RandomRange())); });
      continue;
    }
    if (port.quantization != nullptr) {
      const RandomRange all = given.value_or(WholeNumbersOf(port.dtype));
      FillAny(inputs[port.name], [&] {
        return DrawWhole(generator, static_cast<int64_t>(all.low), static_cast<int64_t>(all.high));
      });
      continue;
    }
    const int64_t indexed = IndexLimit(plan, shapes, plan.inputs[i]).value_or(kDefaultLimit);
    const int64_t limit =
        port.dtype == DType::kBool ? 2 : std::clamp<int64_t>(indexed, 1, kLargestIndexLimit);
    const int64_t low = given ? static_cast<int64_t>(given->low) : 0;
    const int64_t high = given ? static_cast<int64_t>(given->high) : limit - 1;
    FillAny(inputs[port.name], [&] { return DrawWhole(generator, low, high); });
  }
  return inputs;
}

std::string WhyRefused(const ModelSignature& signature, const NamedTensors& inputs) {
  ErrorCapture capture;
  try {
    const PlanData& plan = PlanAt(signature, SizesOf(signature, inputs));
    if (plan.kind == BucketKind::kExact) return "";
    const std::vector<TensorView> views = PlanInputs(signature, inputs);
    ShapedPlan shaped;
    PlanMessage message;
    Must([&] { return shaped.Init(plan, true); });
    const Status status = shaped.Shape({views.data(), views.size()}, message);
    return status.ok() ? "" : message.text;
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<std::string> InputsWithoutRule(const ModelSignature& chosen, const InputRanges& ranges) {
  std::vector<std::string> names;
  const SignatureInfo signature = chosen.info();
  const PlanData& plan = chosen.data().plans[0];
  std::vector<Shape> shapes;
  for (const PlanTensor& tensor : plan.tensors) shapes.push_back(tensor.view.shape);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const PortInfo& port = signature.inputs[i];
    const bool whole = !IsFloat(port.dtype) && port.dtype != DType::kBool && port.quantization == nullptr;
    if (!whole || ranges.contains(port.name) || plan.shape_inputs[i]) continue;
    if (!IndexLimit(plan, shapes, plan.inputs[i])) names.emplace_back(port.name);
  }
  return names;
}

}  // namespace skiff
