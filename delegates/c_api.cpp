// The C API over the C++ one. It lives here because opening a model for C programs needs the built-in
// delegates.
#include "skiff/skiff.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>

#include "core/error_capture.h"
#include "delegates/registry.h"
#include "skiff/session.h"

namespace skiff {
namespace {

template <class CEnum, class CppEnum>
constexpr bool Same(CEnum c, CppEnum cpp) {
  return static_cast<int>(c) == static_cast<int>(cpp);
}

static_assert(Same(SKIFF_OK, StatusCode::kOk));
static_assert(Same(SKIFF_INVALID_ARGUMENT, StatusCode::kInvalidArgument));
static_assert(Same(SKIFF_INVALID_MODEL, StatusCode::kInvalidModel));
static_assert(Same(SKIFF_UNSUPPORTED, StatusCode::kUnsupported));
static_assert(Same(SKIFF_NO_MATCHING_BUCKET, StatusCode::kNoMatchingBucket));
static_assert(Same(SKIFF_OUT_OF_MEMORY, StatusCode::kOutOfMemory));
static_assert(Same(SKIFF_IO, StatusCode::kIo));
static_assert(Same(SKIFF_CANCELLED, StatusCode::kCancelled));
static_assert(Same(SKIFF_DEVICE_LOST, StatusCode::kDeviceLost));
static_assert(Same(SKIFF_INTERNAL, StatusCode::kInternal));
static_assert(sizeof(SkiffStatus) == sizeof(int32_t));

static_assert(Same(SKIFF_DTYPE_INVALID, DType::kInvalid));
static_assert(Same(SKIFF_DTYPE_F32, DType::kF32));
static_assert(Same(SKIFF_DTYPE_F16, DType::kF16));
static_assert(Same(SKIFF_DTYPE_I8, DType::kI8));
static_assert(Same(SKIFF_DTYPE_U8, DType::kU8));
static_assert(Same(SKIFF_DTYPE_I16, DType::kI16));
static_assert(Same(SKIFF_DTYPE_U16, DType::kU16));
static_assert(Same(SKIFF_DTYPE_I32, DType::kI32));
static_assert(Same(SKIFF_DTYPE_U32, DType::kU32));
static_assert(Same(SKIFF_DTYPE_I64, DType::kI64));
static_assert(Same(SKIFF_DTYPE_U64, DType::kU64));
static_assert(Same(SKIFF_DTYPE_BOOL, DType::kBool));
static_assert(Same(SKIFF_DTYPE_F64, DType::kF64));
static_assert(kDTypeCount == SKIFF_DTYPE_F64 + 1, "a new element type needs its number in skiff.h");

static_assert(Same(SKIFF_TARGET_CPU, Target::kCpu) && Same(SKIFF_TARGET_VULKAN, Target::kVulkan));
static_assert(Same(SKIFF_BACKEND_PLANNED, Backend::kPlanned) &&
              Same(SKIFF_BACKEND_REFERENCE, Backend::kReference));
static_assert(Same(SKIFF_LOG_INFO, LogLevel::kInfo) && Same(SKIFF_LOG_WARNING, LogLevel::kWarning));
static_assert(Same(SKIFF_LOG_ERROR, LogLevel::kError));

static_assert(SKIFF_MAX_RANK == kMaxRank);
static_assert(sizeof(SkiffTensor::extents) == sizeof(int64_t) * kMaxRank);
// The first published struct ended here. Later fields come behind it, and padding at the end would hide them.
constexpr size_t kFirstOptionsSize = offsetof(SkiffSessionOptions, memory_limit) + sizeof(uint64_t);
static_assert(sizeof(SkiffSessionOptions) == offsetof(SkiffSessionOptions, variables_of) + sizeof(void*));
static_assert(sizeof(SkiffMemoryUsage) ==
              offsetof(SkiffMemoryUsage, mapped_packed_weights) + sizeof(uint64_t));
static_assert(sizeof(SkiffModelOptions) == offsetof(SkiffModelOptions, cache_folder) + sizeof(const char*));
static_assert(SKIFF_UNBOUNDED == SymbolInfo::kUnbounded);
// No later struct will be longer: a greater number is memory that was never initialised.
constexpr size_t kMaxOptionsSize = 4096;
// Each kept shape holds operators of its own; beyond this it is a mistake.
constexpr int kMaxKeptShapes = 1000;

// The handles are the C++ objects under another name.
Model* Cpp(SkiffModel* model) { return reinterpret_cast<Model*>(model); }
const Model* Cpp(const SkiffModel* model) { return reinterpret_cast<const Model*>(model); }
Session* Cpp(SkiffSession* session) { return reinterpret_cast<Session*>(session); }
const Session* Cpp(const SkiffSession* session) { return reinterpret_cast<const Session*>(session); }

/// Makes a call whose failure's sentence goes to the caller's buffer, where there is one.
template <class Call>
SkiffStatus Report(char* message, size_t message_size, const Call& call) {
  std::optional<ErrorCapture> capture;
  const bool captures = message != nullptr && message_size > 0;
  if (captures) {
    message[0] = '\0';
    capture.emplace();
  }
  const Status status = call();
  if (captures && !status.ok()) {
    const bool said = capture->message()[0] != '\0';
    std::snprintf(message, message_size, "%s", said ? capture->message() : StatusCodeName(status.code()));
  }
  return static_cast<SkiffStatus>(status.code());
}

Status NotNull(const void* pointer, const char* what) {
  if (pointer != nullptr) return OkStatus();
  return Fail(StatusCode::kInvalidArgument, "%s is null", what);
}

Status InRange(int32_t value, int32_t count, const char* what) {
  if (value >= 0 && value < count) return OkStatus();
  return Fail(StatusCode::kInvalidArgument, "%s is %d; it must be 0 to %d", what, value, count - 1);
}

Status ToView(const SkiffTensor* tensor, TensorView* view) {
  SKIFF_RETURN_IF_ERROR(NotNull(tensor, "the tensor"));
  SKIFF_RETURN_IF_ERROR(InRange(tensor->rank, kMaxRank + 1, "the tensor's rank"));
  SKIFF_RETURN_IF_ERROR(InRange(tensor->dtype, kDTypeCount, "the tensor's dtype"));
  *view = TensorView(tensor->data, static_cast<DType>(tensor->dtype), Shape(tensor->extents, tensor->rank));
  return OkStatus();
}

Status FromView(const TensorView& view, SkiffTensor* tensor) {
  SKIFF_RETURN_IF_ERROR(NotNull(tensor, "the tensor to fill"));
  if (!view.dense()) {
    return Fail(StatusCode::kUnsupported,
                "a tensor of shape %s is not dense, which the C API has no way to tell",
                ShapeText(view.shape).c_str());
  }
  *tensor = {view.data, static_cast<int32_t>(view.dtype), view.shape.rank(), {}};
  std::copy(view.shape.begin(), view.shape.end(), tensor->extents);
  return OkStatus();
}

/// What is known about a struct of options of which older and newer programs have other lengths.
struct OptionsText {
  const char* name;
  const char* init;   ///< The function that sets the defaults.
  size_t first_size;  ///< Of the first one that was published.
};
constexpr OptionsText kSessionOptions = {"SkiffSessionOptions", "skiff_session_options_init",
                                         kFirstOptionsSize};
constexpr OptionsText kModelOptions = {"SkiffModelOptions", "skiff_model_options_init",
                                       sizeof(SkiffModelOptions)};

/// The fields that this library knows. Those that an older program does not have are 0, which is their
/// default.
template <class Options>
Status TakeKnown(const Options* given, const OptionsText& text, Options* known) {
  const size_t size = given->size;
  if (size < text.first_size || size > kMaxOptionsSize) {
    return Fail(StatusCode::kInvalidArgument, "%s::size is %zu, this library knows %zu; call %s() first",
                text.name, size, sizeof(*given), text.init);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const auto* unknown = bytes + std::min(size, sizeof(*given));
  if (std::any_of(unknown, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    return Fail(StatusCode::kUnsupported,
                "%s has a field set that Skiff %s does not know; its header is newer than the library",
                text.name, SKIFF_VERSION);
  }
  std::memcpy(known, given, std::min(size, sizeof(*known)));
  return OkStatus();
}

Status ToOptions(const SkiffModelOptions* given, ModelOptions* options) {
  options->delegates = BuiltinDelegates();
  if (given == nullptr) return OkStatus();
  SkiffModelOptions known = {};
  SKIFF_RETURN_IF_ERROR(TakeKnown(given, kModelOptions, &known));
  SKIFF_RETURN_IF_ERROR(InRange(static_cast<int32_t>(known.reserved), 1, "SkiffModelOptions::reserved"));
  options->cache_folder = known.cache_folder;
  return OkStatus();
}

Status ToOptions(const SkiffSessionOptions* given, SessionOptions* options) {
  if (given == nullptr) return OkStatus();
  SkiffSessionOptions known = {};
  SKIFF_RETURN_IF_ERROR(TakeKnown(given, kSessionOptions, &known));
  SKIFF_RETURN_IF_ERROR(InRange(known.target, SKIFF_TARGET_VULKAN + 1, "SkiffSessionOptions::target"));
  SKIFF_RETURN_IF_ERROR(InRange(known.backend, SKIFF_BACKEND_REFERENCE + 1, "SkiffSessionOptions::backend"));
  if (known.kept_shapes < 0 || known.kept_shapes > kMaxKeptShapes) {
    return Fail(StatusCode::kInvalidArgument, "SkiffSessionOptions::kept_shapes is %lld; it must be 0 to %d",
                static_cast<long long>(known.kept_shapes), kMaxKeptShapes);
  }
  options->signature = known.signature;
  options->target = static_cast<Target>(known.target);
  options->backend = static_cast<Backend>(known.backend);
  options->threads = known.threads;
  options->thread_pool = known.thread_pool;
  options->memory_limit = known.memory_limit;
  if (known.kept_shapes > 0) options->kept_shapes = static_cast<int>(known.kept_shapes);
  options->fall_back = known.no_fall_back == 0;
  if (known.variables_of != nullptr) options->variables = &Cpp(known.variables_of)->variables();
  return OkStatus();
}

/// The inputs or outputs of a signature; none when there is no such signature.
Span<const PortInfo> Ports(const SkiffModel* model, int32_t signature,
                           Span<const PortInfo> SignatureInfo::*side) {
  if (signature < 0 || signature >= skiff_model_signature_count(model)) return {};
  return Cpp(model)->signature(signature).*side;
}

const char* PortName(Span<const PortInfo> ports, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < ports.size() ? ports[static_cast<size_t>(index)].name
                                                                 : nullptr;
}

Status PortType(const SkiffModel* model, int32_t signature, int32_t index,
                Span<const PortInfo> SignatureInfo::*side, SkiffTensor* type) {
  SKIFF_RETURN_IF_ERROR(NotNull(model, "the model"));
  SKIFF_RETURN_IF_ERROR(InRange(signature, Cpp(model)->signature_count(), "the signature"));
  const Span<const PortInfo> ports = Ports(model, signature, side);
  if (index < 0 || static_cast<size_t>(index) >= ports.size()) {
    return Fail(StatusCode::kInvalidArgument, "there is no %s %d; signature %d has %zu",
                side == &SignatureInfo::inputs ? "input" : "output", index, signature, ports.size());
  }
  const PortInfo& port = ports[static_cast<size_t>(index)];
  return FromView(TensorView(nullptr, port.dtype, port.shape), type);
}

int32_t PortSymbol(const SkiffModel* model, int32_t signature, int32_t index, int32_t axis,
                   Span<const PortInfo> SignatureInfo::*side) {
  const Span<const PortInfo> ports = Ports(model, signature, side);
  if (index < 0 || static_cast<size_t>(index) >= ports.size()) return -1;
  const PortInfo& port = ports[static_cast<size_t>(index)];
  return axis >= 0 && axis < port.shape.rank() ? port.symbols[axis] : -1;
}

Status OpenInto(Result<std::unique_ptr<Model>> opened, SkiffModel** model) {
  if (opened.ok()) *model = reinterpret_cast<SkiffModel*>(opened.value().release());
  return opened.status();
}

std::atomic<SkiffLogSink> c_sink{nullptr};

void ForwardToC(void* user, LogLevel level, const char* message) {
  if (const SkiffLogSink sink = c_sink.load()) sink(user, static_cast<int32_t>(level), message);
}

/// Fills a struct of a size that the caller knows from one of the size that this library knows.
void FillPrefix(void* to, size_t size, const void* from, size_t known) {
  if (to == nullptr) return;
  std::memset(to, 0, size);
  std::memcpy(to, from, std::min(size, known));
}

/// All defaults are zero, also those of fields that only the caller's header knows.
template <class Options>
void InitOptions(Options* options, size_t size) {
  Options defaults = {};
  defaults.size = static_cast<uint32_t>(size);
  FillPrefix(options, size, &defaults, sizeof(defaults));
}

}  // namespace
}  // namespace skiff

using namespace skiff;  // NOLINT: everything below is global because C has no namespaces.

const char* skiff_version_string(void) { return SKIFF_VERSION; }

const char* skiff_status_name(SkiffStatus status) {
  return status >= 0 && status <= SKIFF_INTERNAL ? StatusCodeName(static_cast<StatusCode>(status))
                                                 : "unknown status";
}

const char* skiff_dtype_name(int32_t dtype) {
  return DTypeName(dtype >= 0 && dtype < kDTypeCount ? static_cast<DType>(dtype) : DType::kInvalid);
}

int64_t skiff_dtype_size(int32_t dtype) {
  return dtype >= 0 && dtype < kDTypeCount ? DTypeSize(static_cast<DType>(dtype)) : 0;
}

void skiff_set_log_sink(SkiffLogSink sink, void* user) {
  c_sink.store(sink);
  SetLogSink(sink != nullptr ? &ForwardToC : nullptr, user);
}

void skiff_model_options_init(SkiffModelOptions* options, size_t size) { InitOptions(options, size); }

SkiffStatus skiff_model_open_with(const char* path, const SkiffModelOptions* options, SkiffModel** model,
                                  char* message, size_t message_size) {
  if (model != nullptr) *model = nullptr;
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(path, "the path"));
    SKIFF_RETURN_IF_ERROR(NotNull(model, "the place for the model"));
    ModelOptions model_options;
    SKIFF_RETURN_IF_ERROR(ToOptions(options, &model_options));
    return OpenInto(Model::Open(path, model_options), model);
  });
}

