// Products of codes by kernels of our own: rows of codes become integers less their zero point, a band at a
// time, which all weights meet while they are in the cache.
#include <algorithm>

#include <cpuinfo.h>

#include "core/fixed_array.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/lower/window_bands.h"
#include "delegates/xnnpack/weights/packed_weights.h"
#include "ops/op_codes.h"

namespace skiff::xnnpack {
namespace {

/// Fewer rows meet each weight too seldom to pay for its second byte.
constexpr size_t kLeastRows = 12;

class CodeDenseStep final : public Step {
 public:
  CodeDenseStep(const NodeView& node, const Environment& environment, const DenseLayer& layer)
      : Step(node, environment), layer_(layer) {}

  Status Reshape() override {
    if (node_.op() == OpCode::kConv2d) {
      SKIFF_RETURN_IF_ERROR(bands_.Describe(node_, /*always_copies=*/true, &args_));
    } else {
      const Rows from = RowsOf(node_.in(0));
      bands_.DescribeRows(from.count, from.length, from.stride, &args_);
      args_.outputs = static_cast<size_t>(node_.in(1).shape.elements()) / from.length;
      const Rows to = RowsOf(node_.out(0));
      args_.y_stride = to.length == args_.outputs ? to.stride : args_.outputs;
      if (to.length != args_.outputs && !node_.out(0).dense()) return Refuse();
    }
    const Kernels& kernels = *environment_.kernels;
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    group_panels_ = DensePanelCount(args_, kernels);
    group_words_ = (2 + args_.pairs()) * DenseColumns(args_, kernels);
    bands_.Divide(threads, bands_.groups * group_panels_, sizeof(int16_t),
                  bands_.groups * group_words_ * sizeof(int32_t));
    at_once_ = DensePanelsAtOnce(args_, args_.pairs(), kernels, /*parts=*/1);
    band_elements_ = DivideUp(bands_.band_elements + 1, 32) * 32;
    workspace_bytes_ = threads * band_elements_ * sizeof(int16_t);
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    x_ = node_.in(0).as<const uint8_t>();
    args_.y = node_.out(0).data;
    workspace_ = static_cast<int16_t*>(workspace);
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
  Status Pack() {
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, bands_.groups * args_.outputs, layer_.min, layer_.max));
    terms.SetCodes(&args_);
    PackingKey key;
    key.kind = PackingKind::kCodeDense;
    key.dtype = node_.in(1).dtype;
    key.has_bias = terms.bias() != nullptr;
    key.flags = layer_.transposed ? 1 : 0;
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    const size_t parameters[] = {args_.run, args_.runs[0] * args_.runs[1], args_.outputs, bands_.groups,
                                 environment_.kernels->dense_outputs};
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

  /// Where the weight of an output of the group is.
  size_t WeightPlace(size_t group, size_t output, size_t input) const {
    return layer_.transposed ? input * args_.outputs + output
                             : (group * args_.outputs + output) * args_.inputs() + input;
  }

  void PackGroup(const ProductTerms& terms, size_t group, int32_t* to) const {
    const size_t panel = environment_.kernels->dense_outputs;
    const size_t columns = DenseColumns(args_, *environment_.kernels);
    const size_t runs = args_.runs[0] * args_.runs[1];
    std::fill_n(to, group_words_, 0);
    for (size_t first = 0, width = 0; first < columns; first += width) {
      width = columns - first < 2 * panel ? columns - first : panel;
      const size_t exist = std::min(width, args_.outputs - first);
      for (size_t i = 0; i < exist; ++i) {
        const size_t channel = group * args_.outputs + first + i;
        if (terms.bias() != nullptr) to[i] = terms.bias()[channel];
        reinterpret_cast<float*>(to + width)[i] = terms.factor(channel);
      }
      to += 2 * width;
      for (size_t run = 0; run < runs; ++run) {
        for (size_t k = 0; k < args_.run; ++k) {
          auto* const pairs = reinterpret_cast<int16_t*>(to + k / 2 * width) + k % 2;
          for (size_t i = 0; i < exist; ++i)
            pairs[2 * i] = terms.WeightAt(node_.in(1), WeightPlace(group, first + i, run * args_.run + k));
        }
        to += (args_.run + 1) / 2 * width;
      }
    }
  }

