// Products of codes by kernels of our own: rows of codes become what the kernel multiplies, a band at a time,
// which all weights meet while they are in the cache.
#include <algorithm>
#include <cstring>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/code_panel.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/window_bands.h"
#include "delegates/xnnpack/weights/packed_weights.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

/// Those of shorter vectors, where groups fill these and the best ones multiply no bytes.
const Kernels& KernelsFor(const NodeView& node, const Kernels& best) {
  const Kernels* const narrower = best.narrower;
  if (narrower == nullptr || best.codes.dense_of_bytes != nullptr || node.op() != OpCode::kConv2d)
    return best;
  const int64_t groups = node.As<Conv2dAttrs>().groups;
  const bool fills = static_cast<size_t>(node.in(1).shape[0] / groups) == narrower->codes.group_outputs;
  return groups > 1 && fills ? *narrower : best;
}

bool AreNarrow(const TensorView& weights) {
  const auto most = static_cast<uint8_t>(kMostNarrowWeight);
  const auto middle = static_cast<uint8_t>(weights.quantization->ZeroPointAt(0));
  const auto* const codes = weights.as<const uint8_t>();
  return std::all_of(codes, codes + weights.shape.elements(),
                     [&](uint8_t code) { return static_cast<uint8_t>(code - middle + most) <= 2 * most; });
}

/// The kernel that multiplies bytes by these weights; null where none does.
CodeDenseFn FindDenseOfBytes(const CodeKernels& kernels, const TensorView& weights) {
  if (!FitBytes(weights)) return nullptr;
  if (kernels.dense_of_bytes != nullptr) return kernels.dense_of_bytes;
  return kernels.dense_of_narrow_bytes != nullptr && AreNarrow(weights) ? kernels.dense_of_narrow_bytes
                                                                        : nullptr;
}

class CodeDenseStep final : public Step {
 public:
  CodeDenseStep(const NodeView& node, const Environment& environment, const DenseLayer& layer)
      : Step(node, environment),
        layer_(layer),
        tier_(KernelsFor(node, *environment.kernels)),
        kernels_(tier_.codes),
        dense_of_bytes_(FindDenseOfBytes(kernels_, node.in(1))) {}

