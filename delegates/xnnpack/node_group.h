/// Nodes that run together, part by part: what one makes for the next stays in the cache.
#pragma once

namespace skiff::xnnpack {

class NodeGroup {
 public:
  virtual void Run() const = 0;

 protected:
  NodeGroup() = default;
  NodeGroup(const NodeGroup&) = default;
  NodeGroup& operator=(const NodeGroup&) = default;
  ~NodeGroup() = default;
};

}  // namespace skiff::xnnpack
