/// Skiff for C, and for every language that can call C. C99; the implementation is in the library of the
/// delegates.
///
/// Stability: functions and numbers are only ever added. SkiffTensor never changes. The other structs grow at
/// their end, and every call that takes one is told its size, so that a program and a library of different
/// ages understand each other.
///
/// Errors: a call that can fail returns a SkiffStatus and takes `message`, a buffer of `message_size` bytes.
/// After a failure it holds one sentence that says what was wrong and where, ended by a NUL and cut to fit;
/// after success it is empty. 256 bytes hold most sentences, 1024 all of them. With a null buffer, or a size
/// of 0, the sentence goes to the log sink instead. Null where a handle, a path or a result is needed is
/// SKIFF_INVALID_ARGUMENT, never a crash. A result that could not be made is null.
///
/// Threads: a SkiffModel may be used by any number of threads at once. A SkiffSession belongs to one thread
/// at a time; skiff_session_cancel() alone may be called from others. A SkiffThreadPool may be used by any
/// number of sessions, on any threads.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The functions stay visible in a shared library that is linked from Skiff's archives.
#ifndef SKIFF_API
#define SKIFF_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The numbers of skiff::StatusCode.
typedef enum SkiffStatus {
  SKIFF_OK = 0,
  SKIFF_INVALID_ARGUMENT =
      1,  ///< The caller passed something that the contract forbids (name, shape, dtype, null).
  SKIFF_INVALID_MODEL = 2,       ///< The file is malformed or truncated.
  SKIFF_UNSUPPORTED = 3,         ///< Valid, but this build, device or delegate cannot do it.
  SKIFF_NO_MATCHING_BUCKET = 4,  ///< No plan of the file serves this shape.
  SKIFF_OUT_OF_MEMORY = 5,       ///< An allocation failed, or the memory limit would be passed.
  SKIFF_IO = 6,                  ///< The operating system refused to read or map the file.
  SKIFF_CANCELLED = 7,           ///< skiff_session_cancel() stopped the run.
  SKIFF_DEVICE_LOST = 8,         ///< The GPU went away; the session must be made anew.
  SKIFF_INTERNAL = 9             ///< A defect in Skiff.
} SkiffStatus;

/// Element types: the numbers of skiff::DType.
typedef enum SkiffDType {
  SKIFF_DTYPE_INVALID = 0,
  SKIFF_DTYPE_F32 = 1,
  SKIFF_DTYPE_F16 = 2,
  SKIFF_DTYPE_I8 = 3,
  SKIFF_DTYPE_U8 = 4,
  SKIFF_DTYPE_I16 = 5,
  SKIFF_DTYPE_U16 = 6,
  SKIFF_DTYPE_I32 = 7,
  SKIFF_DTYPE_U32 = 8,
  SKIFF_DTYPE_I64 = 9,
  SKIFF_DTYPE_U64 = 10,
  SKIFF_DTYPE_BOOL = 11,  ///< One byte, 0 or 1.
  SKIFF_DTYPE_F64 = 12,
  SKIFF_DTYPE_I4 = 13,  ///< Of constants only: two to a byte.
  SKIFF_DTYPE_U4 = 14
} SkiffDType;

/// What a plan is made for: the numbers of skiff::Target.
typedef enum SkiffTarget { SKIFF_TARGET_CPU = 0, SKIFF_TARGET_VULKAN = 1 } SkiffTarget;

/// The numbers of skiff::Backend.
typedef enum SkiffBackend {
  SKIFF_BACKEND_PLANNED = 0,   ///< Each part of the model by the delegate that the converter chose.
  SKIFF_BACKEND_REFERENCE = 1  ///< Every operator by its reference kernel: slow, and the truth.
} SkiffBackend;

/// The numbers of skiff::LogLevel.
typedef enum SkiffLogLevel { SKIFF_LOG_INFO = 0, SKIFF_LOG_WARNING = 1, SKIFF_LOG_ERROR = 2 } SkiffLogLevel;

