// Reads an untrusted .skiff file: container header, FlatBuffers verifier, then every index, offset, size,
// enumeration and attribute, with overflow-checked arithmetic; plan_reader.cpp has the plans' part. Nothing
// after these two checks the model again.
#include <cstring>

#include "core/checksum.h"
#include "core/extents.h"
#include "format/aligned.h"
#include "format/model_data.h"
#include "format/plan_reader.h"
#include "plan/limits.h"

namespace skiff {
namespace {

using format::FileHeader;

/// The verifier looks at each label of each port, though ports may share a list and its labels one text, and
/// counts tables alone. These verify no more than is needed to count labels before.
template <class Element>
bool VerifyList(const flatbuffers::Table& table, flatbuffers::Verifier& verifier,
                flatbuffers::voffset_t field) {
  using List = const flatbuffers::Vector<flatbuffers::Offset<Element>>*;
  if (!table.VerifyOffset(verifier, field)) return false;
  const auto list = table.GetPointer<List>(field);
  return verifier.VerifyVector(list) && verifier.VerifyVectorOfTables(list);
}

struct PortOfLabels : flatbuffers::Table {
  bool Verify(flatbuffers::Verifier& verifier) const {
    using Labels = const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>*;
    return VerifyTableStart(verifier) && VerifyOffset(verifier, format::Port::VT_LABELS) &&
           verifier.VerifyVector(GetPointer<Labels>(format::Port::VT_LABELS)) && verifier.EndTable();
  }
};

struct SignatureOfLabels : flatbuffers::Table {
  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) &&
           VerifyList<PortOfLabels>(*this, verifier, format::Signature::VT_INPUTS) &&
           VerifyList<PortOfLabels>(*this, verifier, format::Signature::VT_OUTPUTS) && verifier.EndTable();
  }
};

struct ModelOfLabels : flatbuffers::Table {
  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) &&
           VerifyList<SignatureOfLabels>(*this, verifier, format::Model::VT_SIGNATURES) &&
           verifier.EndTable();
  }
};

class Reader {
 public:
  Reader(const char* name, Span<const uint8_t> file, Span<const CustomOperator> custom_operators,
         ModelData* out)
      : out_(out) {
    file_.name = name;
    file_.bytes = file;
    file_.custom_operators = custom_operators;
    file_.wide_weights = &out->wide_weights;
  }

  Status Read() {
    SKIFF_RETURN_IF_ERROR(ReadHeader());
    SKIFF_RETURN_IF_ERROR(CopyAndVerify());
    SKIFF_RETURN_IF_ERROR(CheckBlobs());
    SKIFF_RETURN_IF_ERROR(ReadQuantizations());
    SKIFF_RETURN_IF_ERROR(ReadMetadata());
    SKIFF_RETURN_IF_ERROR(ReadSymbols());
    SKIFF_RETURN_IF_ERROR(ReadVariables());
    if (SizeOf(file_.model->signatures()) == 0) return file_.Invalid("it has no signature");
    SKIFF_RETURN_IF_ERROR(out_->signatures.Allocate(file_.model->signatures()->size()));
    for (uint32_t i = 0; i < file_.model->signatures()->size(); ++i) {
      SKIFF_RETURN_IF_ERROR(ReadSignature(*file_.model->signatures()->Get(i), out_->signatures[i]));
    }
    out_->features = file_.features;
    return OkStatus();
  }

 private:
  Status ReadHeader() {
    if (file_.bytes.size() < sizeof(FileHeader))
      return file_.Invalid("%zu bytes are less than its header", file_.bytes.size());
    std::memcpy(&file_.header, file_.bytes.data(), sizeof(file_.header));
    if (std::memcmp(file_.header.magic, format::kMagic, sizeof(format::kMagic)) != 0) {
      return file_.Invalid("it does not begin with the mark of the format; make it with 'skiff convert'");
    }
    if (file_.header.container_version != 1) return TooNew("container", file_.header.container_version, 1);
    if (file_.header.file_size != file_.bytes.size()) {
      return file_.Invalid("it should have %llu bytes and has %zu: it was cut or changed on its way",
                           static_cast<unsigned long long>(file_.header.file_size), file_.bytes.size());
    }
    const uint64_t size = file_.bytes.size();
    if (file_.header.model_offset != sizeof(FileHeader) ||
        file_.header.model_size > size - sizeof(FileHeader) || file_.header.weights_offset > size ||
        file_.header.weights_offset % format::kAlignment != 0 ||
        file_.header.weights_offset < file_.header.model_offset + file_.header.model_size ||
        file_.header.weights_size > size - file_.header.weights_offset ||
        size - file_.header.weights_offset - file_.header.weights_size < format::kReadableTail) {
      return file_.Invalid("the header's offsets do not fit the file");
    }
    out_->file_bytes = size;
    out_->model_bytes = file_.header.model_size;
    out_->weights_bytes = file_.header.weights_size;
    return OkStatus();
  }

