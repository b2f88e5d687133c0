// Depthwise convolution of codes by kernels that multiply four bytes at a time: lines of the picture are
// stacked in words, with their pads around them, a piece of some lines of the output at a time.
#include <algorithm>

#include "delegates/xnnpack/lower/own_kernels.h"
#include "delegates/xnnpack/lower/quantized/lowerings.h"
#include "delegates/xnnpack/lower/quantized/product.h"
#include "delegates/xnnpack/weights/packed_weights.h"

namespace skiff::xnnpack {
namespace {

/// What is stacked at once: it is read from the first-level cache.
constexpr size_t kPieceBytes = 32 * 1024;

class ByteDepthwiseStep final : public Step {
 public:
  ByteDepthwiseStep(const NodeView& node, const Environment& environment)
      : Step(node, environment),
        size_(static_cast<size_t>(node.in(1).shape[1])),
        stride_(static_cast<size_t>(node.As<Conv2dAttrs>().strides[0])),
        words_(StackedWords(size_)),
        lines_(StackedLines(size_, stride_)),
        lanes_(environment.kernels->depthwise_channels),
        kernel_(environment.kernels->codes.depthwise_of_bytes[(size_ - 3) / 2][stride_ - 1]) {}

  Status Reshape() override {
    SKIFF_RETURN_IF_ERROR(DescribePicture(node_, &picture_));
    args_.channels = picture_.channels;
    args_.y_stride = picture_.y_stride;
    args_.y_line = picture_.output_width * picture_.y_stride;
    const size_t pixel_bytes = words_ * picture_.channels * sizeof(int32_t);
    const size_t columns = kStackedOutputs / lines_;
    const size_t tiles = DivideUp(picture_.output_width, columns);
    const size_t most = std::max<size_t>(kPieceBytes / (columns * stride_ * pixel_bytes), 1);
    columns_ = DivideUp(tiles, DivideUp(tiles, most)) * columns;
    args_.x_line = PixelsOf(columns_) * picture_.channels;

    const size_t threads = pthreadpool_get_threads_count(environment_.pool);
    const auto pictures = static_cast<size_t>(node_.in(0).shape[0]);
    const size_t groups = DivideUp(picture_.output_height, lines_);
    const size_t tasks = threads == 1 ? 1 : DivideUp(kTasksOfThread * threads, pictures);
    task_lines_ = DivideUp(groups, std::min(groups, tasks)) * lines_;
    picture_tasks_ = DivideUp(picture_.output_height, task_lines_);
    tasks_ = pictures * picture_tasks_;
    workspace_bytes_ = threads * words_ * args_.x_line * sizeof(int32_t);
    return args_.weights != nullptr ? OkStatus() : Pack();
  }

  Status Bind(void* workspace) override {
    x_ = node_.in(0).as<const uint8_t>();
    y_ = static_cast<uint8_t*>(node_.out(0).data);
    workspace_ = static_cast<int32_t*>(workspace);
    return OkStatus();
  }

  Status Run() override {
    pthreadpool_parallelize_1d_with_thread(
        environment_.pool,
        [](void* step, size_t thread, size_t task) {
          static_cast<const ByteDepthwiseStep*>(step)->RunTask(thread, task);
        },
        this, tasks_, /*flags=*/0);
    return OkStatus();
  }

 private:
  /// Of i8, what makes it u8.
  uint8_t sign() const { return node_.in(0).dtype == DType::kI8 ? 0x80 : 0; }
  uint8_t pad() const {
    return static_cast<uint8_t>(node_.in(0).quantization->zero_point + (sign() != 0 ? 128 : 0));
  }
  /// Of a line, that the windows of `columns` outputs reach over.
  size_t PixelsOf(size_t columns) const { return (columns - 1) * stride_ + size_; }

  /// As ByteDepthwiseArgs::weights says.
  Status Pack() {
    const auto& attrs = node_.As<Conv2dAttrs>();
    const size_t channels = picture_.channels;
    ProductTerms terms;
    SKIFF_RETURN_IF_ERROR(terms.Prepare(node_, channels, attrs.min, attrs.max));
    terms.SetCodes(node_.out(0).dtype, &args_);
    const size_t words = (2 + size_ * lines_ * words_) * lanes_;
    PackingKey key;
    key.kind = PackingKind::kByteDepthwise;
    key.dtype = node_.in(1).dtype;
    key.has_bias = terms.bias() != nullptr;
    key.weights = node_.input(1).hash;
    key.bias = terms.Hash();
    const size_t parameters[] = {channels, size_, stride_, lanes_, pad()};
    std::copy(std::begin(parameters), std::end(parameters), key.parameters);
    key.packed_bytes = DivideUp(channels, lanes_) * words * sizeof(int32_t);
    const void* const packed = environment_.weights->FindOrPack(key, [&](void* blob) {
      auto* to = static_cast<int32_t*>(blob);
      for (size_t first = 0; first < channels; first += lanes_, to += words) {
        for (size_t lane = 0; lane < lanes_; ++lane)
          PackChannel(terms, std::min(first, channels - lanes_) + lane, to + lane);
      }
    });
    if (packed == nullptr)
      return Fail(StatusCode::kOutOfMemory, "node '%s': cannot allocate its packed weights", node_.name());
    args_.weights = static_cast<const int32_t*>(packed);
    return OkStatus();
  }

