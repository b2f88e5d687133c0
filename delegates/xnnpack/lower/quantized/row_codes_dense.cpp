// Rows of codes that are chosen at run time times constant codes, to f32, by kernels of ours: a band of rows
// becomes what these multiply, and the sums of some panels become real numbers while they are in the cache.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/code_panel.h"
#include "delegates/xnnpack/lower/quantized/row_codes.h"
#include "delegates/xnnpack/lower/window_bands.h"

namespace skiff::xnnpack {
namespace {

/// As of other products of pairs (dense.cpp).
constexpr size_t kLeastRows = 12;
/// Rows whose sums are made before they become real numbers: whole tiles of all kernels.
constexpr size_t kSumRows = 48;
constexpr size_t kInputsOfWord = sizeof(int32_t) / sizeof(int16_t);

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
        kernels_(tier_.codes) {
    wants_codes_ = true;
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
    bands_.Divide(threads, panels_, sizeof(int16_t), packed_words() * sizeof(int32_t));
    leads_ = bands_.parts == 1;
    at_once_ = DensePanelsAtOnce(args_, panel_words(), tier_, /*parts=*/1);
    // The last panel may be wider.
    args_.y_stride = std::min(DenseColumns(args_, tier_), (at_once_ + 1) * tier_.dense_outputs);
    band_bytes_ = Aligned(bands_.band_elements * sizeof(int16_t) + sizeof(int32_t));
    thread_bytes_ = band_bytes_ + Aligned(kSumRows * args_.y_stride * sizeof(int32_t));
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
  /// Of an output: two that kernels of codes want, and the weights.
  size_t panel_words() const { return 2 + args_.words(kInputsOfWord); }
  size_t packed_words() const { return panel_words() * DenseColumns(args_, tier_); }

  Status Pack() {
    SKIFF_RETURN_IF_ERROR(terms_.Prepare(node_, weights_, args_.outputs));
    PackingKey key;
    key.kind = PackingKind::kRowCodesDense;
    key.dtype = weights_.dtype;
    key.weights = node_.input(1).hash;
    const size_t parameters[] = {args_.run, args_.outputs, tier_.dense_outputs,
                                 static_cast<size_t>(weights_.quantization->ZeroPointAt(0))};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    key.packed_bytes = packed_words() * sizeof(int32_t);
    const void* const packed =
        environment_.weights->FindOrPack(key, [&](void* blob) { PackWeights(static_cast<int32_t*>(blob)); });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const int32_t*>(packed);
    return OkStatus();
  }

  void PackWeights(int32_t* to) const {
    const bool is_signed = weights_.dtype == DType::kI8;
    CodeWeights weights;
    weights.first = weights_.as<const uint8_t>();
    weights.output_step = args_.run;
    weights.input_step = 1;
    weights.sign = is_signed ? 0 : 0x80;
    weights.zero_point = weights_.quantization->ZeroPointAt(0) - MiddleCode(weights_.dtype);
    const size_t panel = tier_.dense_outputs;
    const size_t columns = DenseColumns(args_, tier_);
    for (size_t first = 0, width = 0; first < columns; first += width) {
      width = columns - first < 2 * panel ? columns - first : panel;
      int64_t sums[kMostPanelColumns] = {};
      std::fill_n(to, 2 * width, 0);
      PackCodePanel<int16_t>(weights, args_, first, std::min(width, args_.outputs - first), width,
                             to + 2 * width, sums);
      to += panel_words() * width;
    }
  }

  void RunPart(size_t thread, size_t band, size_t part) const {
    const WindowBands::Band at = bands_.BandAt(band);
    const size_t inputs = args_.run;
    uint8_t* const mine = workspace_ + thread * thread_bytes_;
    auto* const made = reinterpret_cast<int16_t*>(mine);
    auto* const sums = reinterpret_cast<int32_t*>(mine + band_bytes_);
    for (size_t row = 0; row < at.lines; ++row) {
      const size_t from = at.output_pixel + row;
      kernels_.widen[0](inputs, codes_->codes() + from * inputs, row_params_[from].zero_point,
                        made + row * inputs);
    }
    // The last row's last word may reach further.
    std::memset(made + at.lines * inputs, 0, sizeof(int32_t));
    bands_.ForPart(part, panels_, at_once_, [&](size_t, size_t first_panel, size_t end_panel) {
      const size_t first = first_panel * tier_.dense_outputs;
      CodeDenseArgs args = args_;
      args.weights += first * panel_words();
      args.outputs -= first;
      args.y = sums;
      const size_t outputs =
          end_panel < panels_ ? (end_panel - first_panel) * tier_.dense_outputs : args.outputs;
      for (size_t row = 0; row < at.lines; row += kSumRows) {
        const size_t rows = std::min(kSumRows, at.lines - row);
        args.x = made + row * inputs;
        kernels_.sums(args, 0, rows, 0, end_panel - first_panel);
        for (size_t i = 0; i < rows; ++i)
          PutRow(at.output_pixel + row + i, first, outputs, sums + i * args.y_stride);
      }
    });
    FollowUp(at.output_pixel, at.output_pixels);
  }

  void PutRow(size_t row, size_t first, size_t outputs, const int32_t* sums) const {
    float* const y = y_ + row * y_stride_ + first;
    const float scale = row_params_[row].scale;
    if (!std::isfinite(scale)) {
      std::fill_n(y, outputs, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    kernels_.row_of_sums(outputs, sums, y,
                         {scale, terms_.scales() + first, terms_.bias() + first, min_, max_});
  }

  const TensorView weights_;
  const float min_;
  const float max_;
  const Kernels& tier_;
  const CodeKernels& kernels_;
  RowTerms terms_;
  RowParams params_;
  const xnn_quantization_params* row_params_ = nullptr;
  float* y_ = nullptr;
  size_t y_stride_ = 0;
  uint8_t* workspace_ = nullptr;  ///< Of each thread a band of rows, then sums.
  CodeDenseArgs args_;            ///< Of the sums.
  WindowBands bands_;
  size_t panels_ = 0;
  size_t at_once_ = 0;  ///< Panels.
  size_t band_bytes_ = 0;
  size_t thread_bytes_ = 0;
};

}  // namespace

bool RunsRowCodesDense(const NodeView& node, const Environment& environment, const TensorView& weights) {
  const CodeKernels& kernels = environment.kernels->codes;
  const TensorView& x = node.in(0);
  const auto rows = static_cast<size_t>(x.shape.elements() / std::max<int64_t>(x.shape.last(), 1));
  return kernels.sums != nullptr && kernels.row_of_sums != nullptr && rows >= kLeastRows &&
         HasZeroPoint(*weights.quantization, weights.quantization->ZeroPointAt(0));
}

Result<StepPointer> LowerRowCodesDense(const NodeView& node, const Environment& environment,
                                       const TensorView& weights, float min, float max) {
  return MakeStep<RowCodesDenseStep>(node, environment, weights, min, max);
}

}  // namespace skiff::xnnpack