  Status TooNew(const char* what, uint32_t version, uint32_t newest) const {
    return Fail(StatusCode::kUnsupported,
                "%s: its %s version is %u, this build reads up to %u; update Skiff or convert again",
                file_.name, what, version, newest);
  }

  Status CopyAndVerify() {
    SKIFF_RETURN_IF_ERROR(out_->flatbuffer.Allocate(file_.header.model_size / sizeof(uint64_t) + 1));
    std::memcpy(out_->flatbuffer.data(), file_.bytes.data() + file_.header.model_offset,
                file_.header.model_size);
    const auto* bytes = reinterpret_cast<const uint8_t*>(out_->flatbuffer.data());
    if (file_.header.model_size < 16)
      return file_.Invalid("its FlatBuffer part has only %llu bytes",
                           static_cast<unsigned long long>(file_.header.model_size));
    flatbuffers::Verifier lists(bytes, file_.header.model_size, kMaxTableDepth, kMaxTables);
    const bool countable = lists.VerifyBuffer<ModelOfLabels>(format::ModelIdentifier());
    if (countable) {
      file_.model = format::GetModel(bytes);
      SKIFF_RETURN_IF_ERROR(CountLabels());
    }
    flatbuffers::Verifier verifier(bytes, file_.header.model_size, kMaxTableDepth, kMaxTables);
    if (!countable || !format::VerifyModelBuffer(verifier))
      return file_.Invalid("its FlatBuffer part is malformed");
    if (file_.model->format_version() > format::kFormatVersion)
      return TooNew("format", file_.model->format_version(), format::kFormatVersion);
    if (file_.model->format_version() == 0) return file_.Invalid("its format version is 0");
    out_->format_version = file_.model->format_version();
    out_->producer = TextOf(file_.model->producer());
    return OkStatus();
  }

  Status CountLabels() {
    for (uint32_t i = 0; i < SizeOf(file_.model->signatures()); ++i) {
      const format::Signature& signature = *file_.model->signatures()->Get(i);
      for (const auto* ports : {signature.inputs(), signature.outputs()}) {
        for (uint32_t j = 0; j < SizeOf(ports); ++j)
          SKIFF_RETURN_IF_ERROR(file_.CountIndices(SizeOf(ports->Get(j)->labels())));
      }
    }
    return OkStatus();
  }

  Status CheckBlobs() {
    if (!format::ElementsAreAligned(file_.model->blobs()))
      return file_.Invalid("its list of weights is misaligned");
    for (uint32_t i = 0; i < SizeOf(file_.model->blobs()); ++i) {
      const format::Blob& blob = *file_.model->blobs()->Get(i);
      if (blob.offset() % format::kAlignment != 0 || blob.offset() > file_.header.weights_size ||
          blob.size() > file_.header.weights_size - blob.offset()) {
        return file_.Invalid("weights %u lie outside of the file", i);
      }
      const uint64_t known_by[] = {out_->weights_id, blob.hash_low(), blob.hash_high()};
      out_->weights_id = Checksum(known_by, sizeof(known_by));
    }
    out_->wide_weights.Init(static_cast<uint32_t>(SizeOf(file_.model->blobs())), file_.header.weights_size);
    return OkStatus();
  }

  /// The elements of a blob that holds `count` of them; null for none.
  template <class T>
  Status ReadScales(int32_t index, int64_t count, const T** to) {
    *to = nullptr;
    if (index < 0) return OkStatus();
    if (static_cast<uint32_t>(index) >= SizeOf(file_.model->blobs()))
      return file_.Invalid("a quantisation refers to weights %d, which are not in the file", index);
    const format::Blob& blob = *file_.model->blobs()->Get(static_cast<uint32_t>(index));
    if (blob.size() != static_cast<uint64_t>(count) * sizeof(T))
      return file_.Invalid("a quantisation has another number of zero points than of scales");
    *to = static_cast<const T*>(file_.WeightsOf(blob));
    return OkStatus();
  }