SkiffStatus skiff_model_open(const char* path, SkiffModel** model, char* message, size_t message_size) {
  return skiff_model_open_with(path, nullptr, model, message, message_size);
}

SkiffStatus skiff_model_open_bytes_with(const void* bytes, size_t size, const SkiffModelOptions* options,
                                        SkiffModel** model, char* message, size_t message_size) {
  if (model != nullptr) *model = nullptr;
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(bytes, "the model in memory"));
    SKIFF_RETURN_IF_ERROR(NotNull(model, "the place for the model"));
    ModelOptions model_options;
    SKIFF_RETURN_IF_ERROR(ToOptions(options, &model_options));
    const Span<const uint8_t> span(static_cast<const uint8_t*>(bytes), size);
    return OpenInto(Model::Open(span, model_options), model);
  });
}

SkiffStatus skiff_model_open_bytes(const void* bytes, size_t size, SkiffModel** model, char* message,
                                   size_t message_size) {
  return skiff_model_open_bytes_with(bytes, size, nullptr, model, message, message_size);
}

SkiffStatus skiff_model_save_cache(SkiffModel* model, char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(model, "the model"));
    return Cpp(model)->SaveCache();
  });
}

void skiff_model_close(SkiffModel* model) { delete Cpp(model); }

int32_t skiff_model_signature_count(const SkiffModel* model) {
  return model == nullptr ? 0 : Cpp(model)->signature_count();
}