  void RunPart(size_t thread, size_t band, size_t part) const {
    const WindowBands& b = bands_;
    const WindowBands::Band at = b.BandAt(band);
    const uint8_t* const x = x_ + at.pixel * b.x_stride;
    int16_t* const made = workspace_ + thread * band_elements_;
    b.Make(at.line, at.lines, made, [&](size_t pixel, size_t count, int16_t* to) {
      WidenPixels(environment_.kernels->codes.widen, node_.in(0), x + pixel * b.x_stride, count, to);
    });
    // An odd run of the last row is read one further.
    made[at.lines * b.band_width * b.channels] = 0;
    uint8_t* const y = static_cast<uint8_t*>(args_.y) + at.output_pixel * args_.y_stride;
    const CodeDenseFn dense = environment_.kernels->codes.dense[CodeTypeOf(node_.in(0).dtype)];
    b.ForPart(part, group_panels_, at_once_, [&](size_t group, size_t first_panel, size_t end_panel) {
      CodeDenseArgs args = args_;
      args.x = made + group * b.group_channels;
      args.y = y + group * args.outputs;
      args.weights += group * group_words_;
      dense(args, 0, at.output_pixels, first_panel, end_panel);
    });
  }

  const DenseLayer layer_;
  const uint8_t* x_ = nullptr;
  int16_t* workspace_ = nullptr;
  CodeDenseArgs args_;
  WindowBands bands_;
  size_t group_panels_ = 0;
  size_t group_words_ = 0;  ///< Of packed weights.
  size_t at_once_ = 0;      ///< Panels.
  size_t band_elements_ = 0;
};

/// XNNPACK takes the inputs of each tap eight at a time, four in an instruction; ours takes those of a row of
/// taps two at a time, which without VNNI are two instructions.
bool HasFewInputs(const NodeView& node, const Kernels& kernels) {
  if (node.op() != OpCode::kConv2d) return false;
  const auto& attrs = node.As<Conv2dAttrs>();
  const Shape& w = node.in(1).shape;
  if (attrs.groups != 1 || attrs.dilations[1] != 1) return false;
  const int64_t ours = w[1] * ((w[2] * w[3] + 1) / 2) * (kernels.codes.has_vnni ? 1 : 2);
  return ours < w[1] * w[2] * ((w[3] + 7) / 8) * 2;
}

}  // namespace

bool HasFasterSums(const Kernels& kernels) {
#if defined(__x86_64__)
  if (cpuinfo_has_x86_avxvnni()) return true;
#endif
  return kernels.codes.has_vnni || kernels.codes.dense[CodeTypeOf(DType::kI8)] == nullptr;
}

bool RunsCodeDense(const NodeView& node, const Environment& environment) {
  const TensorView& x = node.in(0);
  if (x.quantization == nullptr || DTypeSize(x.dtype) != 1) return false;
  const Kernels& kernels = *environment.kernels;
  if (x.dtype == DType::kI8 && HasFasterSums(kernels) && !HasFewInputs(node, kernels)) return false;
  if (environment.kernels->codes.dense[CodeTypeOf(x.dtype)] == nullptr) return false;
  const size_t rows =
      static_cast<size_t>(node.out(0).shape.elements() / std::max<int64_t>(node.out(0).shape.last(), 1));
  // Windows of one channel are for XNNPACK's depthwise kernels.
  const bool depthwise =
      node.op() == OpCode::kConv2d && node.As<Conv2dAttrs>().groups > 1 && node.in(1).shape[3] == 1;
  return rows >= kLeastRows && !depthwise;
}

Result<StepPointer> LowerCodeDense(const NodeView& node, const Environment& environment,
                                   const DenseLayer& layer) {
  return MakeStep<CodeDenseStep>(node, environment, layer);
}

}  // namespace skiff::xnnpack
