#include "import/tflite/tensor_lists.h"

#include <algorithm>
#include <map>
#include <optional>

#include "graph/error.h"
#include "import/tflite/tensor.h"

namespace skiff {
namespace {

using Op = tflite::BuiltinOperator;

/// Who makes and reads the tensors of a subgraph.
class Search {
 public:
  Search(const TfliteFile& file, const tflite::SubGraph& graph) : file_(file), graph_(graph) {
    for (uint32_t i = 0; i < SizeOf(graph.operators()); ++i) {
      const tflite::Operator& node = *graph.operators()->Get(i);
      if (SizeOf(node.outputs()) == 1) maker_[node.outputs()->Get(0)] = i;
      for (uint32_t n = 0; n < SizeOf(node.inputs()); ++n) ++reads_[node.inputs()->Get(n)];
    }
    for (uint32_t n = 0; n < SizeOf(graph.outputs()); ++n) ++reads_[graph.outputs()->Get(n)];
  }

  /// The operator of this kind that makes the tensor.
  const tflite::Operator* Made(int32_t tensor, Op op, size_t inputs) const {
    const auto found = maker_.find(tensor);
    if (found == maker_.end()) return nullptr;
    const tflite::Operator& node = *graph_.operators()->Get(found->second);
    return file_.OperatorOf(node).builtin == op && SizeOf(node.inputs()) == inputs ? &node : nullptr;
  }
  uint32_t MakerOf(int32_t tensor) const { return maker_.at(tensor); }
  bool ReadOnce(int32_t tensor) const { return reads_.at(tensor) == 1; }

  std::optional<std::vector<int64_t>> Constant(int32_t tensor) const {
    if (tensor < 0) return {};
    const tflite::Tensor& data = *graph_.tensors()->Get(static_cast<uint32_t>(tensor));
    if (!IsTfliteConstant(file_, data) || data.type() != tflite::TensorType::INT32) return {};
    // Places have few elements; what has more is no part of an update.
    if (data.sparsity() != nullptr || file_.Buffer(data.buffer()).size() > kMaxRank * sizeof(int32_t))
      return {};
    uint64_t none_left_out = 0;
    return ReadTfliteTensor(file_, data, nullptr, none_left_out).ToInts();
  }
  /// One row, as far as the file says.
  bool IsRow(int32_t tensor) const {
    if (tensor < 0) return false;
    const tflite::Tensor& row = *graph_.tensors()->Get(static_cast<uint32_t>(tensor));
    const auto* extents = SizeOf(row.shape_signature()) > 0 ? row.shape_signature() : row.shape();
    return SizeOf(extents) > 0 && extents->Get(0) == 1;
  }
  /// Elements may then have to be rounded into another scale.
  bool HasScales(int32_t tensor) const {
    if (tensor < 0) return false;
    const tflite::Tensor& stated = *graph_.tensors()->Get(static_cast<uint32_t>(tensor));
    return stated.quantization() != nullptr && SizeOf(stated.quantization()->scale()) > 0 &&
           CanBeQuantized(DTypeOfTflite(stated.type()));
  }
  bool IsAll(int32_t tensor, int64_t number) const {
    const auto numbers = Constant(tensor);
    return numbers &&
           std::all_of(numbers->begin(), numbers->end(), [&](int64_t element) { return element == number; });
  }
  /// Of a vector that is a computed number and then only `rest`: the number.
  int32_t FirstOf(int32_t vector, int64_t rest) const {
    const tflite::Operator* joined = Made(vector, Op::CONCATENATION, 2);
    if (joined == nullptr || !IsAll(joined->inputs()->Get(1), rest)) return -1;
    const auto* options = joined->options_as_ConcatenationOptions();
    if (options != nullptr && options->activation() != tflite::Activation::NONE) return -1;
    const int32_t first = joined->inputs()->Get(0);
    for (const Op op : {Op::RESHAPE, Op::EXPAND_DIMS}) {
      if (const tflite::Operator* node = Made(first, op, 2)) return node->inputs()->Get(0);
    }
    return -1;
  }
  bool IsNext(int32_t next, int32_t index) const {
    const tflite::Operator* sum = Made(next, Op::ADD, 2);
    if (sum == nullptr) return false;
    const auto* options = sum->options_as_AddOptions();
    if (options != nullptr && options->activation() != tflite::Activation::NONE) return false;
    for (uint32_t i = 0; i < 2; ++i) {
      if (sum->inputs()->Get(i) == index && IsAll(sum->inputs()->Get(1 - i), 1)) return true;
    }
    return false;
  }

 private:
  const TfliteFile& file_;
  const tflite::SubGraph& graph_;
  std::map<int32_t, uint32_t> maker_;
  std::map<int32_t, int> reads_;
};

}  // namespace

TensorLists::TensorLists(const TfliteFile& file, const tflite::SubGraph& graph) {
  const uint32_t count = SizeOf(graph.operators());
  updates_.resize(count);
  const Search search(file, graph);
  for (uint32_t i = 0; i < count; ++i) {
    const tflite::Operator& node = *graph.operators()->Get(i);
    if (file.OperatorOf(node).builtin != Op::CONCATENATION || SizeOf(node.inputs()) != 3 ||
        SizeOf(node.outputs()) != 1 || node.outputs()->Get(0) < 0)
      continue;
    const auto* options = node.options_as_ConcatenationOptions();
    if (options != nullptr && (options->axis() != 0 || options->activation() != tflite::Activation::NONE))
      continue;
    const int32_t before = node.inputs()->Get(0);
    const int32_t behind = node.inputs()->Get(2);
    const tflite::Operator* first = search.Made(before, Op::SLICE, 3);
    const tflite::Operator* last = search.Made(behind, Op::SLICE, 3);
    if (first == nullptr || last == nullptr || first->inputs()->Get(0) != last->inputs()->Get(0)) continue;
    const int32_t list = first->inputs()->Get(0);
    const int32_t element = node.inputs()->Get(1);
    const int32_t tensors[] = {list, element, node.outputs()->Get(0)};
    const bool scaled = std::any_of(std::begin(tensors), std::end(tensors),
                                    [&](int32_t tensor) { return search.HasScales(tensor); });
    if (scaled || !search.IsRow(element)) continue;
    if (!search.IsAll(first->inputs()->Get(1), 0) || !search.IsAll(last->inputs()->Get(2), -1)) continue;
    const int32_t index = search.FirstOf(first->inputs()->Get(2), -1);
    const int32_t next = search.FirstOf(last->inputs()->Get(1), 0);
    if (index < 0 || next < 0 || !search.IsNext(next, index)) continue;
    updates_[i] = {list, index, element};
    for (const int32_t part : {before, behind}) {
      if (search.ReadOnce(part)) parts_.insert(search.MakerOf(part));
    }
  }
}

const ListUpdate* TensorLists::UpdateAt(uint32_t node) const {
  return updates_[node].list < 0 ? nullptr : &updates_[node];
}

}  // namespace skiff
