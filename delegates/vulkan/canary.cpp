#include "delegates/vulkan/canary.h"

#include <cmath>
#include <iterator>

#include "delegates/vulkan/lower/emitter.h"
#include "delegates/vulkan/segment/segment.h"
#include "eager/reference_node.h"
#include "ops/op.h"
#include "ops/op_codes.h"
#include "skiff/quantization.h"

namespace skiff::vulkan {
namespace {

constexpr int kMostInputs = 3;

/// One node: its output, and its inputs, of which all but the first are constants. With kQuantizedConvDot all
/// are codes.
struct Probe {  // In the order that its rows read best in. NOLINT(clang-analyzer-optin.performance.Padding)
  Shader shader;
  OpCode op;
  Shape output;
  Shape inputs[kMostInputs];
  int input_count;
  void (*set_attrs)(AttrStorage& attrs);
};

void SamePads(AttrStorage& attrs) { attrs.as<Conv2dAttrs>().pads = {1, 1, 1, 1}; }
void Depthwise(AttrStorage& attrs) {
  SamePads(attrs);
  attrs.as<Conv2dAttrs>().groups = 8;
}
void LastAxis(AttrStorage& attrs) { attrs.as<AxisAttrs>().axis = -1; }
void Spatial(AttrStorage& attrs) { attrs.as<ReduceAttrs>().axes = {1, 2}; }
void Nothing(AttrStorage&) {}

Span<const Probe> Probes() {
  static const Probe probes[] = {
      {Shader::kConv, OpCode::kConv2d, {1, 9, 7, 8}, {{1, 9, 7, 4}, {8, 3, 3, 4}, {8}}, 3, SamePads},
      {Shader::kDepthwise, OpCode::kConv2d, {1, 9, 7, 8}, {{1, 9, 7, 8}, {8, 3, 3, 1}, {8}}, 3, Depthwise},
      {Shader::kBinary, OpCode::kAdd, {1, 9, 7, 8}, {{1, 9, 7, 8}, {8}}, 2, Nothing},
      {Shader::kUnary, OpCode::kSilu, {1, 9, 7, 8}, {{1, 9, 7, 8}}, 1, Nothing},
      {Shader::kReduce, OpCode::kReduceMean, {1, 1, 1, 8}, {{1, 9, 11, 8}}, 1, Spatial},
      {Shader::kQuantizedConvDot, OpCode::kConv2d, {1, 9, 7, 8}, {{1, 9, 7, 12}, {8, 3, 3, 12}}, 2, SamePads},
      {Shader::kSoftmax, OpCode::kSoftmax, {2, 100}, {{2, 100}}, 1, LastAxis},
  };
  return {probes, std::size(probes)};
}

constexpr bool HasCodes(const Probe& probe) { return probe.shader == Shader::kQuantizedConvDot; }

/// The shader, the lowering, and the kernel to compare with are in the build, and Models with these options
/// use the shader.
bool IsUsed(const Probe& probe, const Device& device, const VulkanOptions& options) {
  const OpDef* op = FindOp(probe.op);
  return op != nullptr && op->kernel != nullptr && FindLowering(probe.op, HasCodes(probe)) != nullptr &&
         CodeOf(probe.shader, options.precision).words != nullptr &&
         (!HasCodes(probe) || device.DotsFor(options) != 0);
}

/// Values in [-1, 1] that no two probes share, exact in f16.
void Fill(float* values, int64_t count, uint32_t seed) {
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<float>(static_cast<int32_t>(seed >> 22) - 512) / 512.0f;
  }
}

void FillCodes(int8_t* codes, int64_t count, uint32_t seed) {
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    codes[i] = static_cast<int8_t>(seed >> 24);
  }
}

class ProbeRun {
 public:
  explicit ProbeRun(const Probe& probe) : probe_(probe) {
    quantization_[0].zero_point = -5;
    quantization_[1].zero_point = 3;
    quantization_[kMostInputs].scale = 1500;
  }

  /// The largest difference from the reference, relative to the largest result; infinite for NaN.
  Result<double> Difference(const Environment& environment) {
    InitAttrs(probe_.op, attrs_);
    probe_.set_attrs(attrs_);
    SKIFF_RETURN_IF_ERROR(MakeTensors());
    node_ = {FindOp(probe_.op),
             &attrs_,
             "canary",
             {indices_, static_cast<size_t>(probe_.input_count)},
             {indices_ + kMostInputs, 1}};
    const SegmentView view{{tensors_, kMostInputs + 1}, {&node_, 1}, 0, 1};
    ReferenceNode reference;
    SKIFF_RETURN_IF_ERROR(reference.Prepare(view, 0));
    SKIFF_RETURN_IF_ERROR(reference.Reshape());
    SKIFF_RETURN_IF_ERROR(reference.Bind());
    SKIFF_RETURN_IF_ERROR(reference.Run());
    output().data = got_.data();
    Segment segment(view, environment);
    SKIFF_RETURN_IF_ERROR(segment.Prepare());
    SKIFF_RETURN_IF_ERROR(segment.Reshape());
    SKIFF_RETURN_IF_ERROR(segment.Bind());
    SKIFF_RETURN_IF_ERROR(segment.Run({}));
    return Compared();
  }

