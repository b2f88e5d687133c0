#include "emit/write_model.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "emit/attr_encoder.h"
#include "emit/file_limits.h"
#include "emit/stored_form.h"
#include "format/container.h"
#include "graph/error.h"
#include "model_generated.h"
#include "skiff/version.h"

namespace skiff {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr const char* kProducer = "skiff " SKIFF_VERSION;

/// Where a constant's elements are, and in which form.
struct StoredConstant {
  int32_t blob = -1;
  DType dtype = DType::kInvalid;  ///< kInvalid: the tensor's own.
  int32_t quantization = -1;
};

/// Of equal ones the same number; it looks at a few of their scales, which may be many.
uint64_t SketchOf(const Quantization& quantization) {
  constexpr int64_t kMostLooks = 8;
  std::vector<double> parts = {static_cast<double>(quantization.axis),
                               static_cast<double>(quantization.block),
                               static_cast<double>(quantization.count)};
  const int64_t looks = std::min(quantization.count, kMostLooks);
  for (int64_t i = 0; i < looks; ++i) {
    const int64_t at = i * (quantization.count / looks);
    parts.push_back(static_cast<double>(quantization.ScaleAt(at)));
    parts.push_back(static_cast<double>(quantization.ZeroPointAt(at)));
  }
  return XXH3_64bits(parts.data(), parts.size() * sizeof(double));
}

/// By which a caller finds something. The file's texts end at a zero byte, and there two could be one.
const char* CheckedName(const std::string& name) {
  const size_t zero = name.find('\0');
  if (zero != std::string::npos)
    Throw(StatusCode::kUnsupported,
          "the name '{}\\0{}' has a zero byte, at which it would end in the file. Give it another in the "
          "source",
          name.substr(0, zero), name.c_str() + zero + 1);
  return name.c_str();
}

/// Of what was planned apart, too.
void CheckLimits(const FileDraft& file, const WriteOptions& options) {
  FileLimits limits;
  limits.AddTables(options.metadata.size());
  for (const SignatureDraft& signature : file.signatures) {
    for (const PlanDraft* draft : signature.plans) limits.Add(*draft);
    limits.Add(signature.ports);
  }
}

class Writer {
 public:
  Writer(const FileDraft& file, const WriteOptions& options) : file_(file), options_(options) {}

  ModelFile Write() {
    std::vector<Offset<format::Signature>> signatures;
    for (const SignatureDraft& signature : file_.signatures) signatures.push_back(WriteSignature(signature));
    std::vector<Offset<format::KeyValue>> metadata;
    for (const auto& [key, value] : options_.metadata)
      metadata.push_back(format::CreateKeyValueDirect(builder_, key.c_str(), value.c_str()));
    const auto variables = WriteVariables();
    const auto symbols = WriteSymbols();
    const auto quantizations = WriteQuantizations();
    const uint32_t version = state_in_place_          ? format::kStateFormatVersion
                             : narrow_                ? format::kNarrowFormatVersion
                             : !quantizations.empty() ? format::kQuantizedFormatVersion
                                                      : format::kPlainFormatVersion;
    builder_.Finish(format::CreateModelDirect(builder_, version, kProducer, &signatures,
                                              symbols.empty() ? nullptr : &symbols, &blobs_.blobs(),
                                              &metadata, variables.empty() ? nullptr : &variables,
                                              quantizations.empty() ? nullptr : &quantizations),
                    format::ModelIdentifier());
    return Assemble();
  }

 private:
  Offset<format::Signature> WriteSignature(const SignatureDraft& signature) {
    whole_ = signature.plans.front();
    input_symbols_.clear();
    for (const GraphPort& port : whole_->graph->inputs()) {
      for (const Dim& dim : whole_->graph->value(port.value).dims) input_symbols_.insert(dim.symbol());
    }
    std::vector<Offset<format::Plan>> plans;
    for (const PlanDraft* draft : signature.plans) plans.push_back(WritePlan(*draft));
    const auto inputs =
        WritePorts(whole_->graph->inputs(), whole_->inputs, signature.read_variables, signature.ports, true);
    const auto outputs = WritePorts(whole_->graph->outputs(), whole_->outputs, signature.assigned_variables,
                                    signature.ports, false);
    return format::CreateSignatureDirect(builder_, CheckedName(signature.name), &inputs, &outputs, &plans);
  }

