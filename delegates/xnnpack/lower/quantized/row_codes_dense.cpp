// Rows of codes that are chosen at run time, or windows of pictures of them, times constant codes, to f32, by
// kernels of ours: a band of them becomes what these multiply, and the sums of some panels become real
// numbers while they are in the cache.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "delegates/xnnpack/lower/by_shape.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/code_panel.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/lower/window_bands.h"
#include "delegates/xnnpack/lower/winograd_tiles.h"
#include "ops/shape_rules.h"

namespace skiff::xnnpack {
namespace {

/// Rows whose sums are made before they become real numbers: two of the pairs of tiles that AMX has.
constexpr size_t kSumRows = 64;
/// What bytes are more than codes.
constexpr int kByteOfZero = 128;

size_t Aligned(size_t bytes) { return DivideUp(bytes, 64) * 64; }

bool HasWindows(const NodeView& node) {
  return node.op() == OpCode::kConv2d && !IsPointwise(node.As<Conv2dAttrs>(), node.in(1).shape);
}

class RowCodesDenseStep final : public Step {
 public:
  RowCodesDenseStep(const NodeView& node, const Environment& environment, const TensorView& weights,
                    float min, float max)
      : Step(node, environment),
        weights_(weights),
        min_(min),
        max_(max),
        tier_(*environment.kernels),
        kernels_(tier_.codes),
        of_bytes_(kernels_.sums_of_bytes != nullptr),
        of_windows_(HasWindows(node)) {
    wants_codes_ = true;
    packs_stored_ = true;
  }

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const Rows to = RowsOf(node_.out(0));
    if (!x.dense()) return Refuse();
    if (of_windows_) {
      SKIFF_RETURN_IF_ERROR(bands_.Describe(node_, /*always_copies=*/true, &args_));
    } else {
      const auto inputs = static_cast<size_t>(x.shape.last());
      const size_t rows = static_cast<size_t>(x.shape.elements()) / inputs;
      if (to.count != rows) return Refuse();
      bands_.DescribeRows(rows, inputs, inputs, &args_);
      args_.outputs = to.length;
    }
    y_stride_ = to.stride;
    panels_ = DensePanelCount(args_, tier_);
    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    bands_.Divide(threads, panels_, element_bytes(), panels_words() * sizeof(int32_t));
    leads_ = bands_.parts == 1;
    at_once_ = DensePanelsAtOnce(args_, panel_words(), tier_, /*parts=*/1);
    // The last panel may be wider.
    args_.y_stride = std::min(DenseColumns(args_, tier_), (at_once_ + 1) * tier_.dense_outputs);
    band_bytes_ = Aligned(bands_.band_elements * element_bytes() + sizeof(int32_t));
    sums_bytes_ = Aligned(kSumRows * args_.y_stride * sizeof(int32_t));
    rows_bytes_ = Aligned(bands_.band_lines * bands_.outputs[1] * sizeof(RowOfSums));
    // And a line of them.
    const size_t pixels = of_windows_ ? bands_.band_elements / bands_.channels + bands_.band_width : 0;
    thread_bytes_ = band_bytes_ + sums_bytes_ + rows_bytes_ + Aligned(pixels * sizeof(int32_t));
    workspace_bytes_ = threads * thread_bytes_;
    SKIFF_RETURN_IF_ERROR(params_.Reshape(of_windows_ ? bands_.pictures : to.count));
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    row_params_ = params_.Bind(*codes_);
    y_ = node_.out(0).as<float>();
    workspace_ = static_cast<uint8_t*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    params_.Fill(*codes_);
    pthreadpool_parallelize_2d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t band, size_t part) {
          static_cast<const RowCodesDenseStep*>(step)->RunPart(thread, band, part);
        },
        this, bands_.bands(), bands_.parts, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return OkStatus();
  }

 private:
  size_t element_bytes() const { return of_bytes_ ? sizeof(uint8_t) : sizeof(int16_t); }
  /// Of an output: two that kernels of codes want, and the weights.
  size_t panel_words() const { return 2 + args_.words(sizeof(int32_t) / element_bytes()); }
  size_t panels_words() const { return panel_words() * DenseColumns(args_, tier_); }
  /// By how much the codes of weights are more than what is packed; all of them the same for pairs.
  int32_t WeightsZero() const {
    const int32_t middle = MiddleCode(weights_.dtype);
    const bool same = HasZeroPoint(*weights_.quantization, weights_.quantization->ZeroPointAt(0));
    return same && !of_bytes_ ? weights_.quantization->ZeroPointAt(0) - middle : 0;
  }