  Status ReadQuantizations() {
    if (SizeOf(file_.model->quantizations()) == 0) return OkStatus();
    SKIFF_RETURN_IF_ERROR(file_.Need(Feature::kQuantization));
    SKIFF_RETURN_IF_ERROR(out_->quantizations.Allocate(SizeOf(file_.model->quantizations())));
    for (uint32_t i = 0; i < out_->quantizations.size(); ++i) {
      const format::Quantization& from = *file_.model->quantizations()->Get(i);
      Quantization& to = out_->quantizations[i];
      to.scale = from.scale();
      to.zero_point = from.zero_point();
      to.axis = from.axis();
      to.block = from.block();
      if (to.axis < Quantization::kPerTensor) return file_.Invalid("quantisation %u has a bad axis", i);
      if (to.per_tensor()) {
        if (from.scales() >= 0 || from.zero_points() >= 0 || to.block != 0)
          return file_.Invalid("quantisation %u has scales along no axis", i);
        continue;
      }
      if (from.scales() < 0 || static_cast<uint32_t>(from.scales()) >= SizeOf(file_.model->blobs()))
        return file_.Invalid("quantisation %u has no scales", i);
      const uint64_t bytes = file_.model->blobs()->Get(static_cast<uint32_t>(from.scales()))->size();
      if (bytes % sizeof(float) != 0)
        return file_.Invalid("quantisation %u has no whole number of scales", i);
      to.count = static_cast<int64_t>(bytes / sizeof(float));
      SKIFF_RETURN_IF_ERROR(ReadScales(from.scales(), to.count, &to.scales));
      SKIFF_RETURN_IF_ERROR(ReadScales(from.zero_points(), to.count, &to.zero_points));
    }
    file_.quantizations = out_->quantizations;
    return OkStatus();
  }

  Status ReadMetadata() {
    SKIFF_RETURN_IF_ERROR(out_->metadata.Allocate(SizeOf(file_.model->metadata())));
    for (size_t i = 0; i < out_->metadata.size(); ++i) {
      const format::KeyValue& entry = *file_.model->metadata()->Get(static_cast<uint32_t>(i));
      out_->metadata[i] = {TextOf(entry.key()), TextOf(entry.value())};
    }
    return OkStatus();
  }

  Status ReadSymbols() {
    if (SizeOf(file_.model->symbols()) == 0) return OkStatus();
    SKIFF_RETURN_IF_ERROR(file_.Need(Feature::kShapes));
    SKIFF_RETURN_IF_ERROR(out_->symbols.Allocate(SizeOf(file_.model->symbols())));
    for (uint32_t i = 0; i < out_->symbols.size(); ++i) {
      const format::Symbol& symbol = *file_.model->symbols()->Get(i);
      if (symbol.min() < 0 || symbol.max() < symbol.min() || symbol.multiple() < 1 ||
          symbol.min() > kMaxTensorBytes || symbol.multiple() > kMaxTensorBytes)
        return file_.Invalid("dimension %u has no sizes that it could be", i);
      out_->symbols[i] = {TextOf(symbol.name()), symbol.min(), symbol.max(), symbol.multiple()};
    }
    return OkStatus();
  }

  Status ReadVariables() {
    if (SizeOf(file_.model->variables()) == 0) return OkStatus();
    SKIFF_RETURN_IF_ERROR(file_.Need(Feature::kVariables));
    SKIFF_RETURN_IF_ERROR(out_->variables.Allocate(SizeOf(file_.model->variables())));
    SKIFF_RETURN_IF_ERROR(list_of_.Allocate(out_->variables.size()));
    for (uint32_t i = 0; i < out_->variables.size(); ++i) {
      const format::Variable& from = *file_.model->variables()->Get(i);
      VariableInfo& to = out_->variables[i];
      DType dtype;
      Shape shape;
      SKIFF_RETURN_IF_ERROR(file_.ReadType(from.dtype(), from.extents(), false, &dtype, &shape));
      to.name = TextOf(from.name());
      to.initial = TensorView(nullptr, dtype, shape);
      if (from.blob() >= SizeOf(file_.model->blobs()))
        return file_.Invalid("variable '%s' has no value", to.name);
      const format::Blob& blob = *file_.model->blobs()->Get(from.blob());
      if (static_cast<uint64_t>(to.initial.bytes()) != blob.size())
        return file_.Invalid("the shape of variable '%s' does not fit its value", to.name);
      SKIFF_RETURN_IF_ERROR(
          file_.ReadQuantization(from.quantization(), dtype, shape, &to.initial.quantization));
      if (DTypeBits(dtype) < 8) return file_.Invalid("variable '%s' is %s", to.name, DTypeName(dtype));
      to.initial.data = file_.WeightsOf(blob);
    }
    return OkStatus();
  }

