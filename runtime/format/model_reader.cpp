// Reads an untrusted .skiff file: container header, FlatBuffers verifier, then every index, offset, size,
// enumeration and attribute, with overflow-checked arithmetic. Nothing after this file checks the model
// again.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/checksum.h"
#include "format/aligned.h"
#include "format/attr_decoder.h"
#include "format/container.h"
#include "format/model_data.h"
#include "model_generated.h"
#include "plan/body_ports.h"
#include "plan/shaped_plan.h"

namespace skiff {
namespace {

using format::FileHeader;

constexpr int64_t kMaxTensorBytes = int64_t{1} << 46;
/// A tensor without elements has no bytes, but kernels may still walk its other extents.
constexpr int64_t kMaxEmptyVolume = int64_t{1} << 28;
/// Some checks are quadratic in the operands of one node.
constexpr size_t kMaxOperands = 4096;

/// A .skiff file names a few thousand nodes; these only stop a small malicious file from asking for huge
/// tables.
constexpr size_t kMaxIndices = size_t{1} << 24;

template <class Vector>
size_t SizeOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

const char* TextOf(const flatbuffers::String* text) { return text == nullptr ? "" : text->c_str(); }

class Reader {
 public:
  Reader(const char* name, Span<const uint8_t> file, ModelData* out) : name_(name), file_(file), out_(out) {}

  Status Read() {
    SKIFF_RETURN_IF_ERROR(ReadHeader());
    SKIFF_RETURN_IF_ERROR(CopyAndVerify());
    SKIFF_RETURN_IF_ERROR(CheckBlobs());
    SKIFF_RETURN_IF_ERROR(ReadMetadata());
    SKIFF_RETURN_IF_ERROR(ReadSymbols());
    SKIFF_RETURN_IF_ERROR(ReadVariables());
    if (SizeOf(model_->signatures()) == 0) return Invalid("it has no signature");
    SKIFF_RETURN_IF_ERROR(out_->signatures.Allocate(model_->signatures()->size()));
    for (uint32_t i = 0; i < model_->signatures()->size(); ++i) {
      SKIFF_RETURN_IF_ERROR(ReadSignature(*model_->signatures()->Get(i), out_->signatures[i]));
    }
    return OkStatus();
  }

 private:
  Status Invalid(const char* what, ...) const __attribute__((format(printf, 2, 3))) {
    char sentence[512];
    va_list arguments;
    va_start(arguments, what);
    std::vsnprintf(sentence, sizeof(sentence), what, arguments);
    va_end(arguments);
    return Fail(StatusCode::kInvalidModel, "%s: not a usable .skiff file: %s", name_, sentence);
  }

  Status ReadHeader() {
    if (file_.size() < sizeof(FileHeader)) return Invalid("%zu bytes are less than its header", file_.size());
    std::memcpy(&header_, file_.data(), sizeof(header_));
    if (std::memcmp(header_.magic, format::kMagic, sizeof(format::kMagic)) != 0) {
      return Invalid("it does not begin with the mark of the format; make it with 'skiff convert'");
    }
    if (header_.container_version != 1) return TooNew("container", header_.container_version, 1);
    if (header_.file_size != file_.size()) {
      return Invalid("it should have %llu bytes and has %zu: it was cut or changed on its way",
                     static_cast<unsigned long long>(header_.file_size), file_.size());
    }
    const uint64_t size = file_.size();
    if (header_.model_offset != sizeof(FileHeader) || header_.model_size > size - sizeof(FileHeader) ||
        header_.weights_offset > size || header_.weights_offset % format::kAlignment != 0 ||
        header_.weights_offset < header_.model_offset + header_.model_size ||
        header_.weights_size > size - header_.weights_offset ||
        size - header_.weights_offset - header_.weights_size < format::kReadableTail) {
      return Invalid("the header's offsets do not fit the file");
    }
    out_->file_bytes = size;
    out_->model_bytes = header_.model_size;
    out_->weights_bytes = header_.weights_size;
    return OkStatus();
  }