/// An opened model file: immutable, verified.
typedef struct SkiffModel SkiffModel;
/// One use of a model: its inputs, outputs and activations.
typedef struct SkiffSession SkiffSession;
/// Worker threads that several sessions share.
typedef struct SkiffThreadPool SkiffThreadPool;

#define SKIFF_MAX_RANK 8
/// The greatest size of a symbol that has none.
#define SKIFF_UNBOUNDED INT64_MAX

/// Borrowed elements, dense and row-major, with their type. Where only a type is told, `data` is null.
/// Elements of inputs, of scores and of what is dequantised are only read: cast the const of yours away
/// there.
typedef struct SkiffTensor {
  void* data;
  int32_t dtype;                    ///< A SkiffDType.
  int32_t rank;                     ///< 0 to SKIFF_MAX_RANK.
  int64_t extents[SKIFF_MAX_RANK];  ///< The first `rank` count; the library sets the others to 0.
} SkiffTensor;

/// The numbers of skiff::ImageFit and skiff::ImageFilter (skiff/model.h), which say what they mean.
typedef enum SkiffImageFit {
  SKIFF_FIT_STRETCH = 0,
  SKIFF_FIT_CROP = 1,
  SKIFF_FIT_LETTERBOX = 2
} SkiffImageFit;
typedef enum SkiffImageFilter {
  SKIFF_FILTER_LINEAR = 0,
  SKIFF_FILTER_BILINEAR = 1,
  SKIFF_FILTER_BICUBIC = 2,
  SKIFF_FILTER_NEAREST = 3
} SkiffImageFilter;

/// How a picture becomes an input: brought to width x height, its channels put in order, then
/// (value - mean[c]) * scale[c] on values of 0 to 255. skiff/image_c.h does it.
typedef struct SkiffImageSpec {
  uint32_t width;
  uint32_t height;
  uint32_t channels;  ///< 1 to 4; as many of the arrays' elements count.
  int32_t bgr;        ///< Not 0: blue comes first. 0: red.
  int32_t nhwc;       ///< Not 0: [1, height, width, channels]. 0: [1, channels, height, width].
  float mean[4];
  float scale[4];
  int32_t fit;      ///< A SkiffImageFit.
  int32_t filter;   ///< A SkiffImageFilter.
  uint32_t resize;  ///< Crop: pixels of the shorter side before the centre is taken; 0: as few as cover.
  uint32_t fill;    ///< Letterbox: the sample, 0 to 255, beside the picture.
} SkiffImageSpec;

/// How integers stand for real numbers: real = scale * (q - zero_point). One scale for all elements, or along
/// `axis` one for each index (block 0) or for each run of `block` neighbours, separately at every index of
/// the other axes: row-major, with the tensor's extents but ceil(extent / block) along `axis`.
typedef struct SkiffQuantization {
  float scale;         ///< Of all elements, where axis is -1. Positive and finite.
  int32_t zero_point;  ///< Likewise.
  int32_t axis;        ///< -1: one scale for all elements.
  int32_t reserved;    ///< 0.
  int64_t block;
  int64_t count;               ///< Of scales; 1 where axis is -1.
  const float* scales;         ///< `count` of them; null where axis is -1.
  const int32_t* zero_points;  ///< `count` of them; null: all are 0, or axis is -1.
} SkiffQuantization;

/// One node of an operator of the application's own.
typedef struct SkiffCustomCall {
  uint32_t size;      ///< Bytes of this struct in the library.
  uint32_t reserved;  ///< 0.
  /// The node's attributes, as the source file had them: of TensorFlow Lite its custom options, byte for
  /// byte; of ONNX a FlexBuffers map from names to values.
  const uint8_t* options;
  uint64_t options_size;
  const SkiffTensor* inputs;  ///< An absent one has dtype SKIFF_DTYPE_INVALID.
  uint64_t input_count;
  SkiffTensor* outputs;
  uint64_t output_count;
  /// How the integers of each input and output stand for real numbers; null where they are plain, and to a
  /// shape rule.
  const SkiffQuantization* const* input_quantizations;
  const SkiffQuantization* const* output_quantizations;
} SkiffCustomCall;

