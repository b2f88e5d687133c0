#include "delegates/xnnpack/strip.h"

#include <algorithm>
#include <cstring>

#include "core/align.h"
#include "delegates/xnnpack/lower/flushing.h"
#include "delegates/xnnpack/lower/own_kernels.h"

namespace skiff::xnnpack {
namespace {

/// What all links keep, which shall stay in the second-level cache.
constexpr size_t kMemoryBytes = 512 * 1024;
/// A smaller result is in that cache as a whole when it is read.
constexpr size_t kLeastBytes = 1000 * 1000;
/// That a thread copies at a time.
constexpr size_t kCopyBytes = 64 * 1024;
/// Chunks for each thread. Where two meet, both compute the lines that both need.
constexpr size_t kChunksOfThread = 2;

size_t Aligned(size_t bytes) { return static_cast<size_t>(AlignUp(bytes)); }

/// A tensor as lines of pictures; where it is none, each row is a line.
struct Pictures {
  size_t count = 1;
  size_t height = 0;
  size_t width = 1;
};
Pictures PicturesOf(const TensorView& view) {
  const auto extent = [&](int axis) { return static_cast<size_t>(view.shape[axis]); };
  if (view.shape.rank() == 4) return {extent(0), extent(1), extent(2)};
  return {1, RowsOf(view).count, 1};
}

/// Of picture `index` of a tensor.
Lines LinesOf(const TensorView& view, size_t index) {
  const Pictures pictures = PicturesOf(view);
  Lines lines;
  lines.pixel = RowsOf(view).stride;
  lines.line = pictures.width * lines.pixel;
  lines.at = view.as<float>() + index * pictures.height * lines.line;
  return lines;
}

}  // namespace

bool Strip::Add(const Link& link) {
  const Pictures x = PicturesOf(*link.x);
  const Pictures y = PicturesOf(*link.y);
  const LineWindows windows = link.step->partial_work()->windows(*link.step);
  if (count_ == kMostLinks || link.x->shape.rank() != link.y->shape.rank() || x.count != y.count)
    return false;
  if (count_ > 0 && (!windows.takes_few_lines || link.x->bytes() < static_cast<int64_t>(kLeastBytes)))
    return false;
  Part& part = parts_[count_];
  part = Part();
  part.of = link;
  part.windows = windows;
  part.height = y.height;
  part.lines.pixel = static_cast<size_t>(link.y->shape.last());
  part.lines.line = y.width * part.lines.pixel;
  pictures_ = y.count;
  if (KeepLines(windows.at_once, count_ + 1) > kMemoryBytes) return false;
  ++count_;
  return true;
}

/// How many lines all but the last of `count` parts keep where that one makes `lines` at a time. Returns the
/// bytes.
size_t Strip::KeepLines(size_t lines, size_t count) {
  size_t bytes = 0;  // Scratch first.
  for (size_t i = 0; i < count; ++i) bytes = std::max(bytes, Aligned(parts_[i].windows.scratch_bytes));
  for (size_t i = count - 1; i > 0; --i) {
    Part& before = parts_[i - 1];
    before.lines.count = lines = std::min(parts_[i].windows.Reach(lines), before.height);
    before.place = bytes;
    bytes += Aligned(lines * before.lines.line * sizeof(float));
  }
  return bytes;
}

void Strip::Divide(pthreadpool_t pool) {
  pool_ = pool;
  threads_ = pthreadpool_get_threads_count(pool);
  const Part& last = parts_[count_ - 1];
  const size_t step = last.windows.at_once;
  const size_t tasks = threads_ == 1 ? 1 : kChunksOfThread * threads_;
  chunk_lines_ = DivideUp(DivideUp(last.height, DivideUp(tasks, pictures_)), step) * step;
  chunks_ = DivideUp(last.height, chunk_lines_);
  size_t fit = step;
  while (fit + step <= chunk_lines_ && KeepLines(fit + step, count_) <= kMemoryBytes) fit += step;
  lines_at_once_ = DivideUp(DivideUp(chunk_lines_, DivideUp(chunk_lines_, fit)), step) * step;
  thread_bytes_ = KeepLines(lines_at_once_, count_);
}

void Strip::Bind(void* workspace, void* input_copy) {
  workspace_ = static_cast<char*>(workspace);
  input_ = *parts_[0].of.x;
  if (input_copy != nullptr) input_.data = input_copy;
}

void Strip::CopyInput() const {
  pthreadpool_parallelize_1d_tile_1d(
      pool_,
      [](void* strip, size_t begin, size_t count) {
        const auto& self = *static_cast<const Strip*>(strip);
        std::memcpy(self.input_.as<char>() + begin, self.parts_[0].of.x->as<const char>() + begin, count);
      },
      const_cast<Strip*>(this), static_cast<size_t>(input_.bytes()), kCopyBytes, /*flags=*/0);
}

void Strip::Run() const {
  if (input_.data != parts_[0].of.x->data) CopyInput();
  pthreadpool_parallelize_1d_with_thread(
      pool_,
      [](void* strip, size_t thread, size_t chunk) {
        static_cast<const Strip*>(strip)->RunChunk(thread, chunk);
      },
      const_cast<Strip*>(this), pictures_ * chunks_, /*flags=*/0);
}

void Strip::RunChunk(size_t thread, size_t index) const {
  const size_t picture = index / chunks_;
  char* const memory = workspace_ + thread * thread_bytes_;
  Lines of[kMostLinks + 1];  // What each part reads, and the result.
  size_t made[kMostLinks] = {};
  of[0] = LinesOf(input_, picture);
  of[count_] = LinesOf(*parts_[count_ - 1].of.y, picture);
  for (size_t i = 0; i + 1 < count_; ++i) {
    of[i + 1] = parts_[i].lines;
    of[i + 1].at = reinterpret_cast<float*>(memory + parts_[i].place);
  }
  const size_t first = index % chunks_ * chunk_lines_;
  const size_t end = std::min(first + chunk_lines_, parts_[count_ - 1].height);
  for (size_t line = first; line < end; line += lines_at_once_) {
    LineRange ranges[kMostLinks];
    ranges[count_ - 1] = {line, std::min(line + lines_at_once_, end)};
    for (size_t i = count_ - 1; i > 0; --i) {
      const LineRange needs = parts_[i].windows.Needs(ranges[i], parts_[i - 1].height);
      ranges[i - 1] = {std::max(needs.first, made[i - 1]), needs.end};
    }
    for (size_t i = 0; i < count_; ++i) {
      if (ranges[i].empty()) continue;
      RunLines(i, of[i], of[i + 1], ranges[i], memory);
      made[i] = ranges[i].end;
    }
    const Part& last = parts_[count_ - 1];
    const size_t width = PicturesOf(*last.of.y).width;
    last.of.step->FollowUp((picture * last.height + line) * width, (ranges[count_ - 1].end - line) * width);
  }
}

void Strip::RunLines(size_t part, const Lines& x, const Lines& y, const LineRange& lines,
                     void* scratch) const {
  const Link& link = parts_[part].of;
  link.step->partial_work()->run_lines(*link.step, x, y, lines, scratch);
  if (part + 1 < count_ && link.elementwise_count > 0) Flushing([&] { RunElements(link, y, lines); });
}

void Strip::RunElements(const Link& link, const Lines& y, const LineRange& lines) {
  for (LineRange left = lines; !left.empty();) {
    const size_t count = y.Together(left);
    float* const at = y[left.first];
    for (size_t i = 0; i < link.elementwise_count; ++i)
      link.elementwise[i]->partial_work()->run_elements(*link.elementwise[i], count * y.line, at, at);
    left.first += count;
  }
}

}  // namespace skiff::xnnpack