  Status TooNew(const char* what, uint32_t version, uint32_t newest) const {
    return Fail(StatusCode::kUnsupported,
                "%s: its %s version is %u, this build reads up to %u; update Skiff or convert again", name_,
                what, version, newest);
  }

  Status CopyAndVerify() {
    SKIFF_RETURN_IF_ERROR(out_->flatbuffer.Allocate(header_.model_size / sizeof(uint64_t) + 1));
    std::memcpy(out_->flatbuffer.data(), file_.data() + header_.model_offset, header_.model_size);
    const auto* bytes = reinterpret_cast<const uint8_t*>(out_->flatbuffer.data());
    if (header_.model_size < 16)
      return Invalid("its FlatBuffer part has only %llu bytes",
                     static_cast<unsigned long long>(header_.model_size));
    flatbuffers::Verifier verifier(bytes, header_.model_size);
    if (!format::VerifyModelBuffer(verifier)) return Invalid("its FlatBuffer part is malformed");
    model_ = format::GetModel(bytes);
    if (model_->format_version() > format::kFormatVersion)
      return TooNew("format", model_->format_version(), format::kFormatVersion);
    if (model_->format_version() == 0) return Invalid("its format version is 0");
    out_->format_version = model_->format_version();
    out_->producer = TextOf(model_->producer());
    return OkStatus();
  }

  Status CheckBlobs() {
    if (!format::ElementsAreAligned(model_->blobs())) return Invalid("its list of weights is misaligned");
    for (uint32_t i = 0; i < SizeOf(model_->blobs()); ++i) {
      const format::Blob& blob = *model_->blobs()->Get(i);
      if (blob.offset() % format::kAlignment != 0 || blob.offset() > header_.weights_size ||
          blob.size() > header_.weights_size - blob.offset()) {
        return Invalid("weights %u lie outside of the file", i);
      }
      const uint64_t known_by[] = {out_->weights_id, blob.hash_low(), blob.hash_high()};
      out_->weights_id = Checksum(known_by, sizeof(known_by));
    }
    return OkStatus();
  }

  Status ReadMetadata() {
    SKIFF_RETURN_IF_ERROR(out_->metadata.Allocate(SizeOf(model_->metadata())));
    for (size_t i = 0; i < out_->metadata.size(); ++i) {
      const format::KeyValue& entry = *model_->metadata()->Get(static_cast<uint32_t>(i));
      out_->metadata[i] = {TextOf(entry.key()), TextOf(entry.value())};
    }
    return OkStatus();
  }

  Status ReadSymbols() {
    SKIFF_RETURN_IF_ERROR(out_->symbols.Allocate(SizeOf(model_->symbols())));
    for (uint32_t i = 0; i < out_->symbols.size(); ++i) {
      const format::Symbol& symbol = *model_->symbols()->Get(i);
      if (symbol.min() < 0 || symbol.max() < symbol.min() || symbol.multiple() < 1)
        return Invalid("dimension %u has no sizes that it could be", i);
      out_->symbols[i] = {TextOf(symbol.name()), symbol.min(), symbol.max(), symbol.multiple()};
    }
    return OkStatus();
  }

  Status ReadVariables() {
    SKIFF_RETURN_IF_ERROR(out_->variables.Allocate(SizeOf(model_->variables())));
    for (uint32_t i = 0; i < out_->variables.size(); ++i) {
      const format::Variable& from = *model_->variables()->Get(i);
      VariableInfo& to = out_->variables[i];
      DType dtype;
      Shape shape;
      SKIFF_RETURN_IF_ERROR(ReadType(from.dtype(), from.extents(), false, &dtype, &shape));
      to.name = TextOf(from.name());
      to.initial = TensorView(nullptr, dtype, shape);
      if (from.blob() >= SizeOf(model_->blobs())) return Invalid("variable '%s' has no value", to.name);
      const format::Blob& blob = *model_->blobs()->Get(from.blob());
      if (static_cast<uint64_t>(to.initial.bytes()) != blob.size())
        return Invalid("the shape of variable '%s' does not fit its value", to.name);
      to.initial.data = const_cast<uint8_t*>(file_.data() + header_.weights_offset + blob.offset());
    }
    return OkStatus();
  }