/// Part of an operator of the application's own. A sentence about a failure goes to `message`, which Skiff
/// completes by the node and the operator.
typedef SkiffStatus (*SkiffCustomFunction)(void* user, const SkiffCustomCall* call, char* message,
                                           size_t message_size);

/// An operator of the application's own. The results of both functions depend on what a call shows them, and
/// on nothing else. They are called by one thread at a time for each session, and by several at once where
/// sessions run at once. No node has more than 32 inputs or outputs.
typedef struct SkiffCustomOperator {
  const char*
      name;  ///< As in the source file: "Mish" of TensorFlow Lite, "acme::Mish" of ONNX's domain acme.
  /// The shape rule: sets dtype, rank and extents of each output. `data` is null but where elements are
  /// constant; of a quantised tensor dtype is SKIFF_DTYPE_F32: the numbers that its integers stand for.
  SkiffCustomFunction infer;
  /// The kernel: computes the outputs, which have the shapes of the rule, overlap nothing and are dense. Not
  /// called where all of them are empty.
  SkiffCustomFunction run;
  void* user;  ///< Handed to both.
} SkiffCustomOperator;

/// Begin with skiff_model_options_init(), which sets every default.
typedef struct SkiffModelOptions {
  uint32_t size;      ///< Bytes of this struct in the caller's program.
  uint32_t reserved;  ///< 0.
  /// A folder that exists and is private to the application, for files that make the next start faster:
  /// packed weights (one file per model, about as large as the model), and compiled pipelines of the GPU.
  /// Null, the default: none. Read during the call only. Files that are deleted or damaged are made anew.
  const char* cache_folder;
  /// Operators of the application's own that the model may use; of two of one name, the last one. The array
  /// and what it points to outlive the model. Null, the default: none.
  const SkiffCustomOperator* custom_operators;
  uint64_t custom_operator_count;
} SkiffModelOptions;

/// What a shared library of custom operators exports for `skiff convert --custom-library`: a function of this
/// type under the name of SKIFF_CUSTOM_OPERATORS_SYMBOL. The array lives as long as the library is loaded.
typedef const SkiffCustomOperator* (*SkiffCustomOperatorsFunction)(size_t* count);
#define SKIFF_CUSTOM_OPERATORS_SYMBOL "skiff_custom_operators"

/// Begin with skiff_session_options_init(), which sets every default.
typedef struct SkiffSessionOptions {
  uint32_t size;          ///< Bytes of this struct in the caller's program.
  int32_t target;         ///< A SkiffTarget. Default: SKIFF_TARGET_CPU.
  int32_t backend;        ///< A SkiffBackend. Default: SKIFF_BACKEND_PLANNED.
  int32_t threads;        ///< At most 256; 0, the default: as many as usable cores, at most 4.
  const char* signature;  ///< Null, the default: the first one of the file. Read during creation only.
  void* thread_pool;      ///< A SkiffThreadPool, which outlives the session; `threads` is then ignored. Null,
                          ///< the default: the session has threads of its own.
  uint64_t memory_limit;  ///< Bytes; creation, or the first run of a shape, fails when the session would pass
                          ///< it. 0, the default: 4 GiB and four times the file. UINT64_MAX: none.
  int64_t kept_shapes;   ///< Shapes that stay prepared, so that a run with one of the last ones costs nothing
                         ///< extra; 0, the default: 2.
  int32_t no_fall_back;  ///< Not 0: where the target's device is absent, refuses the model or runs out of
                         ///< memory, creation fails. 0, the default: the cpu plan runs instead, and
                         ///< skiff_session_target() tells.
  SkiffSession* variables_of;  ///< A session of the same model whose variables this one shares, so that a
                               ///< step and a reset, say, see the same state. It must outlive this one, and
                               ///< the two take turns. Null, the default: the session has its own.
  int32_t exact;  ///< Not 0: convolutions and products add the products of their definition. 0, the default:
                  ///< convolutions of 3 x 3 may be computed by Winograd's minimal filtering, and large
                  ///< products by Strassen's way, which are faster, need more memory and round more. A
                  ///< session with a memory limit computes them exactly, too.
  int32_t reserved;     ///< 0.
  uint64_t loop_limit;  ///< Steps of all loops in one run, beyond which it fails. 0, the default: 2^24.
                        ///< UINT64_MAX: none.
} SkiffSessionOptions;

