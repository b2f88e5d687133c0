// NonMaxSuppression: greedy, in each class of each batch, as ONNX specifies it. Computed in f32, as everybody
// does: whether two boxes overlap too much may hang on the last bit.
#include <algorithm>
#include <cmath>
#include <limits>

#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {
namespace {

struct Box {
  float left, top, right, bottom;

  float area() const { return (right - left) * (bottom - top); }
};

Box BoxAt(const float* boxes, int64_t index, bool centers) {
  const float* box = boxes + index * 4;
  if (centers) {
    const float x = box[2] / 2;
    const float y = box[3] / 2;
    return {box[0] - x, box[1] - y, box[0] + x, box[1] + y};
  }
  // Any two opposite corners, y first.
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]),
          std::max(box[0], box[2])};
}

/// Boxes that were taken, their sides beside each other: a candidate is compared with several at a time.
/// Where candidates lie along a long line, as those of many classes do that were moved apart, they are in
/// bins by their left side, as wide as the widest box: only those of three bins can have something in common.
class Taken {
 public:
  Taken(float* memory, int64_t room)
      : left_(memory), top_(memory + room), right_(memory + 2 * room), bottom_(memory + 3 * room) {}

  /// Makes bins with room for all of these candidates.
  template <class Candidate>
  void Begin(int64_t candidates, const Candidate& candidate) {
    float least = std::numeric_limits<float>::max();
    float most = std::numeric_limits<float>::lowest();
    float widest = 0;
    bool numbers = true;
    for (int64_t i = 0; i < candidates; ++i) {
      const Box box = candidate(i);
      numbers &= std::isfinite(box.left) && std::isfinite(box.right);
      least = std::min(least, box.left);
      most = std::max(most, box.left);
      widest = std::max(widest, box.right - box.left);
    }
    first_ = static_cast<double>(least);
    const double length = static_cast<double>(most) - first_;
    // What rounds in widths must not reach over a bin.
    constexpr double kMore = 1.001;
    width_ = std::max(static_cast<double>(widest) * kMore, length / (kMostBins - 1));
    const bool binned = numbers && candidates > kLanes && width_ > 0 && std::isfinite(width_);
    bins_ = binned ? static_cast<int64_t>(length / width_) + 1 : 1;
    std::fill_n(begin_, bins_ + 1, 0);
    for (int64_t i = 0; bins_ > 1 && i < candidates; ++i) ++begin_[BinOf(candidate(i)) + 1];
    for (int64_t bin = 0; bin < bins_; ++bin) begin_[bin + 1] += begin_[bin];
    std::copy_n(begin_, bins_, end_);
  }

  void Add(const Box& box) {
    const int64_t at = end_[BinOf(box)]++;
    left_[at] = box.left;
    top_[at] = box.top;
    right_[at] = box.right;
    bottom_[at] = box.bottom;
  }

  /// Whether one of them has more than the share `most` of what it covers together with `box` in common with
  /// it.
  bool Covers(const Box& box, float most) const {
    const int64_t bin = BinOf(box);
    const int64_t last = std::min(bin + 1, bins_ - 1);
    for (int64_t near = std::max<int64_t>(bin - 1, 0); near <= last; ++near) {
      if (OneCovers(begin_[near], end_[near], box, most)) return true;
    }
    return false;
  }

 private:
  static constexpr int64_t kLanes = 16;
  static constexpr int64_t kMostBins = 256;

  int64_t BinOf(const Box& box) const {
    return bins_ == 1 ? 0 : static_cast<int64_t>((static_cast<double>(box.left) - first_) / width_);
  }

  bool OneCovers(int64_t i, int64_t end, const Box& box, float most) const {
    for (; i + kLanes <= end; i += kLanes) {
      int covered = 0;
      for (int64_t lane = 0; lane < kLanes; ++lane) covered |= CoveredBy(i + lane, box, most);
      if (covered != 0) return true;
    }
    for (; i < end; ++i) {
      if (CoveredBy(i, box, most) != 0) return true;
    }
    return false;
  }

  int CoveredBy(int64_t i, const Box& box, float most) const {
    const float width = std::min(box.right, right_[i]) - std::max(box.left, left_[i]);
    const float height = std::min(box.bottom, bottom_[i]) - std::max(box.top, top_[i]);
    const float common = width * height;
    const float all = box.area() + (right_[i] - left_[i]) * (bottom_[i] - top_[i]) - common;
    return static_cast<int>(width > 0) & static_cast<int>(height > 0) & static_cast<int>(all > 0) &
           static_cast<int>(common / all > most);
  }

  float* left_;
  float* top_;
  float* right_;
  float* bottom_;
  double first_ = 0;  ///< Left side.
  double width_ = 1;
  int64_t bins_ = 1;
  int64_t begin_[kMostBins + 1] = {};  ///< Where each bin begins, and where its boxes end.
  int64_t end_[kMostBins] = {};
};

}  // namespace

Status KernelNonMaxSuppression(const KernelArgs& args) {
  const TensorView& boxes = args.inputs[0];
  const TensorView& scores = args.inputs[1];
  const float most_overlap = *args.inputs[3].as<const float>();
  const float least_score = *args.inputs[4].as<const float>();
  const bool centers = args.As<SuppressionAttrs>().centers;
  if (!(most_overlap >= 0 && most_overlap <= 1)) {
    return Fail(StatusCode::kInvalidArgument,
                "NonMaxSuppression: the most overlap is %g; 0 to 1 was expected",
                static_cast<double>(most_overlap));
  }
  const int64_t batches = scores.shape[0];
  const int64_t classes = scores.shape[1];
  const int64_t count = scores.shape[2];
  const int64_t room = args.outputs[0].shape[0];
  const int64_t most = batches * classes > 0 ? room / (batches * classes) : 0;
  auto* taken = args.outputs[0].as<int64_t>();
  auto* order = args.outputs[2].as<int64_t>();
  int64_t total = 0;
  for (int64_t line = 0; line < batches * classes && most > 0; ++line) {
    const float* score = scores.as<const float>() + line * count;
    const float* box = boxes.as<const float>() + line / classes * count * 4;
    int64_t candidates = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (score[i] > least_score) order[candidates++] = i;
    }
    std::sort(order, order + candidates,
              [&](int64_t a, int64_t b) { return score[a] > score[b] || (score[a] == score[b] && a < b); });
    const int64_t first = total;
    Taken kept(reinterpret_cast<float*>(order + count), count);
    kept.Begin(candidates, [&](int64_t i) { return BoxAt(box, order[i], centers); });
    for (int64_t i = 0; i < candidates && total - first < most; ++i) {
      const Box candidate = BoxAt(box, order[i], centers);
      if (kept.Covers(candidate, most_overlap)) continue;
      kept.Add(candidate);
      taken[total * 3] = line / classes;
      taken[total * 3 + 1] = line % classes;
      taken[total * 3 + 2] = order[i];
      ++total;
    }
  }
  std::fill(taken + total * 3, taken + room * 3, 0);
  std::fill(order, order + 3 * count, 0);
  *args.outputs[1].as<int64_t>() = total;
  return OkStatus();
}

}  // namespace skiff