  std::vector<Offset<format::Variable>> WriteVariables() {
    std::vector<Offset<format::Variable>> written;
    for (const auto& [name, value] : file_.variables) {
      const std::vector<int64_t> extents(value.shape().begin(), value.shape().end());
      written.push_back(format::CreateVariableDirect(
          builder_, CheckedName(name), static_cast<uint8_t>(value.dtype()), &extents,
          static_cast<uint32_t>(blobs_.Add(value.view(), HashOf(value))),
          QuantizationIndex(value.quantization().get())));
    }
    return written;
  }

  /// Plans of one file name the same things.
  Offset<flatbuffers::String> Debug(const char* name) {
    return options_.strip || name == nullptr ? Offset<flatbuffers::String>()
                                             : builder_.CreateSharedString(name);
  }

  /// Narrower than the tensor where that is exact.
  StoredConstant Store(const PlanDraft& draft, size_t index) {
    if (const auto found = draft.codes.find(index); found != draft.codes.end()) {
      const TensorData& codes = found->second;
      WideForm form{codes.dtype(), QuantizationIndex(codes.quantization().get()), Shape{codes.elements()}};
      if (!codes.quantization()->per_tensor()) form.shape = codes.shape();
      narrow_ = true;
      return {blobs_.Add(codes.view(), HashOf(codes), form), form.dtype, form.quantization};
    }
    const PlanTensor& tensor = draft.tensors[index];
    const auto size = static_cast<uint64_t>(tensor.view.bytes());
    // Plans of one file have the same constants.
    const auto [known, fresh] =
        stored_.try_emplace({tensor.hash.low, tensor.hash.high, size, tensor.view.dtype});
    StoredConstant& stored = known->second;
    if (!fresh) return stored;
    if (const std::optional<TensorData> halves = AsHalves(tensor.view)) {
      const WideForm form{DType::kF16, -1, Shape()};
      stored = {blobs_.AddCopy(*halves, form), form.dtype, -1};
      narrow_ = true;
    } else {
      stored.blob = blobs_.Add(tensor.view, tensor.hash);
    }
    return stored;
  }

  std::vector<Offset<format::Tensor>> WriteTensors(const PlanDraft& draft) {
    std::vector<Offset<format::Tensor>> tensors;
    for (size_t i = 0; i < draft.tensors.size(); ++i) {
      const PlanTensor& tensor = draft.tensors[i];
      const TensorPlacement& placement = draft.placements[i];
      static const Value kScratch;
      const Value& value = draft.values[i] == kNoValue ? kScratch : draft.graph->value(draft.values[i]);
      const std::vector<int64_t> extents(tensor.view.shape.begin(), tensor.view.shape.end());
      const std::vector<uint8_t> perm(value.source_perm.begin(), value.source_perm.end());
      const bool dense = tensor.view.row_stride == tensor.view.shape.last();
      const bool source = !options_.strip && !value.source.empty();
      const StoredConstant stored = tensor.constant ? Store(draft, i) : StoredConstant();
      state_in_place_ |=
          std::find(draft.inputs.begin(), draft.inputs.end(), placement.buffer) != draft.inputs.end();
      tensors.push_back(format::CreateTensor(
          builder_, static_cast<uint8_t>(tensor.view.dtype), builder_.CreateVector(extents), stored.blob,
          placement.offset, placement.view_of, dense ? 0 : tensor.view.row_stride, Debug(tensor.name),
          Debug(source ? value.source.c_str() : nullptr),
          source && !perm.empty() ? builder_.CreateVector(perm) : 0, placement.buffer,
          QuantizationIndex(tensor.view.quantization), static_cast<uint8_t>(stored.dtype),
          stored.quantization));
    }
    return tensors;
  }

  std::vector<Offset<format::Node>> WriteNodes(const PlanDraft& draft) {
    std::vector<Offset<format::Node>> nodes;
    for (size_t i = 0; i < draft.nodes.size(); ++i) {
      const PlanNode node = draft.ViewOf(i);
      const std::vector<Offset<format::Attr>> attrs = EncodeAttrs(builder_, node.op->code, *node.attrs);
      std::vector<Offset<format::Plan>> bodies;
      for (const PlanDraft& body : draft.nodes[i].bodies) bodies.push_back(WritePlan(body));
      nodes.push_back(format::CreateNode(
          builder_, static_cast<uint16_t>(node.op->code), builder_.CreateVector(draft.nodes[i].inputs),
          builder_.CreateVector(draft.nodes[i].outputs), attrs.empty() ? 0 : builder_.CreateVector(attrs),
          Debug(node.name), bodies.empty() ? 0 : builder_.CreateVector(bodies)));
    }
    return nodes;
  }

