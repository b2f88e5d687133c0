#include "import/tflite/expanded_size.h"

#include <algorithm>

#include "graph/error.h"
#include "import/import_budget.h"
#include "import/tflite/file.h"

namespace skiff {
namespace {

class ExpandedSize {
 public:
  explicit ExpandedSize(uint64_t file_bytes)
      : file_bytes_(file_bytes), limit_(kFreeShared + kMostShared * file_bytes) {}

  void Add(const tflite::Model& model) {
    for (uint32_t i = 0; i < SizeOf(model.subgraphs()); ++i) Add(model, *model.subgraphs()->Get(i));
    for (uint32_t i = 0; i < SizeOf(model.signatures()); ++i) Add(model, *model.signatures()->Get(i));
  }

 private:
  /// Checked at once: what comes next may be as large again.
  template <class T>
  void AddList(const flatbuffers::Vector<T>* list, uint64_t element_bytes) {
    AddBytes(SizeOf(list) * element_bytes);
  }
  void AddName(const flatbuffers::String* name) { AddBytes(name == nullptr ? 0 : name->size()); }
  void AddBytes(uint64_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= limit_) return;
    Throw(StatusCode::kUnsupported,
          "the TensorFlow Lite file's operators, tensors and signatures share names and lists until they "
          "have more than {} bytes, {} times the file's {} and 64 MiB; write the file without sharing them",
          limit_, kMostShared, file_bytes_);
  }

  /// Of a constant that is scales of others.
  void AddElements(const tflite::Model& model, const tflite::SubGraph& graph, int32_t index) {
    if (index < 0 || static_cast<uint32_t>(index) >= SizeOf(graph.tensors())) return;
    const tflite::Tensor& tensor = *graph.tensors()->Get(static_cast<uint32_t>(index));
    if (tensor.buffer() >= SizeOf(model.buffers())) return;
    const tflite::Buffer& buffer = *model.buffers()->Get(tensor.buffer());
    AddBytes(std::max<uint64_t>(SizeOf(buffer.data()), std::min(buffer.size(), file_bytes_)));
    AddList(tensor.shape(), sizeof(int32_t));
  }

  void AddIndices(tflite::SparseIndices kind, const void* table) {
    if (table == nullptr) return;
    if (kind == tflite::SparseIndices::Int32Vector)
      AddList(static_cast<const tflite::Int32Vector*>(table)->values(), sizeof(int32_t));
    if (kind == tflite::SparseIndices::Uint16Vector)
      AddList(static_cast<const tflite::Uint16Vector*>(table)->values(), sizeof(uint16_t));
    if (kind == tflite::SparseIndices::Uint8Vector)
      AddList(static_cast<const tflite::Uint8Vector*>(table)->values(), sizeof(uint8_t));
  }

  void AddSparsity(const tflite::Tensor& tensor) {
    const tflite::Sparsity* sparsity = tensor.sparsity();
    if (sparsity == nullptr) return;
    AddList(sparsity->traversal_order(), sizeof(int32_t));
    AddList(sparsity->block_map(), sizeof(int32_t));
    const auto* dimensions = sparsity->dimensions();
    AddBytes(SizeOf(dimensions) * sizeof(uint32_t));
    for (uint32_t i = 0; i < SizeOf(dimensions); ++i) {
      const tflite::SparseDimension& dimension = *dimensions->Get(i);
      AddIndices(dimension.segments_type(), dimension.segments());
      AddIndices(dimension.indices_type(), dimension.indices());
    }
  }

  void AddQuantization(const tflite::Model& model, const tflite::SubGraph& graph,
                       const tflite::Tensor& tensor) {
    const tflite::Quantization* quantization = tensor.quantization();
    if (quantization == nullptr) return;
    AddList(quantization->min(), sizeof(float));
    AddList(quantization->max(), sizeof(float));
    AddList(quantization->scale(), sizeof(float));
    AddList(quantization->zero_point(), sizeof(int64_t));
    const auto* blocks = quantization->details_as_BlockwiseQuantization();
    if (blocks == nullptr) return;
    AddElements(model, graph, blocks->scales());
    if (blocks->zero_points() > 0) AddElements(model, graph, blocks->zero_points());
  }