const char* skiff_model_signature_name(const SkiffModel* model, int32_t signature) {
  if (signature < 0 || signature >= skiff_model_signature_count(model)) return nullptr;
  return Cpp(model)->signature(signature).name;
}

int32_t skiff_model_input_count(const SkiffModel* model, int32_t signature) {
  return static_cast<int32_t>(Ports(model, signature, &SignatureInfo::inputs).size());
}

const char* skiff_model_input_name(const SkiffModel* model, int32_t signature, int32_t index) {
  return PortName(Ports(model, signature, &SignatureInfo::inputs), index);
}

SkiffStatus skiff_model_input_type(const SkiffModel* model, int32_t signature, int32_t index,
                                   SkiffTensor* type, char* message, size_t message_size) {
  return Report(message, message_size,
                [&] { return PortType(model, signature, index, &SignatureInfo::inputs, type); });
}

int32_t skiff_model_output_count(const SkiffModel* model, int32_t signature) {
  return static_cast<int32_t>(Ports(model, signature, &SignatureInfo::outputs).size());
}

const char* skiff_model_output_name(const SkiffModel* model, int32_t signature, int32_t index) {
  return PortName(Ports(model, signature, &SignatureInfo::outputs), index);
}

SkiffStatus skiff_model_output_type(const SkiffModel* model, int32_t signature, int32_t index,
                                    SkiffTensor* type, char* message, size_t message_size) {
  return Report(message, message_size,
                [&] { return PortType(model, signature, index, &SignatureInfo::outputs, type); });
}