  /// Only the Symbols of inputs are the file's business.
  bool IsInputSymbol(SymbolId symbol) const { return symbol >= 0 && input_symbols_.contains(symbol); }

  /// In the file. Symbols of two signatures are different ones, whatever their names.
  uint32_t SymbolIndex(SymbolId id) {
    const std::pair symbol(whole_->graph, id);
    const auto [known, fresh] = symbol_indices_.try_emplace(symbol, static_cast<uint32_t>(symbols_.size()));
    if (fresh) symbols_.push_back(symbol);
    return known->second;
  }

  /// In the file; equal ones are one. -1 for none.
  int32_t QuantizationIndex(const Quantization* quantization) {
    if (quantization == nullptr) return -1;
    const auto [begin, end] = quantization_indices_.equal_range(SketchOf(*quantization));
    for (auto known = begin; known != end; ++known) {
      if (SameQuantization(quantization, quantizations_[static_cast<size_t>(known->second)]))
        return known->second;
    }
    const auto index = static_cast<int32_t>(quantizations_.size());
    quantizations_.push_back(quantization);
    quantization_indices_.emplace(SketchOf(*quantization), index);
    return index;
  }

  std::vector<Offset<format::Quantization>> WriteQuantizations() {
    std::vector<Offset<format::Quantization>> written;
    for (const Quantization* from : quantizations_) {
      if (from->per_tensor()) {
        written.push_back(format::CreateQuantization(builder_, from->scale, from->zero_point));
        continue;
      }
      const auto add = [&](DType dtype, const void* elements) {
        return elements == nullptr ? -1 : blobs_.AddCopy(TensorData(dtype, Shape{from->count}, elements));
      };
      const int32_t scales = add(DType::kF32, from->scales);
      const int32_t zero_points = add(DType::kI32, from->zero_points);
      written.push_back(
          format::CreateQuantization(builder_, 1, 0, from->axis, from->block, scales, zero_points));
    }
    return written;
  }

  std::vector<Offset<format::Symbol>> WriteSymbols() {
    std::vector<Offset<format::Symbol>> written;
    for (const auto& [graph, id] : symbols_) {
      const Symbol& symbol = graph->symbols()[static_cast<size_t>(id)];
      written.push_back(format::CreateSymbolDirect(builder_, CheckedName(symbol.name), symbol.min, symbol.max,
                                                   symbol.multiple));
    }
    return written;
  }

  Offset<format::Plan> WritePlan(const PlanDraft& draft) {
    const auto tensors = WriteTensors(draft);
    const auto nodes = WriteNodes(draft);
    std::vector<format::Segment> segments;
    for (const SegmentData& segment : draft.segments)
      segments.emplace_back(static_cast<uint8_t>(segment.delegate), segment.begin, segment.end);
    std::vector<Offset<format::Range>> ranges;
    for (const SymbolRange& range : draft.ranges)
      ranges.push_back(format::CreateRange(builder_, SymbolIndex(static_cast<SymbolId>(range.symbol)),
                                           range.min, range.max));
    return format::CreatePlanDirect(
        builder_, static_cast<uint8_t>(draft.target), static_cast<format::BucketKind>(draft.kind),
        ranges.empty() ? nullptr : &ranges, &tensors, &nodes, draft.shape_node_count, &segments,
        &draft.inputs, &draft.outputs, draft.arena_bytes, draft.inputs_outside);
  }