/// Bytes that a session holds, by purpose.
typedef struct SkiffMemoryUsage {
  uint64_t arena;                  ///< Activations: what the file promised.
  uint64_t workspace;              ///< Scratch and prepared operators of the delegates.
  uint64_t packed_weights;         ///< In memory of the process; shared by all sessions of the model.
  uint64_t mapped_weights;         ///< The file's weights, paged in on demand and shared by all processes.
  uint64_t inputs;                 ///< Buffers of the inputs, where they do not lie in the arena.
  uint64_t variables;              ///< State, where the session has its own.
  uint64_t mapped_packed_weights;  ///< In the cache file: mapped as well, and shared by all processes.
  uint64_t widened_weights;        ///< Weights that the file has in fewer bits, and that kernels read in
                                   ///< full: in memory of the process; shared by all sessions of the model.
} SkiffMemoryUsage;

/// "0.1.0", for example. Strings that the functions of this group return live as long as the process.
SKIFF_API const char* skiff_version_string(void);
/// "invalid model", for example; "unknown status" for other numbers.
SKIFF_API const char* skiff_status_name(SkiffStatus status);
/// "f32", for example; "invalid" for other numbers.
SKIFF_API const char* skiff_dtype_name(int32_t dtype);
/// Bytes of one element; 0 for those smaller than a byte, and for other numbers.
SKIFF_API int64_t skiff_dtype_size(int32_t dtype);

/// Receives a message without a trailing newline, valid during the call only, with a SkiffLogLevel. It is
/// called from any thread that uses Skiff, and must not call Skiff.
typedef void (*SkiffLogSink)(void* user, int32_t level, const char* message);
/// Replaces the sink; null restores the default, which writes to stderr (logcat on Android). Process-wide:
/// call it before other threads use Skiff. `user` must live until the sink is replaced.
SKIFF_API void skiff_set_log_sink(SkiffLogSink sink, void* user);

/// Maps and verifies a .skiff file. The file must not change while the model is open. SKIFF_IO: it cannot be
/// read. SKIFF_INVALID_MODEL: it is no .skiff file, or damaged. SKIFF_UNSUPPORTED: its format is newer than
/// this library. Hand the model back with skiff_model_close().
SKIFF_API SkiffStatus skiff_model_open(const char* path, SkiffModel** model, char* message,
                                       size_t message_size);
/// The same over bytes in memory. They are not copied: they must be 64-byte aligned, unchanged, and outlive
/// the model.
SKIFF_API SkiffStatus skiff_model_open_bytes(const void* bytes, size_t size, SkiffModel** model,
                                             char* message, size_t message_size);
/// Sets the defaults, and `options->size` to `size`, which is sizeof(SkiffModelOptions).
SKIFF_API void skiff_model_options_init(SkiffModelOptions* options, size_t size);
/// The two functions above with options; null `options` are the defaults. SKIFF_UNSUPPORTED also where the
/// options use a field that this library does not know.
SKIFF_API SkiffStatus skiff_model_open_with(const char* path, const SkiffModelOptions* options,
                                            SkiffModel** model, char* message, size_t message_size);
