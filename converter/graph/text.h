/// The text form of a graph: what dumps print and pass tests read. Print and parse are inverse to each other.
///
///   graph mobilenet {
///     symbol batch: 1..8 multiple 2              # the contract of a dimension; only where there is one
///     input image: f32[1, 3, 224, 224]
///     const w: f32[8, 3, 3, 3] = seed 7          # or: = [1, 2, 3], or: = 0.5
///     conv: f32[1, 112, 112, 8] = Conv2d(image, w, _) {strides=[2, 2], pads=[1, 1, 1, 1]}
///     output probabilities = conv
///   }
///
/// Bodies follow their node; their inputs need no types, because the node's have them, and their Symbols are
/// those of the graph around them:
///
///   y: f32[2] = If(c, x) then {
///     input x
///     output x
///   } else {
///     input x
///     n: f32[2] = Neg(x)
///     output n
///   }
///
/// Quantised types have their scale behind them: `i8[1, 4] {scale=0.5, zero_point=3}`, or along an axis
/// `i8[2, 4] {scale=[0.5, 0.25], zero_point=[0, 1], axis=0}`, with `block=32` where neighbours share one;
/// zero points of 0 are left out.
///
/// An absent input is `_`; `output conv` is short for `output conv = conv`. Names of other characters than
/// letters, digits, `_`, `.` and `/` are quoted. Attributes equal to their defaults are left out. Types of
/// results are optional when parsing (shape inference fills them in). Constants of at most 16 elements print
/// their values; larger ones print `= data 0x<hash>`, which parses only as `= seed N` (values drawn from a
/// fixed generator).
///
/// Every parsed node is a source of its own, and its results are source tensors, so that tests can check what
/// passes say about them.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace skiff {

std::string PrintGraph(const Graph& graph);
/// Throws Error (kInvalidArgument) with line and column.
Graph ParseGraph(std::string_view text);

/// Attributes as they appear in the text form, "{strides=[2, 2]}", or "" where all are defaults.
std::string PrintAttrs(OpCode op, const AttrStorage& attrs);

}  // namespace skiff