  /// Of each output, and 0 beside them in the last vector.
  Status PrepareTerms() {
    RowTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, weights_, args_.outputs));
    const size_t columns = DenseColumns(args_, tier_);
    SKIFF_RETURN_IF_ERROR(scales_.Allocate(columns));
    SKIFF_RETURN_IF_ERROR(bias_.Allocate(columns));
    SKIFF_RETURN_IF_ERROR(zero_points_.Allocate(columns));
    std::fill(scales_.begin(), scales_.end(), 0.0f);
    std::fill(bias_.begin(), bias_.end(), 0.0f);
    std::fill(zero_points_.begin(), zero_points_.end(), 0);
    std::copy_n(terms.scales(), args_.outputs, scales_.data());
    std::copy_n(terms.bias(), args_.outputs, bias_.data());
    const Quantization& quantization = *weights_.quantization;
    for (size_t i = 0; i < args_.outputs; ++i) {
      const int64_t at = quantization.per_tensor() ? 0 : static_cast<int64_t>(i);
      zero_points_[i] = quantization.ZeroPointAt(at) - MiddleCode(weights_.dtype) - WeightsZero();
      has_zeros_ = has_zeros_ || zero_points_[i] != 0;
    }
    return OkStatus();
  }

  Status Pack() {
    SKIFF_RETURN_IF_ERROR(PrepareTerms());
    PackingKey key;
    key.kind = PackingKind::kRowCodesDense;
    key.dtype = weights_.dtype;
    key.weights = node_.input(1).hash;
    const size_t parameters[] = {args_.run,       args_.runs[0] * args_.runs[1],
                                 args_.outputs,   tier_.dense_outputs,
                                 element_bytes(), static_cast<size_t>(WeightsZero())};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    // Behind the panels each column's sum of weights.
    key.packed_bytes = (panels_words() + DenseColumns(args_, tier_)) * sizeof(int32_t);
    const void* const packed =
        environment_.weights->FindOrPack(key, [&](void* blob) { PackWeights(static_cast<int32_t*>(blob)); });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const int32_t*>(packed);
    weight_sums_ = args_.weights + panels_words();
    return OkStatus();
  }

  void PackWeights(int32_t* to) const {
    int32_t* const weight_sums = to + panels_words();
    std::fill_n(weight_sums, DenseColumns(args_, tier_), 0);
    const bool is_signed = weights_.dtype == DType::kI8;
    CodeWeights weights;
    weights.first = weights_.as<const uint8_t>();
    weights.output_step = args_.inputs();
    weights.input_step = 1;
    weights.sign = is_signed ? 0 : 0x80;
    weights.zero_point = WeightsZero();
    const size_t panel = tier_.dense_outputs;
    const size_t columns = DenseColumns(args_, tier_);
    for (size_t first = 0, width = 0; first < columns; first += width) {
      width = columns - first < 2 * panel ? columns - first : panel;
      int64_t sums[kMostPanelColumns] = {};
      const size_t exist = std::min(width, args_.outputs - first);
      std::fill_n(to, 2 * width, 0);
      if (of_bytes_)
        PackCodePanel<int8_t>(weights, args_, first, exist, width, to + 2 * width, sums);
      else
        PackCodePanel<int16_t>(weights, args_, first, exist, width, to + 2 * width, sums);
      for (size_t i = 0; i < exist; ++i) weight_sums[first + i] = static_cast<int32_t>(sums[i]);
      to += panel_words() * width;
    }
  }

  void RunPart(size_t thread, size_t band, size_t part) const {
    const WindowBands::Band at = bands_.BandAt(band);
    uint8_t* const mine = workspace_ + thread * thread_bytes_;
    auto* const sums = reinterpret_cast<int32_t*>(mine + band_bytes_);
    auto* const rows_of_sums = reinterpret_cast<RowOfSums*>(mine + band_bytes_ + sums_bytes_);
    if (of_windows_)
      MakeWindows(at, mine, rows_of_sums);
    else
      MakeRows(at, mine, rows_of_sums);
    // The last row's last word may reach further.
    std::memset(mine + at.lines * bands_.band_width * bands_.channels * element_bytes(), 0, sizeof(int32_t));
    bands_.ForPart(part, panels_, at_once_, [&](size_t, size_t first_panel, size_t end_panel) {
      const size_t first = first_panel * tier_.dense_outputs;
      CodeDenseArgs args = args_;
      args.weights += first * panel_words();
      args.outputs -= first;
      args.x = mine;
      RowsOfSumsArgs put = ArgsOf(first);
      put.sums = sums;
      put.columns = end_panel < panels_ ? (end_panel - first_panel) * tier_.dense_outputs : args.outputs;
      for (size_t row = 0; row < at.output_pixels; row += kSumRows) {
        const size_t rows = std::min(kSumRows, at.output_pixels - row);
        args.y = sums - row * args.y_stride;  // Of this row on.
        (of_bytes_ ? kernels_.sums_of_bytes : kernels_.sums)(args, row, row + rows, 0,
                                                             end_panel - first_panel);
        put.rows = rows_of_sums + row;
        put.y = y_ + (at.output_pixel + row) * y_stride_ + first;
        kernels_.rows_of_sums(put, rows);
      }
    });
    FollowUp(at.output_pixel, at.output_pixels);
  }

  /// What codes of these parameters mean as kernels multiply them.
  RowOfSums MeaningOf(const xnn_quantization_params& params) const {
    RowOfSums made;
    made.scale = std::isfinite(params.scale) ? params.scale : std::numeric_limits<float>::quiet_NaN();
    if (of_bytes_) made.zero_point = params.zero_point + kByteOfZero;
    return made;
  }
  void MakeCodes(size_t n, const int8_t* codes, const xnn_quantization_params& params, uint8_t* to) const {
    if (of_bytes_)
      kernels_.to_bytes[0](n, codes, -kByteOfZero, to);
    else
      kernels_.widen[0](n, codes, params.zero_point, reinterpret_cast<int16_t*>(to));
  }

  void MakeRows(const WindowBands::Band& at, uint8_t* to, RowOfSums* made) const {
    const size_t inputs = args_.run;
    for (size_t row = 0; row < at.output_pixels; ++row, to += inputs * element_bytes()) {
      const xnn_quantization_params& params = row_params_[at.output_pixel + row];
      const int8_t* const codes = codes_->codes() + (at.output_pixel + row) * inputs;
      made[row] = MeaningOf(params);
      if (has_zeros_)
        made[row].codes_sum =
            kernels_.sum[0](inputs, codes) - static_cast<int32_t>(inputs) * params.zero_point;
      MakeCodes(inputs, codes, params, to);
    }
  }

  /// Lines of a picture, whose pads stand for 0.
  void MakeWindows(const WindowBands::Band& at, uint8_t* to, RowOfSums* made) const {
    const WindowBands& b = bands_;
    const xnn_quantization_params& params = row_params_[at.pixel / (b.extents[0] * b.extents[1])];
    const RowOfSums meaning = MeaningOf(params);
    std::fill_n(made, at.output_pixels, meaning);
    const int8_t* const codes = codes_->codes() + at.pixel * b.channels;
    const auto make = [&](auto* elements, int pad) {
      using Element = std::remove_pointer_t<decltype(elements)>;
      b.Make(at.line, at.lines, static_cast<Element>(pad), elements,
             [&](size_t pixel, size_t count, Element* made_at) {
               MakeCodes(count * b.channels, codes + pixel * b.channels, params,
                         reinterpret_cast<uint8_t*>(made_at));
             });
    };
    if (of_bytes_)
      make(to, meaning.zero_point);
    else
      make(reinterpret_cast<int16_t*>(to), 0);
    if (has_zeros_) SumWindows(at, to, meaning.zero_point, made);
  }

  /// Of bytes: of each pixel, and of these in each window.
  void SumWindows(const WindowBands::Band& at, const uint8_t* band, int32_t zero_point,
                  RowOfSums* made) const {
    const WindowBands& b = bands_;
    auto* const sums = reinterpret_cast<int32_t*>(reinterpret_cast<uint8_t*>(made) + rows_bytes_);
    for (size_t pixel = 0; pixel < at.lines * b.band_width; ++pixel) {
      sums[pixel] = kernels_.sum[1](b.channels, band + pixel * b.channels) -
                    static_cast<int32_t>(b.channels) * zero_point;
    }
    const auto& dilations = node_.As<Conv2dAttrs>().dilations;
    const Shape& w = weights_.shape;
    int32_t* const columns = sums + b.band_elements / b.channels;  // Of the lines that windows reach over.
    for (size_t pixel = 0; pixel < at.output_pixels; made += b.outputs[1], pixel += b.outputs[1]) {
      const int32_t* line = sums + pixel / b.outputs[1] * b.strides[0] * b.band_width;
      std::copy_n(line, b.band_width, columns);
      for (int64_t r = 1; r < w[1]; ++r) {
        line += static_cast<size_t>(dilations[0]) * b.band_width;
        for (size_t i = 0; i < b.band_width; ++i) columns[i] += line[i];
      }
      for (size_t i = 0; i < b.outputs[1]; ++i) {
        int32_t sum = 0;
        for (int64_t column = 0; column < w[2]; ++column)
          sum += columns[i * b.strides[1] + static_cast<size_t>(column * dilations[1])];
        made[i].codes_sum = sum;
      }
    }
  }

  /// Of the columns from `first` on.
  RowsOfSumsArgs ArgsOf(size_t first) const {
    RowsOfSumsArgs args;
    args.sums_stride = args_.y_stride;
    args.y_stride = y_stride_;
    if (of_bytes_) args.weight_sums = weight_sums_ + first;
    if (has_zeros_) args.zero_points = zero_points_.data() + first;
    args.scales = scales_.data() + first;
    args.bias = bias_.data() + first;
    args.min = min_;
    args.max = max_;
    return args;
  }

  const TensorView weights_;
  const float min_;
  const float max_;
  const Kernels& tier_;
  const CodeKernels& kernels_;
  const bool of_bytes_;
  const bool of_windows_;
  // Of each column.
  FixedArray<float> scales_;
  FixedArray<float> bias_;
  FixedArray<int32_t> zero_points_;  ///< Of the packed weights.
  bool has_zeros_ = false;
  const int32_t* weight_sums_ = nullptr;
  RowParams params_;
  const xnn_quantization_params* row_params_ = nullptr;
  float* y_ = nullptr;
  size_t y_stride_ = 0;
  uint8_t* workspace_ = nullptr;  ///< Of each thread a band, sums, what these mean, sums of pixels.
  CodeDenseArgs args_;            ///< Of the sums.
  WindowBands bands_;
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
  size_t band_bytes_ = 0;
  size_t sums_bytes_ = 0;
  size_t rows_bytes_ = 0;
  size_t thread_bytes_ = 0;
};