SKIFF_API SkiffStatus skiff_model_open_bytes_with(const void* bytes, size_t size,
                                                  const SkiffModelOptions* options, SkiffModel** model,
                                                  char* message, size_t message_size);
/// Writes to the cache folder what sessions have packed since; skiff_session_create() and skiff_model_close()
/// do so as well. For programs that are rather killed than ended, after the first run: the weights of a model
/// with open dimensions are packed then. SKIFF_IO: a file could not be written; the message says why.
SKIFF_API SkiffStatus skiff_model_save_cache(SkiffModel* model, char* message, size_t message_size);
/// Destroy its sessions first. Does nothing for null.
SKIFF_API void skiff_model_close(SkiffModel* model);

/// A signature is a named entry point with inputs and outputs; most files have one. Names live as long as the
/// model. Out of range, or for a null model, counts are 0, names are null, and types are
/// SKIFF_INVALID_ARGUMENT.
SKIFF_API int32_t skiff_model_signature_count(const SkiffModel* model);
SKIFF_API const char* skiff_model_signature_name(const SkiffModel* model, int32_t signature);
SKIFF_API int32_t skiff_model_input_count(const SkiffModel* model, int32_t signature);
SKIFF_API const char* skiff_model_input_name(const SkiffModel* model, int32_t signature, int32_t index);
SKIFF_API SkiffStatus skiff_model_input_type(const SkiffModel* model, int32_t signature, int32_t index,
                                             SkiffTensor* type, char* message, size_t message_size);
SKIFF_API int32_t skiff_model_output_count(const SkiffModel* model, int32_t signature);
SKIFF_API const char* skiff_model_output_name(const SkiffModel* model, int32_t signature, int32_t index);
SKIFF_API SkiffStatus skiff_model_output_type(const SkiffModel* model, int32_t signature, int32_t index,
                                              SkiffTensor* type, char* message, size_t message_size);
/// In these types an extent that varies is -1. Its symbol is a named dimension with a contract: extents of
/// one symbol are equal in a call. The functions below number the symbols of a model from 0; -1 where the
/// extent is fixed, where only a run knows it (outputs), and for what is out of range.
SKIFF_API int32_t skiff_model_input_symbol(const SkiffModel* model, int32_t signature, int32_t index,
                                           int32_t axis);
SKIFF_API int32_t skiff_model_output_symbol(const SkiffModel* model, int32_t signature, int32_t index,
                                            int32_t axis);
/// 0 for a null model.
SKIFF_API int32_t skiff_model_symbol_count(const SkiffModel* model);
/// Lives as long as the model; null out of range.
SKIFF_API const char* skiff_model_symbol_name(const SkiffModel* model, int32_t symbol);
/// The sizes that a symbol may have: multiples of `multiple` from `min` to `max`, which is SKIFF_UNBOUNDED
/// where there is no limit. Null for what is not wanted.
SKIFF_API SkiffStatus skiff_model_symbol_range(const SkiffModel* model, int32_t symbol, int64_t* min,
                                               int64_t* max, int64_t* multiple, char* message,
                                               size_t message_size);
/// Not 0 where the input is a picture whose settings are in the file (`skiff convert --image-size`). Fills
/// the first `size` bytes of `spec`; pass sizeof(SkiffImageSpec). Fields that this library does not know, and
/// all of them where the input is no picture or is out of range, become 0. A null `spec` only asks.
SKIFF_API int32_t skiff_model_input_image(const SkiffModel* model, int32_t signature, int32_t index,
                                          SkiffImageSpec* spec, size_t size);
/// Not 0 where the integers of this input or output stand for real numbers. Fills the first `size` bytes of
/// `quantization`; pass sizeof(SkiffQuantization). The arrays live as long as the model. Fields that this
/// library does not know, and all of them where the integers are plain or the port is out of range, become 0.
/// A null `quantization` only asks.
SKIFF_API int32_t skiff_model_input_quantization(const SkiffModel* model, int32_t signature, int32_t index,
                                                 SkiffQuantization* quantization, size_t size);
