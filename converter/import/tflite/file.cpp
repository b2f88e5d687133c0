#include "import/tflite/file.h"

#include <algorithm>

#include "format/aligned.h"
#include "graph/error.h"
#include "import/tflite/expanded_size.h"

namespace skiff {
namespace {

/// What a file of real size needs stays far below these.
constexpr flatbuffers::uoffset_t kMaxDepth = 64;
constexpr flatbuffers::uoffset_t kMaxTables = 4'000'000;

/// Operators up to this one stand in the first field of their code.
constexpr int32_t kLastOldOperator = 126;

template <class... Args>
[[noreturn]] void Damaged(fmt::format_string<Args...> format, Args&&... args) {
  Throw(StatusCode::kInvalidModel, "the TensorFlow Lite file is damaged: {}",
        fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

std::string TextOf(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

std::vector<const flatbuffers::Vector<int64_t>*> LongListsOf(const tflite::Operator& node) {
  if (const auto* options = node.options2_as_StablehloScatterOptions())
    return {options->update_window_dims(), options->inserted_window_dims(),
            options->scatter_dims_to_operand_dims()};
  if (const auto* options = node.options2_as_StablehloPadOptions())
    return {options->edge_low(), options->edge_high(), options->interior()};
  if (const auto* options = node.options2_as_StablehloReduceWindowOptions())
    return {options->windows(), options->strides(), options->base_dilations(), options->window_dilations(),
            options->pads()};
  return {};
}

TfliteFile::TfliteFile(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {
  // What lies behind the FlatBuffer, in files above 2 GiB, is found by offsets.
  const size_t size = std::min<size_t>(bytes_.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  flatbuffers::Verifier verifier(bytes_.data(), size, kMaxDepth, kMaxTables);
  if (!tflite::VerifyModelBuffer(verifier)) {
    Throw(StatusCode::kInvalidModel,
          "the file begins like a TensorFlow Lite model, but it is truncated or damaged: its {} bytes are no "
          "such FlatBuffer",
          bytes_.size());
  }
  model_ = tflite::GetModel(bytes_.data());
  if (model_->version() != 3)
    Throw(StatusCode::kUnsupported, "the file has version {} of the TensorFlow Lite format; 3 was expected",
          model_->version());
  CheckExpandedSize(*model_, bytes_.size());
  CheckIndices();
}

void TfliteFile::CheckIndices() const {
  if (SizeOf(model_->subgraphs()) == 0) Damaged("it has no subgraph");
  for (uint32_t i = 0; i < subgraph_count(); ++i) CheckSubgraph(i);
  for (uint32_t i = 0; i < SizeOf(model_->signatures()); ++i) {
    const tflite::Signature& signature = *model_->signatures()->Get(i);
    if (signature.subgraph() >= subgraph_count())
      Damaged("signature {} refers to subgraph {} of {}", i, signature.subgraph(), subgraph_count());
    const uint32_t tensors = SizeOf(subgraph(signature.subgraph()).tensors());
    for (const auto* names : {signature.inputs(), signature.outputs()}) {
      for (uint32_t n = 0; n < SizeOf(names); ++n) {
        if (names->Get(n)->tensor() >= tensors)
          Damaged("signature {} refers to tensor {} of {}", i, names->Get(n)->tensor(), tensors);
      }
    }
  }
}

void TfliteFile::CheckSubgraph(uint32_t index) const {
  const tflite::SubGraph& graph = subgraph(index);
  const uint32_t tensors = SizeOf(graph.tensors());
  const auto check = [&](const flatbuffers::Vector<int32_t>* list, const char* whose, int32_t lowest) {
    for (uint32_t i = 0; i < SizeOf(list); ++i) {
      const int32_t tensor = list->Get(i);
      if (tensor < lowest || (tensor >= 0 && static_cast<uint32_t>(tensor) >= tensors))
        Damaged("{} of subgraph {} refer to tensor {} of {}", whose, index, tensor, tensors);
    }
  };
  check(graph.inputs(), "the inputs", 0);
  check(graph.outputs(), "the outputs", 0);
  for (uint32_t i = 0; i < tensors; ++i) {
    const tflite::Tensor& tensor = *graph.tensors()->Get(i);
    if (tensor.buffer() >= SizeOf(model_->buffers()) && tensor.buffer() != 0)
      Damaged("tensor {} of subgraph {} refers to buffer {} of {}", i, index, tensor.buffer(),
              SizeOf(model_->buffers()));
    // These and what options list are the elements of eight bytes that the schema has.
    if (tensor.quantization() != nullptr && !format::ElementsAreAligned(tensor.quantization()->zero_point()))
      Damaged("the zero points of tensor {} of subgraph {} are misaligned", i, index);
  }
  for (uint32_t i = 0; i < SizeOf(graph.operators()); ++i) {
    const tflite::Operator& node = *graph.operators()->Get(i);
    if (node.code() >= SizeOf(model_->operator_codes()))
      Damaged("operator {} of subgraph {} has code {} of {}", i, index, node.code(),
              SizeOf(model_->operator_codes()));
    check(node.inputs(), "an operator's inputs", -1);
    check(node.outputs(), "an operator's outputs", -1);
    check(node.intermediates(), "an operator's intermediates", -1);
    for (const auto* list : LongListsOf(node)) {
      if (!format::ElementsAreAligned(list))
        Damaged("the options of operator {} of subgraph {} are misaligned", i, index);
    }
  }
}

Span<const uint8_t> TfliteFile::Buffer(uint32_t index) const {
  if (index >= SizeOf(model_->buffers())) return {};
  const tflite::Buffer& buffer = *model_->buffers()->Get(index);
  if (buffer.offset() > 1) {
    if (buffer.offset() > bytes_.size() || buffer.size() > bytes_.size() - buffer.offset())
      Damaged("buffer {} lies outside of the file's {} bytes", index, bytes_.size());
    return {bytes_.data() + buffer.offset(), static_cast<size_t>(buffer.size())};
  }
  return {buffer.data() == nullptr ? nullptr : buffer.data()->data(), SizeOf(buffer.data())};
}

std::string TfliteFile::Operator::Name() const {
  if (builtin == tflite::BuiltinOperator::CUSTOM) return custom.empty() ? "CUSTOM" : std::string(custom);
  const char* name = tflite::EnumNameBuiltinOperator(builtin);
  return name != nullptr && *name != '\0' ? name : fmt::format("operator {}", static_cast<int>(builtin));
}

TfliteFile::Operator TfliteFile::OperatorOf(const tflite::Operator& node) const {
  const tflite::OperatorCode& code = *model_->operator_codes()->Get(node.code());
  Operator found;
  found.builtin = code.old_builtin() <= kLastOldOperator && code.builtin() == tflite::BuiltinOperator::ADD
                      ? static_cast<tflite::BuiltinOperator>(code.old_builtin())
                      : code.builtin();
  if (code.custom() != nullptr) found.custom = code.custom()->string_view();
  return found;
}

}  // namespace skiff
