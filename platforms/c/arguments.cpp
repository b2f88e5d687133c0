#include "platforms/c/arguments.h"

#include <algorithm>
#include <cstring>

#include "platforms/c/custom.h"
#include "skiff/delegates.h"
#include "skiff/version.h"

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
static_assert(Same(SKIFF_DTYPE_I4, DType::kI4) && Same(SKIFF_DTYPE_U4, DType::kU4));
static_assert(kDTypeCount == SKIFF_DTYPE_U4 + 1, "a new element type needs its number in skiff.h");

static_assert(Same(SKIFF_TARGET_CPU, Target::kCpu) && Same(SKIFF_TARGET_VULKAN, Target::kVulkan));
static_assert(Same(SKIFF_BACKEND_PLANNED, Backend::kPlanned) &&
              Same(SKIFF_BACKEND_REFERENCE, Backend::kReference));
static_assert(Same(SKIFF_LOG_INFO, LogLevel::kInfo) && Same(SKIFF_LOG_WARNING, LogLevel::kWarning));
static_assert(Same(SKIFF_LOG_ERROR, LogLevel::kError));

static_assert(SKIFF_UNBOUNDED == SymbolInfo::kUnbounded);

static_assert(SKIFF_MAX_RANK == kMaxRank);
static_assert(sizeof(SkiffTensor::extents) == sizeof(int64_t) * kMaxRank);
// The first published struct ended here. Later fields come behind it, and padding at the end would hide them.
constexpr size_t kFirstOptionsSize = offsetof(SkiffSessionOptions, memory_limit) + sizeof(uint64_t);
static_assert(sizeof(SkiffSessionOptions) == offsetof(SkiffSessionOptions, loop_limit) + sizeof(uint64_t));
static_assert(sizeof(SkiffMemoryUsage) == offsetof(SkiffMemoryUsage, widened_weights) + sizeof(uint64_t));
static_assert(sizeof(SkiffImageSpec) == offsetof(SkiffImageSpec, fill) + sizeof(uint32_t));
static_assert(Same(SKIFF_FIT_CROP, ImageFit::kCrop) && Same(SKIFF_FIT_LETTERBOX, ImageFit::kLetterbox));
static_assert(Same(SKIFF_FILTER_BILINEAR, ImageFilter::kBilinear) &&
              Same(SKIFF_FILTER_BICUBIC, ImageFilter::kBicubic) &&
              Same(SKIFF_FILTER_NEAREST, ImageFilter::kNearest));
static_assert(sizeof(SkiffImageSpec::mean) == sizeof(ImageSpec::mean));
static_assert(sizeof(SkiffQuantization) == offsetof(SkiffQuantization, zero_points) + sizeof(const int32_t*));
constexpr size_t kFirstModelOptionsSize = offsetof(SkiffModelOptions, cache_folder) + sizeof(const char*);
static_assert(sizeof(SkiffModelOptions) ==
              offsetof(SkiffModelOptions, custom_operator_count) + sizeof(uint64_t));
static_assert(sizeof(SkiffCustomCall) ==
              offsetof(SkiffCustomCall, output_quantizations) + sizeof(const SkiffQuantization* const*));
// No later struct will be longer: a greater number is memory that was never initialised.
constexpr size_t kMaxOptionsSize = 4096;
// Each kept shape holds operators of its own; beyond this it is a mistake.
constexpr int kMaxKeptShapes = 1000;

/// What is known about a struct of options of which older and newer programs have other lengths.
struct OptionsText {
  const char* name;
  const char* init;   ///< The function that sets the defaults.
  size_t first_size;  ///< Of the first one that was published.
};
constexpr OptionsText kSessionOptions = {"SkiffSessionOptions", "skiff_session_options_init",
                                         kFirstOptionsSize};
constexpr OptionsText kModelOptions = {"SkiffModelOptions", "skiff_model_options_init",
                                       kFirstModelOptionsSize};

/// The fields that this library knows, of a struct of this size. Those that an older program does not have
/// are 0, which is their default.
Status TakeKnownBytes(const void* given, size_t size, const char* name, void* known, size_t known_size) {
  const auto* bytes = static_cast<const unsigned char*>(given);
  const auto* unknown = bytes + std::min(size, known_size);
  if (std::any_of(unknown, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    return Fail(StatusCode::kUnsupported,
                "%s has a field set that Skiff %s does not know; its header is newer than the library", name,
                SKIFF_VERSION);
  }
  std::memcpy(known, given, std::min(size, known_size));
  return OkStatus();
}

template <class Struct>
Status TakeKnown(const Struct* given, size_t size, const char* name, Struct* known) {
  return TakeKnownBytes(given, size, name, known, sizeof(*known));
}

template <class Options>
Status TakeOptions(const Options* given, const OptionsText& text, Options* known) {
  const size_t size = given->size;
  if (size < text.first_size || size > kMaxOptionsSize) {
    return Fail(StatusCode::kInvalidArgument, "%s::size is %zu, this library knows %zu; call %s() first",
                text.name, size, sizeof(*given), text.init);
  }
  return TakeKnown(given, size, text.name, known);
}

}  // namespace

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