  void Add(const tflite::Model& model, const tflite::SubGraph& graph) {
    AddName(graph.name());
    AddList(graph.inputs(), sizeof(int32_t));
    AddList(graph.outputs(), sizeof(int32_t));
    for (uint32_t i = 0; i < SizeOf(graph.tensors()); ++i) {
      const tflite::Tensor& tensor = *graph.tensors()->Get(i);
      AddName(tensor.name());
      AddList(tensor.shape(), sizeof(int32_t));
      AddList(tensor.shape_signature(), sizeof(int32_t));
      AddQuantization(model, graph, tensor);
      AddSparsity(tensor);
    }
    for (uint32_t i = 0; i < SizeOf(graph.operators()); ++i) Add(model, graph, *graph.operators()->Get(i));
  }

  void Add(const tflite::Model& model, const tflite::SubGraph& graph, const tflite::Operator& node) {
    AddList(node.inputs(), sizeof(int32_t));
    AddList(node.outputs(), sizeof(int32_t));
    AddList(node.intermediates(), sizeof(int32_t));
    AddList(node.custom_options(), 1);
    if (node.code() < SizeOf(model.operator_codes()))
      AddName(model.operator_codes()->Get(node.code())->custom());
    if (const auto* options = node.options_as_ReshapeOptions())
      AddList(options->new_shape(), sizeof(int32_t));
    if (const auto* options = node.options_as_SqueezeOptions()) AddList(options->axes(), sizeof(int32_t));
    if (const auto* options = node.options_as_BucketizeOptions())
      AddList(options->boundaries(), sizeof(float));
    if (const auto* options = node.options_as_VarHandleOptions()) {
      AddName(options->container());
      AddName(options->shared_name());
    }
    for (const auto* list : LongListsOf(node)) AddList(list, sizeof(int64_t));
    if (const auto* options = node.options2_as_StablehloCaseOptions())
      AddList(options->branch_subgraphs(), sizeof(int32_t));
    // An operator is read with what its results are.
    for (uint32_t i = 0; i < SizeOf(node.outputs()); ++i) {
      const int32_t tensor = node.outputs()->Get(i);
      if (tensor < 0 || static_cast<uint32_t>(tensor) >= SizeOf(graph.tensors())) continue;
      AddName(graph.tensors()->Get(static_cast<uint32_t>(tensor))->name());
      AddQuantization(model, graph, *graph.tensors()->Get(static_cast<uint32_t>(tensor)));
    }
  }

  void Add(const tflite::Model& model, const tflite::Signature& signature) {
    AddName(signature.key());
    for (const auto* names : {signature.inputs(), signature.outputs()}) {
      for (uint32_t i = 0; i < SizeOf(names); ++i) AddName(names->Get(i)->name());
    }
    if (signature.subgraph() >= SizeOf(model.subgraphs())) return;
    const tflite::SubGraph& graph = *model.subgraphs()->Get(signature.subgraph());
    for (const auto* ports : {graph.inputs(), graph.outputs()}) {
      AddList(ports, sizeof(int32_t));
      for (uint32_t i = 0; i < SizeOf(ports); ++i) {
        const auto tensor = static_cast<uint32_t>(ports->Get(i));
        if (tensor < SizeOf(graph.tensors())) AddName(graph.tensors()->Get(tensor)->name());
      }
    }
  }

  const uint64_t file_bytes_;
  const uint64_t limit_;
  uint64_t bytes_ = 0;
};

}  // namespace

void CheckExpandedSize(const tflite::Model& model, uint64_t file_bytes) {
  ExpandedSize(file_bytes).Add(model);
}

}  // namespace skiff