int32_t skiff_model_input_symbol(const SkiffModel* model, int32_t signature, int32_t index, int32_t axis) {
  return PortSymbol(model, signature, index, axis, &SignatureInfo::inputs);
}

int32_t skiff_model_output_symbol(const SkiffModel* model, int32_t signature, int32_t index, int32_t axis) {
  return PortSymbol(model, signature, index, axis, &SignatureInfo::outputs);
}

int32_t skiff_model_symbol_count(const SkiffModel* model) {
  return model == nullptr ? 0 : static_cast<int32_t>(Cpp(model)->symbols().size());
}

const char* skiff_model_symbol_name(const SkiffModel* model, int32_t symbol) {
  if (symbol < 0 || symbol >= skiff_model_symbol_count(model)) return nullptr;
  return Cpp(model)->symbols()[static_cast<size_t>(symbol)].name;
}

SkiffStatus skiff_model_symbol_range(const SkiffModel* model, int32_t symbol, int64_t* min, int64_t* max,
                                     int64_t* multiple, char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(model, "the model"));
    const int32_t count = skiff_model_symbol_count(model);
    if (symbol < 0 || symbol >= count)
      return Fail(StatusCode::kInvalidArgument, "there is no symbol %d; the model has %d", symbol, count);
    const SymbolInfo& info = Cpp(model)->symbols()[static_cast<size_t>(symbol)];
    if (min != nullptr) *min = info.min;
    if (max != nullptr) *max = info.max;
    if (multiple != nullptr) *multiple = info.multiple;
    return OkStatus();
  });
}