SKIFF_API int32_t skiff_model_output_quantization(const SkiffModel* model, int32_t signature, int32_t index,
                                                  SkiffQuantization* quantization, size_t size);
/// Real numbers into integers, and back, as operators Quantize and Dequantize do it: rounded once, half to
/// even, saturating; NaN becomes the zero point. `size` is sizeof(SkiffQuantization). The tensor is one of
/// integers, an input buffer or an output for example, and there are as many floats as it has elements.
/// SKIFF_INVALID_ARGUMENT: the quantisation does not fit the tensor's dtype and extents.
SKIFF_API SkiffStatus skiff_quantize(const SkiffQuantization* quantization, size_t size, const float* from,
                                     const SkiffTensor* to, char* message, size_t message_size);
SKIFF_API SkiffStatus skiff_dequantize(const SkiffQuantization* quantization, size_t size,
                                       const SkiffTensor* from, float* to, char* message,
                                       size_t message_size);
/// The names of an output's classes, in the order of its last axis, where they are in the file (`skiff
/// convert
/// --labels`). Out of range the count is 0 and a label null. Labels live as long as the model.
SKIFF_API int32_t skiff_model_output_label_count(const SkiffModel* model, int32_t signature, int32_t index);
SKIFF_API const char* skiff_model_output_label(const SkiffModel* model, int32_t signature, int32_t index,
                                               int32_t label);
/// Variables are state that one run leaves to the next. 0 for a null model.
SKIFF_API int32_t skiff_model_variable_count(const SkiffModel* model);
/// Lives as long as the model; null out of range.
SKIFF_API const char* skiff_model_variable_name(const SkiffModel* model, int32_t variable);
/// The value of a metadata key; null when there is none.
SKIFF_API const char* skiff_model_metadata(const SkiffModel* model, const char* key);

/// Starts worker threads for SkiffSessionOptions::thread_pool: an application with many sessions then has one
/// set of threads, not one for each. `threads` counts the one that calls skiff_session_run(); 0: as many as
/// usable cores, at most 4. Sessions that share a pool may run at the same time, on different threads: an
/// operator whose work is shared out has the whole pool until it is done, and those of other sessions wait;
/// small operators wait for nobody. SKIFF_INVALID_ARGUMENT: `threads` is less than 0 or more than 256.
/// SKIFF_UNSUPPORTED: this build runs everything on the calling thread. Hand the pool back with
/// skiff_thread_pool_destroy().
SKIFF_API SkiffStatus skiff_thread_pool_create(int32_t threads, SkiffThreadPool** pool, char* message,
                                               size_t message_size);
/// Destroy the sessions that use it first. Does nothing for null.
SKIFF_API void skiff_thread_pool_destroy(SkiffThreadPool* pool);

/// Sets the defaults, and `options->size` to `size`, which is sizeof(SkiffSessionOptions).
SKIFF_API void skiff_session_options_init(SkiffSessionOptions* options, size_t size);
/// Prepares everything that a run needs. `model` must outlive the session; null `options` are the defaults.
/// SKIFF_UNSUPPORTED: the file has no plan for the target, an operator is missing in this build, or the
/// options use a field that this library does not know. SKIFF_OUT_OF_MEMORY: see memory_limit. Hand the
/// session back with skiff_session_destroy().
SKIFF_API SkiffStatus skiff_session_create(SkiffModel* model, const SkiffSessionOptions* options,
                                           SkiffSession** session, char* message, size_t message_size);
/// No run may be in progress. Does nothing for null.
SKIFF_API void skiff_session_destroy(SkiffSession* session);

/// The index of the input or output of this name in the session's signature; -1 when there is none.
SKIFF_API int32_t skiff_session_find_input(const SkiffSession* session, const char* name);
SKIFF_API int32_t skiff_session_find_output(const SkiffSession* session, const char* name);