 private:
  TensorView& output() { return tensors_[kMostInputs].view; }

  Status MakeTensors() {
    for (int i = 0; i < probe_.input_count; ++i) {
      const auto count = probe_.inputs[i].elements();
      SKIFF_RETURN_IF_ERROR(values_[i].Allocate(static_cast<size_t>(count)));
      const auto seed = static_cast<uint32_t>(probe_.shader) * 16 + static_cast<uint32_t>(i);
      if (HasCodes(probe_)) {
        FillCodes(reinterpret_cast<int8_t*>(values_[i].data()), count, seed);
      } else {
        Fill(values_[i].data(), count, seed);
      }
      tensors_[i].view = ViewOf(values_[i], probe_.inputs[i], i);
      tensors_[i].constant = i > 0;
      tensors_[i].hash = {0x63616e617279u, seed};
      indices_[i] = i;
    }
    const auto count = static_cast<size_t>(probe_.output.elements());
    SKIFF_RETURN_IF_ERROR(expected_.Allocate(count));
    SKIFF_RETURN_IF_ERROR(got_.Allocate(count));
    output() = ViewOf(expected_, probe_.output, kMostInputs);
    indices_[kMostInputs] = kMostInputs;
    return OkStatus();
  }

  TensorView ViewOf(FixedArray<float>& memory, const Shape& shape, int tensor) {
    if (!HasCodes(probe_)) return TensorView(memory.data(), DType::kF32, shape);
    return TensorView(memory.data(), DType::kI8, shape, &quantization_[tensor]);
  }

  double ElementOf(const FixedArray<float>& memory, size_t i) const {
    if (!HasCodes(probe_)) return static_cast<double>(memory[i]);
    return reinterpret_cast<const int8_t*>(memory.data())[i];
  }

  double Compared() const {
    double largest = 0;
    double difference = 0;
    for (size_t i = 0; i < got_.size(); ++i) {
      largest = std::fmax(largest, std::fabs(ElementOf(expected_, i)));
      const double one = std::fabs(ElementOf(got_, i) - ElementOf(expected_, i));
      difference = one <= difference ? difference : one;  // NaN stays.
    }
    return std::isnan(difference) ? HUGE_VAL : difference / largest;
  }

  const Probe& probe_;
  AttrStorage attrs_;
  PlanTensor tensors_[kMostInputs + 1];
  PlanNode node_;
  int32_t indices_[kMostInputs + 1] = {};
  Quantization quantization_[kMostInputs + 1];
  FixedArray<float> values_[kMostInputs];
  FixedArray<float> expected_;
  FixedArray<float> got_;
};

}  // namespace

Status CheckDevice(const std::shared_ptr<Device>& device, const VulkanOptions& options,
                   const char* cache_folder) {
  // What is forced may be another shader than was tried before.
  const bool usual = options.fault == VulkanFault::kNone && options.dot == VulkanDot::kWhereFast;
  if (usual && device->IsChecked(options.precision)) return OkStatus();
  Weights weights(device, options, 0);
  std::shared_ptr<Arena> arena;
  Tuning tuning(*device, options, nullptr);
  const Environment environment{device, &options, cache_folder, &weights, &tuning, &device->pipelines(),
                                {},     &arena};
  // A driver without a defect stays far below; one with a defect is rarely near.
  const double allowed = options.precision == VulkanPrecision::kF32 ? 1e-4 : 1e-2;
  size_t tried = 0;
  size_t wrong = 0;
  for (const Probe& probe : Probes()) {
    if (!IsUsed(probe, *device, options)) continue;
    ++tried;
    SKIFF_ASSIGN_OR_RETURN(const double difference, ProbeRun(probe).Difference(environment));
    if (difference <= allowed) continue;
    ++wrong;
    if (options.fault == VulkanFault::kNone) device->Quarantine(probe.shader);
    Log(LogLevel::kWarning, "'%s' computes wrong numbers with the shader %s (off by %.1e of the largest)",
        device->name(), ShaderName(probe.shader), difference);
  }
  if (wrong > 0 && wrong == tried)
    return Fail(StatusCode::kUnsupported, "'%s' computes wrong numbers with every shader that was tried",
                device->name());
  // A shader that this Model must not use was not tried.
  if (usual && options.quarantine == nullptr) device->SetChecked(options.precision);
  return OkStatus();
}

}  // namespace skiff::vulkan