  Status Reshape() override {
    if (node_.op() == OpCode::kConv2d) {
      SKIFF_RETURN_IF_ERROR(bands_.Describe(node_, /*always_copies=*/true, &args_));
      if (bands_.groups > 1 && args_.outputs == kernels_.group_outputs) JoinGroups();
    } else {
      const Rows from = RowsOf(node_.in(0));
      bands_.DescribeRows(from.count, from.length, from.stride, &args_);
      args_.outputs = static_cast<size_t>(node_.in(1).shape.elements()) / from.length;
      const Rows to = RowsOf(node_.out(0));
      args_.y_stride = to.length == args_.outputs ? to.stride : args_.outputs;
      if (to.length != args_.outputs && !node_.out(0).dense()) return Refuse();
    }
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    group_panels_ = DensePanelCount(args_, tier_);
    const size_t words = args_.words(inputs_of_word());
    group_words_ = (2 + words) * DenseColumns(args_, tier_);
    bands_.Divide(threads, bands_.groups * group_panels_, element_bytes(),
                  bands_.groups * group_words_ * sizeof(int32_t));
    leads_ =
        bands_.parts == 1 && static_cast<size_t>(node_.out(0).shape.last()) == bands_.groups * args_.outputs;
    at_once_ = DensePanelsAtOnce(args_, words, tier_, /*parts=*/1);
    band_bytes_ = DivideUp(bands_.band_elements * element_bytes() + sizeof(int32_t), 64) * 64;
    workspace_bytes_ = threads * band_bytes_;
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    x_ = node_.in(0).as<const uint8_t>();
    args_.y = node_.out(0).data;
    workspace_ = static_cast<uint8_t*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_2d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t band, size_t part) {
          static_cast<const CodeDenseStep*>(step)->RunPart(thread, band, part);
        },
        this, bands_.bands(), bands_.parts, /*flags=*/0);
    return OkStatus();
  }

 private:
  bool of_bytes() const { return dense_of_bytes_ != nullptr; }
  size_t element_bytes() const { return of_bytes() ? sizeof(uint8_t) : sizeof(int16_t); }
  size_t inputs_of_word() const { return sizeof(int32_t) / element_bytes(); }
  /// Of as many outputs as a vector has lanes: as one product, each of whose vectors has inputs of its own.
  void JoinGroups() {
    args_.vector_inputs = bands_.group_channels;
    args_.outputs *= bands_.groups;
    bands_.groups = 1;
  }
  /// What bytes are less than codes by: the least code.
  int byte_zero() const { return node_.in(0).dtype == DType::kI8 ? -128 : 0; }

  Status Pack() {
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, bands_.groups * args_.outputs, layer_.min, layer_.max));
    terms.SetCodes(node_.out(0).dtype, &args_);
    PackingKey key;
    key.kind = PackingKind::kCodeDense;
    key.dtype = node_.in(1).dtype;
    key.has_bias = terms.bias() != nullptr;
    key.flags = (layer_.transposed ? 1 : 0) | (of_bytes() ? 2 : 0);
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    const size_t parameters[] = {args_.run, args_.runs[0] * args_.runs[1], args_.outputs, bands_.groups,
                                 tier_.dense_outputs};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    key.packed_bytes = bands_.groups * group_words_ * sizeof(int32_t);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      for (size_t group = 0; group < bands_.groups; ++group)
        PackGroup(terms, group, static_cast<int32_t*>(blob) + group * group_words_);
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const int32_t*>(packed);
    return OkStatus();
  }

  void PackGroup(const ProductTerms& terms, size_t group, int32_t* to) const {
    const TensorView& w = node_.in(1);
    const int zero_point = w.quantization->ZeroPointAt(0);
    const bool is_signed = w.dtype == DType::kI8;
    CodeWeights weights;
    weights.first = w.as<const uint8_t>() + group * args_.outputs * args_.inputs();
    weights.output_step = layer_.transposed ? 1 : args_.inputs();
    weights.input_step = layer_.transposed ? args_.outputs : 1;
    weights.sign = is_signed ? 0 : 0x80;
    weights.zero_point = is_signed ? zero_point : zero_point - 128;
    const size_t panel = tier_.dense_outputs;
    const size_t columns = DenseColumns(args_, tier_);
    const int64_t byte_zero_point = node_.in(0).quantization->zero_point - byte_zero();
    for (size_t first = 0, width = 0; first < columns; first += width) {
      width = columns - first < 2 * panel ? columns - first : panel;
      const size_t exist = std::min(width, args_.outputs - first);
      int64_t sums[kMostPanelColumns] = {};
      if (of_bytes())
        PackCodePanel<int8_t>(weights, args_, first, exist, width, to + 2 * width, sums);
      else
        PackCodePanel<int16_t>(weights, args_, first, exist, width, to + 2 * width, sums);
      std::fill_n(to, 2 * width, 0);
      for (size_t i = 0; i < exist; ++i) {
        const size_t channel = group * args_.outputs + first + i;
        const int64_t bias = terms.bias() != nullptr ? terms.bias()[channel] : 0;
        // Sums wrap around likewise.
        to[i] = static_cast<int32_t>(of_bytes() ? bias - byte_zero_point * sums[i] : bias);
        reinterpret_cast<float*>(to + width)[i] = terms.factor(channel);
      }
      to += (2 + args_.words(inputs_of_word())) * width;
    }
  }

  /// Lines of the picture as the kernel reads them.
  template <class To>
  void MakeBand(const WidenCodesFn<To> (&widen)[kCodeTypes], int less, const WindowBands::Band& at,
                uint8_t* made) const {
    const WindowBands& b = bands_;
    const uint8_t* const x = x_ + at.pixel * b.x_stride;
    const auto pad = static_cast<To>(node_.in(0).quantization->zero_point - less);
    b.Make(at.line, at.lines, pad, reinterpret_cast<To*>(made), [&](size_t pixel, size_t count, To* to) {
      WidenPixels(widen, node_.in(0), less, x + pixel * b.x_stride, count, to);
    });
  }

  void RunPart(size_t thread, size_t band, size_t part) const {
    const WindowBands& b = bands_;
    const WindowBands::Band at = b.BandAt(band);
    uint8_t* const made = workspace_ + thread * band_bytes_;
    if (of_bytes())
      MakeBand(kernels_.to_bytes, byte_zero(), at, made);
    else
      MakeBand(kernels_.widen, node_.in(0).quantization->zero_point, at, made);
    // The last run's last word may reach further.
    std::memset(made + at.lines * b.band_width * b.channels * element_bytes(), 0, sizeof(int32_t));
    uint8_t* const y = static_cast<uint8_t*>(args_.y) + at.output_pixel * args_.y_stride;
    const CodeDenseFn dense = of_bytes() ? dense_of_bytes_ : kernels_.dense;
    b.ForPart(part, group_panels_, at_once_, [&](size_t group, size_t first_panel, size_t end_panel) {
      CodeDenseArgs args = args_;
      args.x = made + group * b.group_channels * element_bytes();
      args.y = y + group * args.outputs;
      args.weights += group * group_words_;
      dense(args, 0, at.output_pixels, first_panel, end_panel);
    });
    FollowUp(at.output_pixel, at.output_pixels);
  }

  const DenseLayer layer_;
  const Kernels& tier_;
  const CodeKernels& kernels_;
  const CodeDenseFn dense_of_bytes_;
  const uint8_t* x_ = nullptr;
  uint8_t* workspace_ = nullptr;
  CodeDenseArgs args_;
  WindowBands bands_;
  size_t group_panels_ = 0;
  size_t group_words_ = 0;  ///< Of packed weights.
  size_t at_once_ = 0;      ///< Panels.
  size_t band_bytes_ = 0;
};