int32_t skiff_model_variable_count(const SkiffModel* model) {
  return model == nullptr ? 0 : static_cast<int32_t>(Cpp(model)->variables().size());
}

const char* skiff_model_variable_name(const SkiffModel* model, int32_t variable) {
  if (variable < 0 || variable >= skiff_model_variable_count(model)) return nullptr;
  return Cpp(model)->variables()[static_cast<size_t>(variable)].name;
}

const char* skiff_model_metadata(const SkiffModel* model, const char* key) {
  return model == nullptr || key == nullptr ? nullptr : Cpp(model)->metadata(key);
}

void skiff_session_options_init(SkiffSessionOptions* options, size_t size) { InitOptions(options, size); }

SkiffStatus skiff_session_create(SkiffModel* model, const SkiffSessionOptions* options,
                                 SkiffSession** session, char* message, size_t message_size) {
  if (session != nullptr) *session = nullptr;
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(model, "the model"));
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the place for the session"));
    SessionOptions session_options;
    SKIFF_RETURN_IF_ERROR(ToOptions(options, &session_options));
    SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<Session> made, Session::Create(*Cpp(model), session_options));
    *session = reinterpret_cast<SkiffSession*>(made.release());
    return OkStatus();
  });
}

void skiff_session_destroy(SkiffSession* session) { delete Cpp(session); }

