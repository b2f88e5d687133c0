/// Weights that the file has in fewer bits are there while a node packs them, and at no other time.
#pragma once

#include "skiff/delegate.h"

namespace skiff::xnnpack {

/// Around what may pack the weights of one node, on this thread.
class PackingScope {
 public:
  /// `weights` may be null: the node packs none that are wide.
  explicit PackingScope(WideConstant* weights);
  ~PackingScope();
  PackingScope(const PackingScope&) = delete;
  PackingScope& operator=(const PackingScope&) = delete;

  /// Something will be packed on this thread.
  static void WillPack();

 private:
  WideConstant* const weights_;
  bool acquired_ = false;
};

/// The input whose elements the node's step reads to pack them and never else; none: 0. Others, such as
/// biases, are pinned.
size_t PackedInput(const NodeTypes& node);

}  // namespace skiff::xnnpack
