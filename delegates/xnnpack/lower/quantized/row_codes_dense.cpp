// Rows of codes that are chosen at run time times constant codes, to f32, by kernels of ours: a band of rows
// becomes what these multiply, and the sums of some panels become real numbers while they are in the cache.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "delegates/xnnpack/lower/by_shape.h"
#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/code_panel.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/lower/window_bands.h"

namespace skiff::xnnpack {
namespace {

/// Rows whose sums are made before they become real numbers: whole tiles of all kernels.
constexpr size_t kSumRows = 48;
/// What bytes are more than codes.
constexpr int kByteOfZero = 128;

size_t Aligned(size_t bytes) { return DivideUp(bytes, 64) * 64; }

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
        of_bytes_(kernels_.sums_of_bytes != nullptr) {
    wants_codes_ = true;
    packs_stored_ = true;
  }

  Status Reshape() override {
    const TensorView& x = node_.in(0);
    const Rows to = RowsOf(node_.out(0));
    const auto inputs = static_cast<size_t>(x.shape.last());
    const size_t rows = static_cast<size_t>(x.shape.elements()) / inputs;
    if (!x.dense() || to.count != rows) return Refuse();
    bands_.DescribeRows(rows, inputs, inputs, &args_);
    args_.outputs = to.length;
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
    thread_bytes_ = band_bytes_ + sums_bytes_ + Aligned(bands_.band_lines * sizeof(RowOfSums));
    workspace_bytes_ = threads * thread_bytes_;
    SKIFF_RETURN_IF_ERROR(params_.Reshape(rows));
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
    const size_t parameters[] = {args_.run, args_.outputs, tier_.dense_outputs, element_bytes(),
                                 static_cast<size_t>(WeightsZero())};
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
    weights.output_step = args_.run;
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
    const size_t row_bytes = args_.run * element_bytes();
    for (size_t row = 0; row < at.lines; ++row)
      rows_of_sums[row] = MakeRow(at.output_pixel + row, mine + row * row_bytes);
    // The last row's last word may reach further.
    std::memset(mine + at.lines * row_bytes, 0, sizeof(int32_t));
    bands_.ForPart(part, panels_, at_once_, [&](size_t, size_t first_panel, size_t end_panel) {
      const size_t first = first_panel * tier_.dense_outputs;
      CodeDenseArgs args = args_;
      args.weights += first * panel_words();
      args.outputs -= first;
      args.y = sums;
      RowsOfSumsArgs put = ArgsOf(first);
      put.sums = sums;
      put.columns = end_panel < panels_ ? (end_panel - first_panel) * tier_.dense_outputs : args.outputs;
      for (size_t row = 0; row < at.lines; row += kSumRows) {
        const size_t rows = std::min(kSumRows, at.lines - row);
        args.x = mine + row * row_bytes;
        (of_bytes_ ? kernels_.sums_of_bytes : kernels_.sums)(args, 0, rows, 0, end_panel - first_panel);
        put.rows = rows_of_sums + row;
        put.y = y_ + (at.output_pixel + row) * y_stride_ + first;
        kernels_.rows_of_sums(put, rows);
      }
    });
    FollowUp(at.output_pixel, at.output_pixels);
  }

  /// A row of codes as kernels multiply it.
  RowOfSums MakeRow(size_t row, uint8_t* to) const {
    const size_t inputs = args_.run;
    const int8_t* const codes = codes_->codes() + row * inputs;
    const xnn_quantization_params& params = row_params_[row];
    RowOfSums made;
    made.scale = std::isfinite(params.scale) ? params.scale : std::numeric_limits<float>::quiet_NaN();
    if (has_zeros_)
      made.codes_sum = kernels_.sum[0](inputs, codes) - static_cast<int32_t>(inputs) * params.zero_point;
    if (of_bytes_) {
      made.zero_point = params.zero_point + kByteOfZero;
      kernels_.to_bytes[0](inputs, codes, -kByteOfZero, to);
    } else {
      kernels_.widen[0](inputs, codes, params.zero_point, reinterpret_cast<int16_t*>(to));
    }
    return made;
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
  uint8_t* workspace_ = nullptr;  ///< Of each thread a band of rows, then sums, then what these mean.
  CodeDenseArgs args_;            ///< Of the sums.
  WindowBands bands_;
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
  size_t band_bytes_ = 0;
  size_t sums_bytes_ = 0;
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
  size_t Choose() const override {
    return RowsOfProduct(node_) >= kLeastCodeRows || !IsAroundMiddle(weights_) ? 1 : 0;
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

Result<StepPointer> LowerRowCodesDense(const NodeView& node, const Environment& environment,
                                       const TensorView& weights, float min, float max) {
  return MakeStep<RowCodesByShapeStep>(node, environment, weights, min, max);
}

}  // namespace skiff::xnnpack