  void PackChannel(const ProductTerms& terms, size_t channel, int32_t* to) const {
    const TensorView& w = node_.in(1);  // [channels, size, size, 1]
    const auto weight = [&](size_t row, size_t column) {
      return terms.WeightAt(w, (channel * size_ + row) * size_ + column);
    };
    int64_t sum = 0;
    int32_t* taps = to + 2 * lanes_;
    for (size_t column = 0; column < size_; ++column) {
      for (size_t line = 0; line < lines_; ++line) {
        for (size_t word = 0; word < words_; ++word, taps += lanes_) {
          uint32_t four = 0;
          for (size_t i = 0; i < kStackedLines; ++i) {
            const size_t stacked = word * kStackedLines + i;
            const size_t row = stacked - line * stride_;  // Wraps around above the window.
            if (row >= size_) continue;
            four |= uint32_t{static_cast<uint8_t>(weight(row, column))} << (8 * i);
            if (line == 0) sum += weight(row, column);
          }
          *taps = static_cast<int32_t>(four);
        }
      }
    }
    const int64_t bias = terms.bias() != nullptr ? terms.bias()[channel] : 0;
    *to = static_cast<int32_t>(bias - pad() * sum);  // Sums wrap around likewise.
    reinterpret_cast<float*>(to + lanes_)[0] = terms.factor(channel);
  }

  void RunTask(size_t thread, size_t index) const {
    const size_t picture = index / picture_tasks_;
    const size_t first = index % picture_tasks_ * task_lines_;
    const size_t end = std::min(first + task_lines_, picture_.output_height);
    const uint8_t* const x = x_ + picture * picture_.height * picture_.width * picture_.x_stride;
    uint8_t* const y = y_ + picture * picture_.output_height * args_.y_line;
    int32_t* const stacked = workspace_ + thread * words_ * args_.x_line;
    ByteDepthwiseArgs args = args_;
    args.x = stacked;
    for (size_t line = first; line < end; line += lines_) {
      args.lines = std::min(lines_, end - line);
      for (size_t column = 0; column < picture_.output_width; column += columns_) {
        args.output_width = std::min(columns_, picture_.output_width - column);
        Stack(x, static_cast<long>(line * stride_) - picture_.top,
              static_cast<long>(column * stride_) - picture_.left, stacked);
        args.y = y + line * args.y_line + column * args.y_stride;
        kernel_(args);
      }
    }
  }

  /// The words of the picture from a line and a column on, either of which may be outside of it.
  void Stack(const uint8_t* x, long first_line, long first_column, int32_t* to) const {
    const long pixels = static_cast<long>(PixelsOf(columns_));
    const long width = static_cast<long>(picture_.width);
    const long begin = std::clamp(first_column, 0L, width);
    const long end = std::clamp(first_column + pixels, begin, width);
    // None of the picture lies in a piece that begins behind it.
    const long left = std::clamp(begin - first_column, 0L, pixels);
    const int32_t pads = static_cast<int32_t>(pad() * 0x01010101u);
    const size_t window_lines = (lines_ - 1) * stride_ + size_;
    for (size_t word = 0; word < words_; ++word, to += args_.x_line) {
      const uint8_t* lines[kStackedLines];
      for (size_t i = 0; i < kStackedLines; ++i) {
        const size_t of_window = word * kStackedLines + i;
        const auto line = static_cast<size_t>(first_line) + of_window;  // Wraps around above the picture.
        const bool exists = of_window < window_lines && line < picture_.height;
        lines[i] =
            exists ? x + (line * picture_.width + static_cast<size_t>(begin)) * picture_.x_stride : nullptr;
      }
      const auto from = [&](long pixel) { return to + static_cast<size_t>(pixel) * picture_.channels; };
      std::fill(to, from(left), pads);
      StackPixels(static_cast<size_t>(end - begin), lines, from(left));
      std::fill(from(left + end - begin), to + args_.x_line, pads);
    }
  }

  void StackPixels(size_t pixels, const uint8_t** lines, int32_t* to) const {
    const StackLinesFn stack = environment_.kernels->codes.stack_lines;
    const size_t channels = picture_.channels;
    if (picture_.x_stride == channels) return stack(pixels * channels, lines, sign(), pad(), to);
    for (size_t pixel = 0; pixel < pixels; ++pixel, to += channels) {
      stack(channels, lines, sign(), pad(), to);
      for (size_t i = 0; i < kStackedLines; ++i) {
        if (lines[i] != nullptr) lines[i] += picture_.x_stride;
      }
    }
  }

  const size_t size_;
  const size_t stride_;
  const size_t words_;
  const size_t lines_;  ///< Of the output, at once.
  const size_t lanes_;
  const ByteDepthwiseFn kernel_;
  PictureArgs picture_;
  ByteDepthwiseArgs args_;
  size_t columns_ = 0;  ///< Of the output, at once.
  size_t task_lines_ = 0;
  size_t picture_tasks_ = 0;
  size_t tasks_ = 0;
  const uint8_t* x_ = nullptr;
  uint8_t* y_ = nullptr;
  int32_t* workspace_ = nullptr;
};

}  // namespace

bool RunsByteDepthwise(const NodeView& node, const Environment& environment) {
  return IsSquareDepthwise(node, *environment.kernels) && RunsCodeDepthwise(node, environment) &&
         environment.kernels->codes.stack_lines != nullptr && FitBytes(node.in(1));
}

Result<StepPointer> LowerByteDepthwise(const NodeView& node, const Environment& environment) {
  return MakeStep<ByteDepthwiseStep>(node, environment);
}

}  // namespace skiff::xnnpack
