/// Several nodes that compute some lines of a picture, one after the other, before they go on to the next
/// lines: what one makes for the next stays in the cache. It lies in the workspace, which has room for the
/// lines that are needed at a time, and never in the arena. The numbers are those of one node after the
/// other, bit by bit.
#pragma once

#include "delegates/xnnpack/lower/step.h"
#include "delegates/xnnpack/node_group.h"

namespace skiff::xnnpack {

class Strip final : public NodeGroup {
 public:
  static constexpr size_t kMostLinks = 8;
  static constexpr size_t kMostElementwise = 3;

  /// A node that computes lines, and elementwise ones that change its result in place. What is pointed to
  /// outlives the strip.
  struct Link {
    const Step* step = nullptr;     ///< Has PartialWork::run_lines.
    const TensorView* x = nullptr;  ///< What the step reads and writes, both f32.
    const TensorView* y = nullptr;
    const Step* elementwise[kMostElementwise] = {};
    size_t elementwise_count = 0;
  };

  /// False, and nothing is changed: the strip is better off without it, or cannot have it.
  bool Add(const Link& link);
  size_t links() const { return count_; }

  /// Of the last link the elementwise nodes are followers of its step, which Run() calls.
  void Divide(pthreadpool_t pool);
  size_t workspace_bytes() const { return threads_ * thread_bytes_; }
  /// `workspace` is aligned to 64 bytes. Tensors have their addresses. `input_copy`: room for the first
  /// link's input, which has no gaps, where the last one or its followers write over it; else null.
  void Bind(void* workspace, void* input_copy);
  void Run() const override;

 private:
  struct Part {
    Link of;
    LineWindows windows;
    size_t height = 0;  ///< Of the output.
    Lines lines;        ///< That are kept of it, without their address...
    size_t place = 0;   ///< ...which is here in a thread's memory.
  };

  size_t KeepLines(size_t lines, size_t count);
  void CopyInput() const;
  void RunChunk(size_t thread, size_t index) const;
  void RunLines(size_t part, const Lines& x, const Lines& y, const LineRange& lines, void* scratch) const;
  static void RunElements(const Link& link, const Lines& y, const LineRange& lines);

  Part parts_[kMostLinks];
  size_t count_ = 0;
  size_t pictures_ = 0;
  size_t lines_at_once_ = 0;  ///< Of the last part.
  size_t chunk_lines_ = 0;    ///< The same, which one thread makes.
  size_t chunks_ = 0;         ///< Of a picture.
  size_t threads_ = 1;
  size_t thread_bytes_ = 0;
  pthreadpool_t pool_ = nullptr;
  char* workspace_ = nullptr;
  TensorView input_;
};

}  // namespace skiff::xnnpack