/// XNNPACK takes the inputs of each tap eight at a time; ours those of a row of taps four at a time.
bool HasFewInputs(const NodeView& node) {
  if (node.op() != OpCode::kConv2d || node.As<Conv2dAttrs>().groups != 1) return false;
  const Shape& w = node.in(1).shape;
  const int64_t ours =
      node.As<Conv2dAttrs>().dilations[1] == 1 ? (w[2] * w[3] + 3) / 4 : w[2] * ((w[3] + 3) / 4);
  return ours < w[2] * ((w[3] + 7) / 8) * 2;
}

/// XNNPACK's kernels of bytes load eight inputs for two instructions, ours four for as many as there are
/// vectors of outputs: one, or two that are half empty.
bool SuitsXnnpack(const NodeView& node, const Kernels& kernels) {
  if (node.in(0).dtype != DType::kI8 || kernels.codes.dense_of_bytes == nullptr) return false;
  const size_t groups = node.op() == OpCode::kConv2d ? static_cast<size_t>(node.As<Conv2dAttrs>().groups) : 1;
  const size_t outputs = static_cast<size_t>(node.out(0).shape.last()) / groups;
  return outputs < kernels.dense_outputs && !HasFewInputs(node);
}

}  // namespace

bool HasFasterSums(const Kernels& kernels) {
  return kernels.codes.dense_of_bytes != nullptr || kernels.codes.dense == nullptr;
}

bool MultipliesBytes(const NodeView& node, const Environment& environment) {
  return FindDenseOfBytes(KernelsFor(node, *environment.kernels).codes, node.in(1)) != nullptr;
}

size_t RowsOfProduct(const NodeView& node) {
  const Shape& y = node.out(0).shape;
  return static_cast<size_t>(y.elements() / std::max<int64_t>(y.last(), 1));
}

bool TakesCodeDense(const NodeView& node, const Environment& environment) {
  const TensorView& x = node.in(0);
  if (x.quantization == nullptr || DTypeSize(x.dtype) != 1) return false;
  if (environment.kernels->codes.dense == nullptr || SuitsXnnpack(node, *environment.kernels)) return false;
  // Windows of one channel are for XNNPACK's depthwise kernels.
  const bool depthwise =
      node.op() == OpCode::kConv2d && node.As<Conv2dAttrs>().groups > 1 && node.in(1).shape[3] == 1;
  return !depthwise;
}

bool RunsCodeDense(const NodeView& node, const Environment& environment) {
  return TakesCodeDense(node, environment) && RowsOfProduct(node) >= kLeastCodeRows;
}

Result<StepPointer> LowerCodeDense(const NodeView& node, const Environment& environment,
                                   const DenseLayer& layer) {
  return MakeStep<CodeDenseStep>(node, environment, layer);
}

}  // namespace skiff::xnnpack
