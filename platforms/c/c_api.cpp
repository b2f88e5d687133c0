// The C API over the C++ one. It lives here because opening a model for C programs needs the built-in
// delegates.
#include "skiff/skiff.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "platforms/c/report.h"
#include "skiff/quantize.h"
#include "skiff/thread_pool.h"
#include "skiff/version.h"

namespace skiff {
namespace {

const char* PortName(Span<const PortInfo> ports, int32_t index) {
  const PortInfo* port = PortAt(ports, index);
  return port == nullptr ? nullptr : port->name;
}

Span<const char* const> Labels(const SkiffModel* model, int32_t signature, int32_t index) {
  const PortInfo* port = PortAt(Ports(model, signature, &SignatureInfo::outputs), index);
  return port == nullptr ? Span<const char* const>() : port->labels;
}

Status PortType(const SkiffModel* model, int32_t signature, int32_t index,
                Span<const PortInfo> SignatureInfo::*side, SkiffTensor* type) {
  const PortInfo* port = nullptr;
  SKIFF_RETURN_IF_ERROR(FindPort(model, signature, index, side, &port));
  return FromView(TensorView(nullptr, port->dtype, port->shape), type);
}

int32_t PortSymbol(const SkiffModel* model, int32_t signature, int32_t index, int32_t axis,
                   Span<const PortInfo> SignatureInfo::*side) {
  const PortInfo* port = PortAt(Ports(model, signature, side), index);
  return port != nullptr && axis >= 0 && axis < port->shape.rank() ? port->symbols[axis] : -1;
}

/// Whether it is quantised; the struct is filled either way.
int32_t PortQuantization(Span<const PortInfo> ports, int32_t index, SkiffQuantization* to, size_t size) {
  const PortInfo* port = PortAt(ports, index);
  const Quantization* from = port == nullptr ? nullptr : port->quantization;
  SkiffQuantization known = {};
  if (from != nullptr) {
    known = {from->scale, from->zero_point, from->axis,   0,
             from->block, from->count,      from->scales, from->zero_points};
  }
  FillPrefix(to, size, &known, sizeof(known));
  return from != nullptr;
}

/// The tensor of a program with the quantisation that it passed beside it, which must outlive the view.
Status ToQuantizedView(const SkiffTensor* tensor, const SkiffQuantization* given, size_t size,
                       Quantization* quantization, TensorView* view) {
  SKIFF_RETURN_IF_ERROR(ToView(tensor, view));
  SKIFF_RETURN_IF_ERROR(ToQuantization(given, size, quantization));
  view->quantization = quantization;
  return OkStatus();
}

Status OpenInto(Result<std::unique_ptr<Model>> opened, SkiffModel** model) {
  if (opened.ok()) *model = reinterpret_cast<SkiffModel*>(opened.value().release());
  return opened.status();
}

std::atomic<SkiffLogSink> c_sink{nullptr};

void ForwardToC(void* user, LogLevel level, const char* message) {
  if (const SkiffLogSink sink = c_sink.load()) sink(user, static_cast<int32_t>(level), message);
}

}  // namespace

Status FindPort(const SkiffModel* model, int32_t signature, int32_t index,
                Span<const PortInfo> SignatureInfo::*side, const PortInfo** port) {
  SKIFF_RETURN_IF_ERROR(NotNull(model, "the model"));
  SKIFF_RETURN_IF_ERROR(InRange(signature, Cpp(model)->signature_count(), "the signature"));
  const Span<const PortInfo> ports = Ports(model, signature, side);
  *port = PortAt(ports, index);
  if (*port == nullptr) {
    return Fail(StatusCode::kInvalidArgument, "there is no %s %d; signature %d has %zu",
                side == &SignatureInfo::inputs ? "input" : "output", index, signature, ports.size());
  }
  return OkStatus();
}

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
    FixedArray<CustomOperator> operators;
    SKIFF_RETURN_IF_ERROR(ToOptions(options, &operators, &model_options));
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
    FixedArray<CustomOperator> operators;
    SKIFF_RETURN_IF_ERROR(ToOptions(options, &operators, &model_options));
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

int32_t skiff_model_input_image(const SkiffModel* model, int32_t signature, int32_t index,
                                SkiffImageSpec* spec, size_t size) {
  const PortInfo* port = PortAt(Ports(model, signature, &SignatureInfo::inputs), index);
  SkiffImageSpec known = {};
  if (port != nullptr) {
    const ImageSpec& image = port->image;
    known = {image.width,
             image.height,
             image.channels,
             image.bgr,
             image.nhwc,
             {},
             {},
             static_cast<int32_t>(image.fit),
             static_cast<int32_t>(image.filter),
             image.resize,
             image.fill};
    std::copy(std::begin(image.mean), std::end(image.mean), known.mean);
    std::copy(std::begin(image.scale), std::end(image.scale), known.scale);
  }
  FillPrefix(spec, size, &known, sizeof(known));
  return known.width != 0;
}

int32_t skiff_model_input_quantization(const SkiffModel* model, int32_t signature, int32_t index,
                                       SkiffQuantization* quantization, size_t size) {
  return PortQuantization(Ports(model, signature, &SignatureInfo::inputs), index, quantization, size);
}

int32_t skiff_model_output_quantization(const SkiffModel* model, int32_t signature, int32_t index,
                                        SkiffQuantization* quantization, size_t size) {
  return PortQuantization(Ports(model, signature, &SignatureInfo::outputs), index, quantization, size);
}

SkiffStatus skiff_quantize(const SkiffQuantization* quantization, size_t size, const float* from,
                           const SkiffTensor* to, char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    TensorView view;
    Quantization known;
    SKIFF_RETURN_IF_ERROR(ToQuantizedView(to, quantization, size, &known, &view));
    return QuantizeFloats(from, view);
  });
}

SkiffStatus skiff_dequantize(const SkiffQuantization* quantization, size_t size, const SkiffTensor* from,
                             float* to, char* message, size_t message_size) {
  return Report(message, message_size, [&]() -> Status {
    TensorView view;
    Quantization known;
    SKIFF_RETURN_IF_ERROR(ToQuantizedView(from, quantization, size, &known, &view));
    return DequantizeToFloats(view, to);
  });
}

int32_t skiff_model_output_label_count(const SkiffModel* model, int32_t signature, int32_t index) {
  return static_cast<int32_t>(Labels(model, signature, index).size());
}

const char* skiff_model_output_label(const SkiffModel* model, int32_t signature, int32_t index,
                                     int32_t label) {
  const Span<const char* const> labels = Labels(model, signature, index);
  return label >= 0 && static_cast<size_t>(label) < labels.size() ? labels[static_cast<size_t>(label)]
                                                                  : nullptr;
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

SkiffStatus skiff_thread_pool_create(int32_t threads, SkiffThreadPool** pool, char* message,
                                     size_t message_size) {
  if (pool != nullptr) *pool = nullptr;
  return Report(message, message_size, [&]() -> Status {
    SKIFF_RETURN_IF_ERROR(NotNull(pool, "the place for the thread pool"));
    SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> made, CreateThreadPool(threads));
    *pool = reinterpret_cast<SkiffThreadPool*>(made.release());
    return OkStatus();
  });
}

void skiff_thread_pool_destroy(SkiffThreadPool* pool) { delete reinterpret_cast<ThreadPool*>(pool); }

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
    known = {held.arena,  held.workspace, held.packed_weights,        held.mapped_weights,
             held.inputs, held.variables, held.mapped_packed_weights, held.widened_weights};
  }
  FillPrefix(usage, size, &known, sizeof(known));
}