  /// Ports of variables come after the caller's, have their variable's type, and no variable has two.
  Status CheckVariablePorts(const FixedArray<PortInfo>& ports, size_t* callers) {
    *callers = 0;
    ++port_lists_;
    for (size_t i = 0; i < ports.size(); ++i) {
      const PortInfo& port = ports[i];
      if (port.variable < 0) {
        if (i != *callers) return file_.Invalid("'%s' comes after a port of a variable", port.name);
        ++*callers;
        continue;
      }
      // None, where the build leaves variables out.
      if (!BuildHas(Feature::kVariables) || static_cast<size_t>(port.variable) >= out_->variables.size())
        return file_.Invalid("'%s' is variable %d, which is not in the file", port.name, port.variable);
      const TensorView& variable = out_->variables[static_cast<size_t>(port.variable)].initial;
      if (port.dtype != variable.dtype || !(port.shape == variable.shape) ||
          !SameQuantization(port.quantization, variable.quantization))
        return file_.Invalid("'%s' has another type than its variable", port.name);
      uint32_t& list = list_of_[static_cast<size_t>(port.variable)];
      if (list == port_lists_) return file_.Invalid("'%s' is a variable twice", port.name);
      list = port_lists_;
    }
    return OkStatus();
  }

  Status ReadSignature(const format::Signature& from, SignatureData& to) {
    to.name = TextOf(from.name());
    SKIFF_RETURN_IF_ERROR(ReadPorts(from.inputs(), true, to.inputs));
    if (to.inputs.size() > kMaxInputs)
      return file_.Invalid("signature '%s' has more than %zu inputs", to.name, kMaxInputs);
    SKIFF_RETURN_IF_ERROR(ReadPorts(from.outputs(), false, to.outputs));
    SKIFF_RETURN_IF_ERROR(CheckVariablePorts(to.inputs, &to.input_count));
    SKIFF_RETURN_IF_ERROR(CheckVariablePorts(to.outputs, &to.output_count));
    SKIFF_RETURN_IF_ERROR(to.labels.Allocate(to.outputs.size()));
    for (uint32_t i = 0; i < to.outputs.size(); ++i) {
      const auto* labels = from.outputs()->Get(i)->labels();
      SKIFF_RETURN_IF_ERROR(to.labels[i].Allocate(SizeOf(labels)));
      for (uint32_t j = 0; j < to.labels[i].size(); ++j) to.labels[i][j] = TextOf(labels->Get(j));
      to.outputs[i].labels = {to.labels[i].data(), to.labels[i].size()};
    }
    if (SizeOf(from.plans()) == 0) return file_.Invalid("signature '%s' has no plan", to.name);
    SKIFF_RETURN_IF_ERROR(to.plans.Allocate(from.plans()->size()));
    uint32_t targets = 0;  // A bit for each that has a plan.
    for (uint32_t i = 0; i < to.plans.size(); ++i) {
      SKIFF_RETURN_IF_ERROR(ReadPlan(file_, *from.plans()->Get(i), {to.inputs, to.outputs}, to.plans[i]));
      const uint32_t target = 1u << static_cast<uint32_t>(to.plans[i].target);
      if ((targets & target) != 0) SKIFF_RETURN_IF_ERROR(file_.Need(Feature::kShapes));
      targets |= target;
    }
    return OkStatus();
  }