/// Copies `tensor` into the input; the data are only read. The value stays until it is set again: runs do not
/// disturb it. SKIFF_INVALID_ARGUMENT: the dtype or the rank is not the input's. SKIFF_NO_MATCHING_BUCKET: an
/// extent is not, or is outside of its symbol's range. During a run, in another thread or from a custom
/// operator, this and the next three are SKIFF_INVALID_ARGUMENT: it reads the inputs.
SKIFF_API SkiffStatus skiff_session_set_input(SkiffSession* session, int32_t index, const SkiffTensor* tensor,
                                              char* message, size_t message_size);
/// Lets the input live in the caller's memory: no copy. The caller keeps `tensor->data` (not the struct)
/// alive and unmoved until the input is bound or set again or the session ends, aligns it to the element's
/// size, and promises that 16 bytes behind it are readable. New values may be written there between runs.
SKIFF_API SkiffStatus skiff_session_bind_input(SkiffSession* session, int32_t index,
                                               const SkiffTensor* tensor, char* message, size_t message_size);
/// The input's own buffer, to be written in place before each run; the session owns it. The input counts as
/// set; it is all zeros until it is written. SKIFF_INVALID_ARGUMENT where an extent varies.
SKIFF_API SkiffStatus skiff_session_input_buffer(SkiffSession* session, int32_t index, SkiffTensor* tensor,
                                                 char* message, size_t message_size);
/// The same for an input whose extents vary: `extents` are those of this call. The buffer moves when a larger
/// shape needs more room than any before.
SKIFF_API SkiffStatus skiff_session_input_buffer_of_shape(SkiffSession* session, int32_t index,
                                                          const int64_t* extents, int32_t rank,
                                                          SkiffTensor* tensor, char* message,
                                                          size_t message_size);

/// Computes the outputs. After the first run with a shape it allocates nothing, opens nothing, and logs
/// nothing on success. SKIFF_INVALID_ARGUMENT names an input that was never set, or two inputs that give one
/// symbol different sizes, or says that another thread is running this session. SKIFF_NO_MATCHING_BUCKET: no
/// plan of the file serves the sizes.
SKIFF_API SkiffStatus skiff_session_run(SkiffSession* session, char* message, size_t message_size);
/// From any thread: a run in progress ends with SKIFF_CANCELLED at the next operator. Without one it does
/// nothing; a later run starts anew. The session must be alive during the call. Does nothing for null.
SKIFF_API void skiff_session_cancel(SkiffSession* session);
/// A view of an output: the session's memory, valid until its next run or end. SKIFF_INVALID_ARGUMENT
/// where the last run failed, or there was none.
SKIFF_API SkiffStatus skiff_session_output(const SkiffSession* session, int32_t index, SkiffTensor* tensor,
                                           char* message, size_t message_size);
/// A view of a variable, numbered as in the model: what the last run left. It may be read and written between
/// runs, which is how an application keeps and restores state. Valid until the session that owns it ends.
SKIFF_API SkiffStatus skiff_session_variable(SkiffSession* session, int32_t variable, SkiffTensor* tensor,
                                             char* message, size_t message_size);
/// All variables back to the values in the file. Does nothing for null.
SKIFF_API void skiff_session_reset_variables(SkiffSession* session);
/// The SkiffTarget that the session runs on: the one asked for, or SKIFF_TARGET_CPU where it fell back, and
/// for null.
SKIFF_API int32_t skiff_session_target(const SkiffSession* session);
/// Fills the first `size` bytes of `usage`; pass sizeof(SkiffMemoryUsage). Fields that this library does not
/// know, and all of them for a null session, become 0.
SKIFF_API void skiff_session_memory_usage(const SkiffSession* session, SkiffMemoryUsage* usage, size_t size);

#ifdef __cplusplus
}
#endif
