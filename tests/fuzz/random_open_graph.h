/// Random graphs whose dimensions are open, with a few sizes at which they can run and what eager mode
/// computes there. All elements are small whole numbers (or quarters), so that no order of summation can be
/// told from another and results compare by equality.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/op_codes.h"

namespace skiff::testing {

using Tensors = std::map<std::string, TensorData>;

class RandomOpenGraph {
 public:
  static constexpr size_t kSizes = 4;

  explicit RandomOpenGraph(uint32_t seed);

  const Graph& graph() const { return graph_; }
  /// By Symbol name, for each of the sizes.
  const std::map<std::string, int64_t>& sizes(size_t at) const { return sizes_[at]; }
  const Tensors& inputs(size_t at) const { return inputs_[at]; }
  /// What eager mode computes for the outputs.
  Tensors Expected(size_t at) const;
  /// Outputs that are no whole numbers: no other node reads them.
  bool IsInexact(const std::string& output) const { return inexact_.contains(output); }
  /// A Symbol has no maximum.
  bool unbounded() const { return unbounded_; }
  /// A graph input's elements may decide shapes.
  bool ReadsCounts() const { return !counts_.empty(); }
  /// Elements that the graph computes decide shapes.
  bool Counts() const { return counts_elements_; }
  std::mt19937& random() { return random_; }
  /// Graph, sizes and shape inputs, for a failure's message.
  std::string Text() const;

 private:
  using Values = std::vector<ValueId>;

  void DrawSymbols();
  void DrawInputs();
  void DrawOutputs();
  void AddStep();

  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Draw(1, 100) <= percent; }
  int64_t Pick(const std::vector<int64_t>& from);
  ValueId AnyValue();
  ValueId AnyOfRank(int rank);
  Ints AnyPerm(int rank);
  const TensorData& At(ValueId value, size_t size) const { return data_[size][static_cast<size_t>(value)]; }
  int RankOf(ValueId value) const { return At(value, 0).shape().rank(); }
  int AnyAxis(ValueId value) { return Draw(0, std::max(RankOf(value) - 1, 0)); }
  /// The extent at each size; nothing where they differ.
  int64_t FixedExtent(ValueId value, int axis) const;
  int64_t SmallestExtent(ValueId value, int axis) const;
  double Largest(ValueId value) const;

  ValueId AddInput(const std::string& name, DType dtype, const std::vector<Dim>& dims, int limit);
  ValueId Constant(const TensorData& data);
  ValueId Numbers(const std::vector<int64_t>& values) { return Constant(TensorData::OfInts(values)); }
  ValueId Weights(const Shape& shape);
  ValueId Partner(ValueId value);

  /// The node's outputs, or nothing where it cannot run at one of the sizes, or becomes too large.
  template <class A = NoAttrs>
  Values Emit(OpCode op, const Values& inputs, const A& attrs = {}, size_t outputs = 1);
  Values EmitWithStorage(OpCode op, const Values& inputs, const AttrStorage& attrs, size_t outputs);
  /// The only output, or kNoValue; also where an input is kNoValue already.
  template <class A = NoAttrs>
  ValueId One(OpCode op, const Values& inputs, const A& attrs = {});
  template <class A = NoAttrs>
  void Keep(OpCode op, const Values& inputs, const A& attrs = {});
  void Keep(ValueId value);
  void End(ValueId value);

  /// A scalar that counts what is above 0.
  ValueId CountPositive(ValueId mask);
  /// i64[1] with the extent of an axis.
  ValueId ExtentOf(ValueId value, int axis);
  ValueId Join(const Values& parts);
  ValueId ToNchw(ValueId value) { return One(OpCode::kTranspose, {value}, TransposeAttrs{{0, 3, 1, 2}}); }
  ValueId ToNhwc(ValueId value) { return One(OpCode::kTranspose, {value}, TransposeAttrs{{0, 2, 3, 1}}); }

  // One step each.
  void Unary();
  void Binary();
  void Transpose();
  void Reshape();
  void Concat();
  void Split();
  void Slice();
  void Product();
  void Convolution();
  void Pool();
  void Reduce();
  void Inexact();
  void Gather();
  void Scattered();
  void Pad();
  void Expand();
  void Tile();
  void Resize();
  void Where();
  void Cast();
  void ShapeAsData();
  void Generate();
  void Rearrange();
  void Counted();

  struct Step {
    int weight;
    void (RandomOpenGraph::*add)();
  };
  static const Step kSteps[];

  Graph graph_;
  std::mt19937 random_;
  bool unbounded_ = false;
  bool counts_elements_ = false;
  std::vector<Dim> dims_;  ///< What input dimensions are drawn from.
  std::map<std::string, int64_t> sizes_[kSizes];
  Tensors inputs_[kSizes];
  std::vector<TensorData> data_[kSizes];  ///< By ValueId.
  Values pool_;                           ///< f32 values to compute with.
  Values counts_;                         ///< i64[1] graph inputs, whose elements may decide shapes.
  Values ends_;
  std::set<std::string> inexact_;
};

}  // namespace skiff::testing