  /// Ports of variables come after the caller's, have their variable's type, and no variable has two.
  Status CheckVariablePorts(const FixedArray<PortInfo>& ports, size_t* callers) const {
    *callers = 0;
    for (size_t i = 0; i < ports.size(); ++i) {
      const PortInfo& port = ports[i];
      if (port.variable < 0) {
        if (i != *callers) return Invalid("'%s' comes after a port of a variable", port.name);
        ++*callers;
        continue;
      }
      if (static_cast<size_t>(port.variable) >= out_->variables.size())
        return Invalid("'%s' is variable %d, which is not in the file", port.name, port.variable);
      const TensorView& variable = out_->variables[static_cast<size_t>(port.variable)].initial;
      if (port.dtype != variable.dtype || !(port.shape == variable.shape))
        return Invalid("'%s' has another type than its variable", port.name);
      for (size_t j = *callers; j < i; ++j) {
        if (ports[j].variable == port.variable) return Invalid("'%s' is a variable twice", port.name);
      }
    }
    return OkStatus();
  }

  Status ReadSignature(const format::Signature& from, SignatureData& to) {
    to.name = TextOf(from.name());
    SKIFF_RETURN_IF_ERROR(ReadPorts(from.inputs(), to.inputs));
    SKIFF_RETURN_IF_ERROR(ReadPorts(from.outputs(), to.outputs));
    SKIFF_RETURN_IF_ERROR(CheckVariablePorts(to.inputs, &to.input_count));
    SKIFF_RETURN_IF_ERROR(CheckVariablePorts(to.outputs, &to.output_count));
    SKIFF_RETURN_IF_ERROR(to.labels.Allocate(to.outputs.size()));
    for (uint32_t i = 0; i < to.outputs.size(); ++i) {
      const auto* labels = from.outputs()->Get(i)->labels();
      SKIFF_RETURN_IF_ERROR(CountIndices(SizeOf(labels)));
      SKIFF_RETURN_IF_ERROR(to.labels[i].Allocate(SizeOf(labels)));
      for (uint32_t j = 0; j < to.labels[i].size(); ++j) to.labels[i][j] = TextOf(labels->Get(j));
      to.outputs[i].labels = {to.labels[i].data(), to.labels[i].size()};
    }
    if (SizeOf(from.plans()) == 0) return Invalid("signature '%s' has no plan", to.name);
    SKIFF_RETURN_IF_ERROR(to.plans.Allocate(from.plans()->size()));
    for (uint32_t i = 0; i < to.plans.size(); ++i) {
      SKIFF_RETURN_IF_ERROR(ReadPlan(*from.plans()->Get(i), {to.inputs, to.outputs}, to.plans[i]));
    }
    return OkStatus();
  }

  Status ReadPorts(const flatbuffers::Vector<flatbuffers::Offset<format::Port>>* from,
                   FixedArray<PortInfo>& to) {
    SKIFF_RETURN_IF_ERROR(to.Allocate(SizeOf(from)));
    for (uint32_t i = 0; i < to.size(); ++i) {
      const format::Port& port = *from->Get(i);
      to[i].name = TextOf(port.name());
      to[i].variable = port.variable() < 0 ? -1 : port.variable();
      SKIFF_RETURN_IF_ERROR(ReadType(port.dtype(), port.extents(), true, &to[i].dtype, &to[i].shape));
      SKIFF_RETURN_IF_ERROR(ReadPortSymbols(port, to[i]));
      if (port.image() != nullptr) SKIFF_RETURN_IF_ERROR(ReadImage(*port.image(), to[i]));
    }
    return OkStatus();
  }