  /// Of the signature that is being written; the last ports are variables'.
  std::vector<Offset<format::Port>> WritePorts(const std::vector<GraphPort>& ports,
                                               const std::vector<int32_t>& tensors,
                                               const std::vector<int32_t>& variables,
                                               const PortSettings& settings, bool inputs) {
    std::vector<Offset<format::Port>> written;
    const size_t callers = ports.size() - variables.size();
    for (size_t i = 0; i < ports.size(); ++i) {
      const TensorView& view = whole_->tensors[static_cast<size_t>(tensors[i])].view;
      std::vector<int64_t> extents;
      for (const Dim& dim : whole_->graph->value(ports[i].value).dims) {
        // What is no Symbol of an input is found on the device.
        extents.push_back(dim.constant()                ? dim.value
                          : IsInputSymbol(dim.symbol()) ? -1 - int64_t{SymbolIndex(dim.symbol())}
                                                        : INT64_MIN);
      }
      Offset<format::Image> image;
      if (const auto found = settings.images.find(ports[i].name); inputs && found != settings.images.end()) {
        const ImageSettings& from = found->second;
        image = format::CreateImageDirect(builder_, from.width, from.height, &from.mean, &from.scale,
                                          from.bgr, from.nhwc, static_cast<uint8_t>(from.fit),
                                          static_cast<uint8_t>(from.filter), from.fill, from.resize);
      }
      std::vector<Offset<flatbuffers::String>> labels;
      if (const auto found = settings.labels.find(ports[i].name); !inputs && found != settings.labels.end()) {
        for (const std::string& label : found->second) labels.push_back(builder_.CreateSharedString(label));
      }
      written.push_back(format::CreatePortDirect(
          builder_, CheckedName(ports[i].name), static_cast<uint8_t>(view.dtype), &extents, image,
          labels.empty() ? nullptr : &labels, i < callers ? -1 : variables[i - callers],
          QuantizationIndex(view.quantization)));
    }
    return written;
  }

  ModelFile Assemble() {
    format::FileHeader header = {};
    std::memcpy(header.magic, format::kMagic, sizeof(header.magic));
    header.container_version = 1;
    header.model_offset = sizeof(header);
    header.model_size = builder_.GetSize();
    header.weights_offset = format::AlignUp(header.model_offset + header.model_size);
    header.weights_size = blobs_.bytes();
    header.file_size = header.weights_offset + header.weights_size + format::kAlignment;
    std::vector<uint8_t> head(header.weights_offset);
    std::memcpy(head.data(), &header, sizeof(header));
    std::memcpy(head.data() + header.model_offset, builder_.GetBufferPointer(), header.model_size);
    return ModelFile(std::move(head), std::move(blobs_), header.file_size);
  }

  const FileDraft& file_;
  const WriteOptions& options_;
  FlatBufferBuilder builder_;
  BlobTable blobs_;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t, DType>, StoredConstant> stored_;  ///< By content.
  bool state_in_place_ = false;                     ///< Some plan updates a variable where it lies.
  bool narrow_ = false;                             ///< Some constant is stored narrower than it is used.
  std::vector<const Quantization*> quantizations_;  ///< In the order of the file.
  std::unordered_multimap<uint64_t, int32_t> quantization_indices_;  ///< By SketchOf().
  const PlanDraft* whole_ = nullptr;                        ///< Of the signature that is being written.
  std::unordered_set<SymbolId> input_symbols_;              ///< Of that signature.
  std::vector<std::pair<const Graph*, SymbolId>> symbols_;  ///< In the order of the file.
  std::map<std::pair<const Graph*, SymbolId>, uint32_t> symbol_indices_;
};

}  // namespace

std::vector<Span<const uint8_t>> ModelFile::parts() const {
  static constexpr uint8_t kGap[format::kAlignment] = {};
  std::vector<Span<const uint8_t>> parts{{head_.data(), head_.size()}};
  uint64_t end = 0;
  for (size_t i = 0; i < blobs_.blobs().size(); ++i) {
    const uint64_t begin = blobs_.blobs()[i].offset();
    if (begin > end) parts.emplace_back(kGap, begin - end);
    parts.push_back(blobs_.data(i));
    end = begin + blobs_.data(i).size();
  }
  const uint64_t padded = size_ - format::kAlignment - head_.size();
  if (padded > end) parts.emplace_back(kGap, padded - end);
  parts.emplace_back(kGap, format::kAlignment);
  return parts;
}

std::vector<uint8_t> ModelFile::ToBytes() const {
  std::vector<uint8_t> bytes;
  bytes.reserve(size_);
  for (const Span<const uint8_t>& part : parts()) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

ModelFile SerializeModel(const FileDraft& draft, const WriteOptions& options) {
  CheckLimits(draft, options);
  return Writer(draft, options).Write();
}

}  // namespace skiff
