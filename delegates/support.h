/// What the delegates can do, as pure functions of a node's types: no delegate needs to be linked to ask. The
/// converter partitions and plans memory by these answers, and the device checks them again.
#pragma once

#include "skiff/delegate.h"

namespace skiff {

/// The XNNPACK delegate has a lowering for this node. Extents are not looked at where they may change at run
/// time: what a lowering then refuses at its extents (or on its CPU) runs with the reference kernel.
bool XnnpackSupports(const NodeTypes& node);

/// The lowering reads input `index` in place when that is a view with gaps between its rows
/// (TensorView::row_stride). A strided tensor elsewhere is still computed right, by the reference kernel.
bool XnnpackTakesStridedInput(const NodeTypes& node, size_t index);

/// The lowering writes its outputs in place when they are views with gaps between their rows.
bool XnnpackWritesStridedOutput(const NodeTypes& node);

/// The Vulkan delegate has a lowering for this node. What a lowering then refuses at its extents, or on its
/// device, runs with the reference kernel. It takes views with gaps everywhere: they become dense on the way
/// to the device.
bool VulkanSupports(const NodeTypes& node);

}  // namespace skiff