  /// A negative extent is Symbol -1 - extent; the lowest number means an output's that only the device knows.
  Status ReadPortSymbols(const format::Port& from, PortInfo& to) {
    for (int axis = 0; axis < to.shape.rank(); ++axis) {
      const int64_t extent = from.extents()->Get(static_cast<uint32_t>(axis));
      if (extent >= 0 || extent == INT64_MIN) continue;
      const int64_t symbol = -1 - extent;
      if (symbol >= static_cast<int64_t>(out_->symbols.size()))
        return Invalid("'%s' has a dimension %lld, which is not in the file", to.name,
                       static_cast<long long>(symbol));
      to.symbols[axis] = static_cast<int32_t>(symbol);
    }
    return OkStatus();
  }

  Status ReadImage(const format::Image& from, PortInfo& port) {
    ImageSpec& to = port.image;
    to.channels = static_cast<uint32_t>(SizeOf(from.mean()));
    to.width = from.width();
    to.height = from.height();
    to.bgr = from.bgr();
    to.nhwc = from.nhwc();
    const bool sizes = to.channels >= 1 && to.channels <= 4 && SizeOf(from.scale()) == to.channels &&
                       port.shape.rank() == 4 && port.shape[0] == 1 &&
                       port.shape[to.nhwc ? 1 : 2] == to.height && port.shape[to.nhwc ? 2 : 3] == to.width &&
                       port.shape[to.nhwc ? 3 : 1] == to.channels && port.dtype == DType::kF32;
    if (!sizes) return Invalid("the image settings of input '%s' do not fit its shape", port.name);
    for (uint32_t c = 0; c < to.channels; ++c) {
      to.mean[c] = from.mean()->Get(c);
      to.scale[c] = from.scale()->Get(c);
    }
    return OkStatus();
  }

  /// Extents that vary become -1, where they may be there.
  Status ReadType(uint8_t dtype, const flatbuffers::Vector<int64_t>* extents, bool may_vary, DType* to_dtype,
                  Shape* to_shape) {
    *to_dtype = static_cast<DType>(dtype);
    int64_t bytes = DTypeSize(*to_dtype);
    if (bytes == 0) return Invalid("dtype %u is unknown", dtype);
    if (SizeOf(extents) > kMaxRank)
      return Invalid("a tensor has rank %zu, at most %d is possible", SizeOf(extents), kMaxRank);
    if (!format::ElementsAreAligned(extents)) return Invalid("a tensor's extents are misaligned");
    *to_shape = Shape();
    int64_t volume = bytes;
    bool varies = false;
    for (uint32_t i = 0; i < SizeOf(extents); ++i) {
      const int64_t extent = extents->Get(i);
      if (extent < 0 && may_vary) {
        varies = true;
        to_shape->Append(-1);
        continue;
      }
      if (extent < 0) return Invalid("a tensor of a plan for one shape has an open extent");
      // Zero extents must not hide an overflow of the others: strides are products of them.
      if (__builtin_mul_overflow(volume, extent > 0 ? extent : 1, &volume) || volume > kMaxTensorBytes) {
        return Invalid("a tensor's size overflows");
      }
      to_shape->Append(extent);
    }
    return !varies && to_shape->elements() == 0 && volume > kMaxEmptyVolume
               ? Invalid("an empty tensor's extents are too large")
               : OkStatus();
  }

  Status CountIndices(size_t more) {
    index_count_ += more;
    return index_count_ > kMaxIndices ? Invalid("it has more than %zu references", kMaxIndices) : OkStatus();
  }

  /// What a plan's inputs and outputs must be; a body's shapes are compared when they are known (ShapedPlan).
  struct PlanPorts {
    Span<const PortInfo> inputs;
    Span<const PortInfo> outputs;
    bool of_body = false;
  };