Status ToOptions(const SkiffModelOptions* given, FixedArray<CustomOperator>* operators,
                 ModelOptions* options) {
  options->delegates = BuiltinDelegates();
  if (given == nullptr) return OkStatus();
  SkiffModelOptions known = {};
  SKIFF_RETURN_IF_ERROR(TakeOptions(given, kModelOptions, &known));
  SKIFF_RETURN_IF_ERROR(InRange(static_cast<int32_t>(known.reserved), 1, "SkiffModelOptions::reserved"));
  options->cache_folder = known.cache_folder;
  SKIFF_RETURN_IF_ERROR(ToCustomOperators(known.custom_operators, known.custom_operator_count, operators));
  options->custom_operators = {operators->data(), operators->size()};
  return OkStatus();
}

Status ToOptions(const SkiffSessionOptions* given, SessionOptions* options) {
  if (given == nullptr) return OkStatus();
  SkiffSessionOptions known = {};
  SKIFF_RETURN_IF_ERROR(TakeOptions(given, kSessionOptions, &known));
  SKIFF_RETURN_IF_ERROR(InRange(known.target, SKIFF_TARGET_VULKAN + 1, "SkiffSessionOptions::target"));
  SKIFF_RETURN_IF_ERROR(InRange(known.backend, SKIFF_BACKEND_REFERENCE + 1, "SkiffSessionOptions::backend"));
  SKIFF_RETURN_IF_ERROR(InRange(known.reserved, 1, "SkiffSessionOptions::reserved"));
  if (known.kept_shapes < 0 || known.kept_shapes > kMaxKeptShapes) {
    return Fail(StatusCode::kInvalidArgument, "SkiffSessionOptions::kept_shapes is %lld; it must be 0 to %d",
                static_cast<long long>(known.kept_shapes), kMaxKeptShapes);
  }
  options->signature = known.signature;
  options->target = static_cast<Target>(known.target);
  options->backend = static_cast<Backend>(known.backend);
  options->threads = known.threads;
  options->thread_pool = static_cast<ThreadPool*>(known.thread_pool);
  options->memory_limit = known.memory_limit;
  options->loop_limit = known.loop_limit;
  if (known.kept_shapes > 0) options->kept_shapes = static_cast<int>(known.kept_shapes);
  options->fall_back = known.no_fall_back == 0;
  options->exact = known.exact != 0;
  if (known.variables_of != nullptr) options->variables = &Cpp(known.variables_of)->variables();
  return OkStatus();
}

Status ToQuantization(const SkiffQuantization* given, size_t size, Quantization* quantization) {
  SKIFF_RETURN_IF_ERROR(NotNull(given, "the quantisation"));
  if (size < sizeof(SkiffQuantization) || size > kMaxOptionsSize) {
    return Fail(StatusCode::kInvalidArgument,
                "the quantisation's size is %zu; pass sizeof(SkiffQuantization), %zu", size,
                sizeof(SkiffQuantization));
  }
  SkiffQuantization known = {};
  SKIFF_RETURN_IF_ERROR(TakeKnown(given, size, "SkiffQuantization", &known));
  SKIFF_RETURN_IF_ERROR(InRange(known.reserved, 1, "SkiffQuantization::reserved"));
  *quantization = {known.scale, known.zero_point, known.axis,       known.block,
                   known.count, known.scales,     known.zero_points};
  return OkStatus();
}

Status TakePrefixBytes(const void* given, size_t size, size_t least, const char* name, void* known,
                       size_t known_size) {
  SKIFF_RETURN_IF_ERROR(NotNull(given, name));
  if (size < least || size > kMaxOptionsSize) {
    return Fail(StatusCode::kInvalidArgument, "the size of %s is %zu; pass its sizeof, %zu", name, size,
                known_size);
  }
  return TakeKnownBytes(given, size, name, known, known_size);
}

void FillPrefix(void* to, size_t size, const void* from, size_t known) {
  if (to == nullptr) return;
  std::memset(to, 0, size);
  std::memcpy(to, from, std::min(size, known));
}

}  // namespace skiff