  Status ReadPorts(const flatbuffers::Vector<flatbuffers::Offset<format::Port>>* from, bool inputs,
                   FixedArray<PortInfo>& to) {
    SKIFF_RETURN_IF_ERROR(to.Allocate(SizeOf(from)));
    for (uint32_t i = 0; i < to.size(); ++i) {
      const format::Port& port = *from->Get(i);
      to[i].name = TextOf(port.name());
      to[i].variable = port.variable() < 0 ? -1 : port.variable();
      SKIFF_RETURN_IF_ERROR(file_.ReadType(port.dtype(), port.extents(), true, &to[i].dtype, &to[i].shape));
      SKIFF_RETURN_IF_ERROR(
          file_.ReadQuantization(port.quantization(), to[i].dtype, to[i].shape, &to[i].quantization));
      if (DTypeBits(to[i].dtype) < 8) return file_.Invalid("'%s' is %s", to[i].name, DTypeName(to[i].dtype));
      SKIFF_RETURN_IF_ERROR(ReadPortSymbols(port, inputs, to[i]));
      if (port.image() != nullptr) SKIFF_RETURN_IF_ERROR(ReadImage(*port.image(), to[i]));
    }
    return OkStatus();
  }

  /// A negative extent is Symbol -1 - extent; the lowest number means an output's that only the device knows.
  /// An input's sizes are all Symbols': these say for which shape a Session is ready.
  Status ReadPortSymbols(const format::Port& from, bool input, PortInfo& to) {
    for (int axis = 0; axis < to.shape.rank(); ++axis) {
      const int64_t extent = from.extents()->Get(static_cast<uint32_t>(axis));
      if (extent >= 0) continue;
      SKIFF_RETURN_IF_ERROR(file_.Need(Feature::kShapes));
      if (extent == INT64_MIN && !input) continue;
      const int64_t symbol = -1 - extent;
      if (symbol >= static_cast<int64_t>(out_->symbols.size()))
        return file_.Invalid("'%s' has an extent that is dimension %lld of the file's %zu", to.name,
                             static_cast<long long>(symbol), out_->symbols.size());
      to.symbols[axis] = static_cast<int32_t>(symbol);
    }
    return OkStatus();
  }

  Status ReadImage(const format::Image& from, PortInfo& port) {
    SKIFF_RETURN_IF_ERROR(file_.Need(Feature::kImages));
    ImageSpec& to = port.image;
    to.channels = static_cast<uint32_t>(SizeOf(from.mean()));
    to.width = from.width();
    to.height = from.height();
    to.bgr = from.bgr();
    to.nhwc = from.nhwc();
    const auto fits = [&](int axis, int64_t size) {
      return port.shape[axis] == size || port.symbols[axis] >= 0;
    };
    // Those that ImageInput takes.
    const bool colours = to.channels == 3 || to.channels == 4 || (to.channels == 1 && !to.bgr);
    const bool sizes = colours && SizeOf(from.scale()) == to.channels && to.width > 0 && to.height > 0 &&
                       port.shape.rank() == 4 && fits(to.nhwc ? 1 : 2, to.height) &&
                       fits(to.nhwc ? 2 : 3, to.width) && port.shape[to.nhwc ? 3 : 1] == to.channels &&
                       (IsFloat(port.dtype) || port.dtype == DType::kU8 || port.dtype == DType::kI8 ||
                        port.quantization != nullptr);
    if (from.fit() > static_cast<uint8_t>(ImageFit::kLetterbox) ||
        from.filter() > static_cast<uint8_t>(ImageFilter::kNearest))
      return file_.Invalid(
          "the image settings of input '%s' have fit %d and filter %d; this build knows 0 to "
          "%d and %d",
          port.name, from.fit(), from.filter(), static_cast<int>(ImageFit::kLetterbox),
          static_cast<int>(ImageFilter::kNearest));
    to.fit = static_cast<ImageFit>(from.fit());
    to.filter = static_cast<ImageFilter>(from.filter());
    to.fill = from.fill();
    to.resize = from.resize();
    if (!sizes) return file_.Invalid("the image settings of input '%s' do not fit its shape", port.name);
    for (uint32_t c = 0; c < to.channels; ++c) {
      to.mean[c] = from.mean()->Get(c);
      to.scale[c] = from.scale()->Get(c);
    }
    return OkStatus();
  }

  CheckedFile file_;
  ModelData* out_;
  uint32_t port_lists_ = 0;
  FixedArray<uint32_t> list_of_;  ///< By variable: the last list of ports that it was seen in.
};

}  // namespace

Status ReadModel(const char* name, Span<const uint8_t> file, Span<const CustomOperator> custom_operators,
                 ModelData* model) {
  return Reader(name, file, custom_operators, model).Read();
}

}  // namespace skiff