  Status ReadPlan(const format::Plan& from, const PlanPorts& ports, PlanData& to) {
    if (from.target() > static_cast<uint8_t>(Target::kVulkan))
      return Invalid("target %u is unknown", from.target());
    to.target = static_cast<Target>(from.target());
    if (from.kind() > format::BucketKind::Unbounded) {
      return Fail(StatusCode::kUnsupported,
                  "%s: it has a plan of kind %d, which this build does not know; update Skiff", name_,
                  static_cast<int>(from.kind()));
    }
    to.kind = static_cast<BucketKind>(from.kind());
    to.inputs_outside = from.inputs_outside();
    to.shape_node_count = from.shape_node_count();
    const bool exact = to.kind == BucketKind::kExact;
    if ((exact && to.shape_node_count != 0) || ((!exact || ports.of_body) && !to.inputs_outside))
      return Invalid("a plan's parts contradict its kind");
    SKIFF_RETURN_IF_ERROR(ReadRanges(from, to));
    if (from.arena_bytes() > static_cast<uint64_t>(kMaxTensorBytes))
      return Invalid("the arena's size overflows");
    to.arena_bytes = from.arena_bytes();
    SKIFF_RETURN_IF_ERROR(ReadTensors(from, to));
    SKIFF_RETURN_IF_ERROR(ReadNodes(from, to));
    if (kBuildHasBodies) SKIFF_RETURN_IF_ERROR(ReadBodies(from, to));
    SKIFF_RETURN_IF_ERROR(ReadSegments(from, to));
    SKIFF_RETURN_IF_ERROR(ReadPlanPorts(from.inputs(), ports.inputs, ports.of_body, to, to.inputs, "input"));
    SKIFF_RETURN_IF_ERROR(
        ReadPlanPorts(from.outputs(), ports.outputs, ports.of_body, to, to.outputs, "output"));
    PlanMessage message;
    Status status = OrderPlan(to, message);
    if (status.ok() && exact && !ports.of_body) status = CheckShape(to, message);
    return status.code() == StatusCode::kInvalidModel ? Invalid("%s", message.text) : status;
  }