/// Few rows do not pay for the second byte of pairs. XNNPACK's way rounds where weights have zero points.
class RowCodesByShapeStep final : public ByShapeStep {
 public:
  RowCodesByShapeStep(const NodeView& node, const Environment& environment, const TensorView& weights,
                      float min, float max)
      : ByShapeStep(node, environment), weights_(weights), min_(min), max_(max) {
    wants_codes_ = true;
    packs_stored_ = true;
  }

 private:
  size_t Choose() override {
    return HasWindows(node_) || RowsOfProduct(node_) >= kLeastCodeRows || !IsAroundMiddle(weights_) ? 1 : 0;
  }
  Result<StepPointer> Make(size_t way) const override {
    return way == 1 ? MakeStep<RowCodesDenseStep>(node_, environment_, weights_, min_, max_)
                    : LowerRowCodesLinear(node_, environment_, weights_, min_, max_);
  }

  const TensorView weights_;
  const float min_;
  const float max_;
};

}  // namespace

bool HasRowCodesDense(const Kernels& kernels) {
  return kernels.codes.rows_of_sums != nullptr &&
         (kernels.codes.sums != nullptr || kernels.codes.sums_of_bytes != nullptr);
}

bool TakesWindowsOfRowCodes(const NodeView& node, const TensorView& weights, const Kernels& kernels) {
  if (!HasRowCodesDense(kernels)) return false;
  if (kernels.codes.sums_of_bytes != nullptr) return true;
  // Pairs have their weights' zero point taken off, one of all outputs. Winograd's way of floats is faster.
  const bool same = HasZeroPoint(*weights.quantization, weights.quantization->ZeroPointAt(0));
  return same && !IsWinogradShape(node, kernels);
}

Result<StepPointer> LowerRowCodesDense(const NodeView& node, const Environment& environment,
                                       const TensorView& weights, float min, float max) {
  return MakeStep<RowCodesByShapeStep>(node, environment, weights, min, max);
}

}  // namespace skiff::xnnpack