int32_t skiff_session_find_input(const SkiffSession* session, const char* name) {
  return session == nullptr || name == nullptr ? -1 : Cpp(session)->FindInput(name);
}

int32_t skiff_session_find_output(const SkiffSession* session, const char* name) {
  return session == nullptr || name == nullptr ? -1 : Cpp(session)->FindOutput(name);
}

SkiffStatus skiff_session_set_input(SkiffSession* session, int32_t index, const SkiffTensor* tensor,
                                    char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the session"));
    TensorView view;
    SKIFF_RETURN_IF_ERROR(ToView(tensor, &view));
    return Cpp(session)->SetInput(index, view);
  });
}

SkiffStatus skiff_session_bind_input(SkiffSession* session, int32_t index, const SkiffTensor* tensor,
                                     char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the session"));
    TensorView view;
    SKIFF_RETURN_IF_ERROR(ToView(tensor, &view));
    return Cpp(session)->BindInput(index, view);
  });
}

SkiffStatus skiff_session_input_buffer(SkiffSession* session, int32_t index, SkiffTensor* tensor,
                                       char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the session"));
    SKIFF_RETURN_IF_ERROR(NotNull(tensor, "the tensor to fill"));
    SKIFF_ASSIGN_OR_RETURN(const TensorView view, Cpp(session)->InputBuffer(index));
    return FromView(view, tensor);
  });
}

SkiffStatus skiff_session_input_buffer_of_shape(SkiffSession* session, int32_t index, const int64_t* extents,
                                                int32_t rank, SkiffTensor* tensor, char* message,
                                                size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the session"));
    SKIFF_RETURN_IF_ERROR(NotNull(tensor, "the tensor to fill"));
    SKIFF_RETURN_IF_ERROR(InRange(rank, kMaxRank + 1, "the rank"));
    if (rank > 0) SKIFF_RETURN_IF_ERROR(NotNull(extents, "the extents"));
    SKIFF_ASSIGN_OR_RETURN(const TensorView view, Cpp(session)->InputBuffer(index, Shape(extents, rank)));
    return FromView(view, tensor);
  });
}

SkiffStatus skiff_session_run(SkiffSession* session, char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the session"));
    return Cpp(session)->Run();
  });
}

void skiff_session_cancel(SkiffSession* session) {
  if (session != nullptr) Cpp(session)->Cancel();
}

SkiffStatus skiff_session_output(const SkiffSession* session, int32_t index, SkiffTensor* tensor,
                                 char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the session"));
    SKIFF_ASSIGN_OR_RETURN(const TensorView view, Cpp(session)->Output(index));
    return FromView(view, tensor);
  });
}

SkiffStatus skiff_session_variable(SkiffSession* session, int32_t variable, SkiffTensor* tensor,
                                   char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(session, "the session"));
    const Variables& variables = Cpp(session)->variables();
    const Span<const VariableInfo> infos = variables.model().variables();
    if (variable < 0 || static_cast<size_t>(variable) >= infos.size()) {
      return Fail(StatusCode::kInvalidArgument, "there is no variable %d; the model has %zu", variable,
                  infos.size());
    }
    const TensorView& initial = infos[static_cast<size_t>(variable)].initial;
    return FromView(TensorView(variables.data(variable), initial.dtype, initial.shape), tensor);
  });
}

void skiff_session_reset_variables(SkiffSession* session) {
  if (session != nullptr) Cpp(session)->variables().Reset();
}

int32_t skiff_session_target(const SkiffSession* session) {
  return session == nullptr ? SKIFF_TARGET_CPU : static_cast<int32_t>(Cpp(session)->target());
}

void skiff_session_memory_usage(const SkiffSession* session, SkiffMemoryUsage* usage, size_t size) {
  SkiffMemoryUsage known = {};
  if (session != nullptr) {
    const MemoryUsage held = Cpp(session)->memory_usage();
    known = {held.arena,  held.workspace, held.packed_weights,       held.mapped_weights,
             held.inputs, held.variables, held.mapped_packed_weights};
  }
  FillPrefix(usage, size, &known, sizeof(known));
}