  /// A plan of one shape is checked now; others at every new shape.
  Status CheckShape(const PlanData& plan, PlanMessage& message) {
    FixedArray<TensorView> inputs;
    SKIFF_RETURN_IF_ERROR(inputs.Allocate(plan.inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = plan.tensors[static_cast<size_t>(plan.inputs[i])].view;
    ShapedPlan shaped;
    SKIFF_RETURN_IF_ERROR(shaped.Init(plan, false));
    return shaped.Shape(inputs, message);
  }

  Status ReadRanges(const format::Plan& from, PlanData& to) {
    SKIFF_RETURN_IF_ERROR(to.ranges.Allocate(SizeOf(from.ranges())));
    for (uint32_t i = 0; i < to.ranges.size(); ++i) {
      const format::Range& range = *from.ranges()->Get(i);
      if (range.symbol() >= out_->symbols.size() || range.min() < 0 || range.max() < range.min())
        return Invalid("range %u of a plan is of no dimension, or empty", i);
      to.ranges[i] = {range.symbol(), range.min(), range.max()};
    }
    return OkStatus();
  }

  Status ReadTensors(const format::Plan& from, PlanData& to) {
    SKIFF_RETURN_IF_ERROR(to.tensors.Allocate(SizeOf(from.tensors())));
    SKIFF_RETURN_IF_ERROR(to.placements.Allocate(to.tensors.size()));
    for (uint32_t i = 0; i < to.tensors.size(); ++i) {
      const format::Tensor& tensor = *from.tensors()->Get(i);
      PlanTensor& out = to.tensors[i];
      TensorPlacement& placement = to.placements[i];
      DType dtype;
      Shape shape;
      const bool may_vary = to.kind != BucketKind::kExact && tensor.blob() < 0;
      SKIFF_RETURN_IF_ERROR(ReadType(tensor.dtype(), tensor.extents(), may_vary, &dtype, &shape));
      out.name = TextOf(tensor.name());
      out.view = TensorView(nullptr, dtype, shape);
      if (tensor.row_stride() < 0 || tensor.row_stride() > kMaxTensorBytes)
        return Invalid("tensor %u has a bad stride", i);
      placement.row_stride = tensor.row_stride();
      placement.buffer = tensor.buffer();
      placement.view_of = tensor.view_of();
      placement.offset = tensor.offset();
      placement.source = TextOf(tensor.source());
      if (SizeOf(tensor.source_perm()) > kMaxRank) return Invalid("tensor %u has a bad permutation", i);
      for (uint32_t j = 0; j < SizeOf(tensor.source_perm()); ++j) {
        const uint8_t axis = tensor.source_perm()->Get(j);
        if (axis >= kMaxRank) return Invalid("tensor %u has a bad permutation", i);
        placement.source_perm[placement.source_perm.size++] = axis;
      }
      if (tensor.blob() >= 0) {
        if (static_cast<uint32_t>(tensor.blob()) >= SizeOf(model_->blobs()))
          return Invalid("tensor %u has no weights", i);
        const format::Blob& blob = *model_->blobs()->Get(static_cast<uint32_t>(tensor.blob()));
        if (static_cast<uint64_t>(out.view.bytes()) != blob.size() || placement.row_stride != 0 ||
            placement.view_of != TensorPlacement::kRoot) {
          return Invalid("the shape of constant %u does not fit its weights", i);
        }
        out.constant = true;
        out.hash = {blob.hash_low(), blob.hash_high()};
        // Kernels take inputs and outputs as the same view type, but never write a constant.
        out.view.data = const_cast<uint8_t*>(file_.data() + header_.weights_offset + blob.offset());
      }
    }
    return OkStatus();
  }

  Status ReadNodes(const format::Plan& from, PlanData& to) {
    const size_t count = SizeOf(from.nodes());
    size_t indices = 0;
    for (uint32_t i = 0; i < count; ++i) {
      indices += SizeOf(from.nodes()->Get(i)->inputs()) + SizeOf(from.nodes()->Get(i)->outputs());
    }
    SKIFF_RETURN_IF_ERROR(CountIndices(indices));
    SKIFF_RETURN_IF_ERROR(to.nodes.Allocate(count));
    SKIFF_RETURN_IF_ERROR(to.attrs.Allocate(count));
    SKIFF_RETURN_IF_ERROR(to.indices.Allocate(indices));
    int32_t* next = to.indices.data();
    for (uint32_t i = 0; i < count; ++i) {
      const format::Node& node = *from.nodes()->Get(i);
      PlanNode& out = to.nodes[i];
      out.op = FindOp(static_cast<OpCode>(node.op()));
      out.name = TextOf(node.name());
      if (out.op == nullptr) return UnknownOperator(node.op(), i, out.name);
      const size_t inputs = SizeOf(node.inputs());
      const size_t outputs = SizeOf(node.outputs());
      const bool arity = inputs >= out.op->min_inputs &&
                         (out.op->max_inputs == kVariadic || inputs <= out.op->max_inputs) &&
                         (out.op->outputs == kVariadic ? outputs >= 1 : outputs == out.op->outputs);
      if (inputs + outputs > kMaxOperands)
        return Invalid("node %u (%s) has more than %zu operands", i, out.op->name, kMaxOperands);
      if (!arity)
        return Invalid("node %u (%s) has %zu inputs and %zu outputs", i, out.op->name, inputs, outputs);
      SKIFF_RETURN_IF_ERROR(ReadIndices(node.inputs(), i, -1, to, &next, &out.inputs));
      SKIFF_RETURN_IF_ERROR(ReadIndices(node.outputs(), i, 0, to, &next, &out.outputs));
      for (size_t j = 0; j < out.op->min_inputs; ++j) {
        if (out.inputs[j] < 0) return Invalid("node %u (%s) lacks input %zu", i, out.op->name, j);
      }
      InitAttrs(out.op->code, to.attrs[i]);
      if (!DecodeAttrs(out.op->code, node.attrs(), to.attrs[i]))
        return Invalid("node %u (%s) has a bad attribute", i, out.op->name);
      out.attrs = &to.attrs[i];
    }
    return OkStatus();
  }

  Status UnknownOperator(uint16_t op, uint32_t node, const char* name) const {
    if (const char* absent = OpName(static_cast<OpCode>(op)))
      return Fail(StatusCode::kUnsupported,
                  "%s: node %u '%s' is a %s, which this build of Skiff leaves out; %s", name_, node, name,
                  absent, kRebuildHint);
    return Fail(StatusCode::kUnsupported,
                "%s: node %u uses operator %u, which this build does not know; update Skiff", name_, node,
                op);
  }

  /// What the nodes with bodies run. Nothing is around a body but what the node passes it.
  Status ReadBodies(const format::Plan& from, PlanData& to) {
    size_t count = 0;
    for (uint32_t i = 0; i < to.nodes.size(); ++i) count += SizeOf(from.nodes()->Get(i)->bodies());
    SKIFF_RETURN_IF_ERROR(CountIndices(count));
    SKIFF_RETURN_IF_ERROR(to.bodies.Allocate(count));
    if (count > 0 && ++body_depth_ > kMaxBodyDepth)
      return Invalid("bodies lie in bodies more than %d deep", kMaxBodyDepth);
    PlanData* next = to.bodies.data();
    for (uint32_t i = 0; i < to.nodes.size(); ++i) {
      const format::Node& node = *from.nodes()->Get(i);
      PlanNode& out = to.nodes[i];
      const size_t bodies = SizeOf(node.bodies());
      if (bodies != (out.op->Is(kBodies) ? kBodyCount : 0))
        return Invalid("node %u (%s) has %zu bodies", i, out.op->name, bodies);
      if (bodies == 0) continue;
      if (out.outputs.size() < 2 || out.inputs.size() < FirstBodyInput(out.op->code) + LoopVariables(out))
        return Invalid("node %u (%s) has %zu inputs and %zu outputs", i, out.op->name, out.inputs.size(),
                       out.outputs.size());
      for (uint32_t b = 0; b < bodies; ++b)
        SKIFF_RETURN_IF_ERROR(ReadBody(*node.bodies()->Get(b), i, b, to, next[b]));
      out.bodies = {next, bodies};
      next += bodies;
    }
    if (count > 0) --body_depth_;
    return OkStatus();
  }

  Status ReadBody(const format::Plan& from, uint32_t index, uint32_t body, const PlanData& plan,
                  PlanData& to) {
    const PlanNode& node = plan.nodes[index];
    const size_t first = FirstBodyInput(node.op->code);
    FixedArray<PortInfo> inputs;
    SKIFF_RETURN_IF_ERROR(inputs.Allocate(node.inputs.size() - first));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t tensor = node.inputs[i + first];
      if (tensor < 0) return Invalid("node %u (%s) lacks input %zu", index, node.op->name, i + first);
      inputs[i].dtype = plan.tensors[static_cast<size_t>(tensor)].view.dtype;
    }
    const bool asks = node.op->code == OpCode::kWhile && body == 0;
    FixedArray<PortInfo> outputs;
    SKIFF_RETURN_IF_ERROR(outputs.Allocate(asks ? 1 : BodyResults(node).size()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].dtype = asks ? DType::kBool : plan.tensors[static_cast<size_t>(node.outputs[i])].view.dtype;
    }
    SKIFF_RETURN_IF_ERROR(ReadPlan(from, {inputs, outputs, true}, to));
    // The results are copied to where a While's loop variables lie, one after the other.
    for (const int32_t output : to.outputs) {
      const int32_t root = to.placements[static_cast<size_t>(output)].view_of;
      for (const int32_t input : to.inputs) {
        if (output == input || root == input)
          return Invalid("an output of a body of node %u (%s) lies in an input", index, node.op->name);
      }
    }
    return OkStatus();
  }

  Status ReadIndices(const flatbuffers::Vector<int32_t>* from, uint32_t node, int32_t smallest,
                     const PlanData& plan, int32_t** next, Span<const int32_t>* to) {
    *to = {*next, SizeOf(from)};
    for (uint32_t i = 0; i < SizeOf(from); ++i) {
      const int32_t index = from->Get(i);
      if (index < smallest || index >= static_cast<int64_t>(plan.tensors.size())) {
        return Invalid("node %u refers to tensor %d of %zu", node, index, plan.tensors.size());
      }
      *(*next)++ = index;
    }
    return OkStatus();
  }

  Status ReadSegments(const format::Plan& from, PlanData& to) {
    SKIFF_RETURN_IF_ERROR(to.segments.Allocate(SizeOf(from.segments())));
    uint32_t covered = to.shape_node_count;
    if (covered > to.nodes.size()) return Invalid("the shape program is longer than the plan");
    for (uint32_t i = 0; i < to.segments.size(); ++i) {
      const format::Segment& segment = *from.segments()->Get(i);
      if (segment.begin() != covered || segment.end() <= segment.begin() || segment.end() > to.nodes.size()) {
        return Invalid("segment %u does not continue the one before it", i);
      }
      if (segment.delegate() >= kDelegateKindCount) {
        return Fail(StatusCode::kUnsupported,
                    "%s: it uses delegate %u, which this build does not know; update Skiff", name_,
                    segment.delegate());
      }
      to.segments[i] = {static_cast<DelegateKind>(segment.delegate()), segment.begin(), segment.end()};
      covered = segment.end();
      const bool control = to.segments[i].delegate == DelegateKind::kControl;
      if (control && segment.end() - segment.begin() != 1)
        return Invalid("segment %u holds more than a node with bodies", i);
      for (uint32_t n = segment.begin(); n < segment.end(); ++n) {
        if (to.nodes[n].bodies.empty() == control)
          return Invalid("node %u (%s) is in a segment of the %s delegate", n, to.nodes[n].op->name,
                         DelegateKindName(to.segments[i].delegate));
      }
    }
    return covered == to.nodes.size() ? OkStatus() : Invalid("the segments leave nodes out");
  }

  static bool Agree(const Shape& tensor, const Shape& port) {
    bool agree = tensor.rank() == port.rank();
    for (int i = 0; agree && i < tensor.rank(); ++i)
      agree = tensor[i] == port[i] || tensor[i] < 0 || port[i] < 0;
    return agree;
  }

  Status ReadPlanPorts(const flatbuffers::Vector<int32_t>* from, Span<const PortInfo> ports, bool of_body,
                       const PlanData& plan, FixedArray<int32_t>& to, const char* what) {
    if (SizeOf(from) != ports.size())
      return Invalid("a plan has %zu %ss, its %s %zu", SizeOf(from), what, of_body ? "node" : "signature",
                     ports.size());
    SKIFF_RETURN_IF_ERROR(to.Allocate(ports.size()));
    for (uint32_t i = 0; i < to.size(); ++i) {
      const int32_t index = from->Get(i);
      if (index < 0 || index >= static_cast<int64_t>(plan.tensors.size()))
        return Invalid("%s %u refers to tensor %d", what, i, index);
      const TensorView& view = plan.tensors[static_cast<size_t>(index)].view;
      const bool dense = plan.placements[static_cast<size_t>(index)].row_stride == 0;
      if (view.dtype != ports[i].dtype || (!of_body && !Agree(view.shape, ports[i].shape)) || !dense) {
        return Invalid("the plan's tensor for %s '%s' has another type", what, ports[i].name);
      }
      to[i] = index;
    }
    return OkStatus();
  }

  const char* name_;
  Span<const uint8_t> file_;
  ModelData* out_;
  FileHeader header_ = {};
  const format::Model* model_ = nullptr;
  size_t index_count_ = 0;
  int body_depth_ = 0;
};

}  // namespace

Status ReadModel(const char* name, Span<const uint8_t> file, ModelData* model) {
  return Reader(name, file, model).Read();
}

}  // namespace skiff
