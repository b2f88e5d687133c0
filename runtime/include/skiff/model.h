/// An opened model file: immutable, verified, shared by any number of Sessions and threads.
#pragma once

#include <memory>

#include "skiff/custom_operator.h"
#include "skiff/delegate.h"
#include "skiff/quantization.h"
#include "skiff/span.h"
#include "skiff/tensor.h"

namespace skiff {

struct ModelData;

/// How a picture comes to the size of an input. The numbers are file format: never reuse one.
enum class ImageFit : uint8_t {
  kStretch = 0,    ///< Width and height each by a factor of their own.
  kCrop = 1,       ///< Resized until it covers the input, or by ImageSpec::resize; the centre is taken.
  kLetterbox = 2,  ///< Resized until the input holds it; the rest is ImageSpec::fill.
};

/// How samples are made between pixels. The numbers are file format: never reuse one.
enum class ImageFilter : uint8_t {
  /// Between the four neighbours at half-pixel centres, edges clamped, no antialiasing, not rounded to 8
  /// bits: what torch.nn.functional.interpolate(mode="bilinear") computes, and files without a filter mean.
  kLinear = 0,
  kBilinear =
      1,  ///< As Pillow: over all pixels that a shrunk one covers, rounded to 8 bits. So the next ones.
  kBicubic = 2,
  kNearest = 3,
};

/// How a picture becomes an input: brought to width x height, its channels put in order, then
/// (value - mean[c]) * scale[c] on values of 0..255. <skiff/image.h> does it.
struct ImageSpec {
  uint32_t width = 0;  ///< 0: this input is no picture.
  uint32_t height = 0;
  uint32_t channels = 0;
  float mean[4] = {};
  float scale[4] = {};
  bool bgr = false;
  bool nhwc = false;
  ImageFit fit = ImageFit::kStretch;
  ImageFilter filter = ImageFilter::kLinear;
  uint8_t fill = 0;  ///< Letterbox: the sample, 0..255, of all channels beside the picture.
  /// Crop: pixels of the picture's shorter side before the centre is taken, at least the longer one of width
  /// and height; 0: as few as cover the input.
  uint32_t resize = 0;
};

/// A named input or output of a signature.
struct PortInfo {
  const char* name = "";
  DType dtype = DType::kInvalid;
  Shape shape;  ///< -1 where the extent varies.
  int32_t symbols[kMaxRank] = {-1, -1, -1, -1,
                               -1, -1, -1, -1};  ///< Which Symbol of the Model an extent is, or -1.
  ImageSpec image;                               ///< Inputs.
  Span<const char* const> labels;                ///< Outputs of classifiers; may be empty.
  /// How its integers stand for real numbers; null where they are plain. Lives as long as the Model.
  const Quantization* quantization = nullptr;
  int32_t variable = -1;  ///< The variable that the Session feeds or keeps here; -1: it is the caller's.
};

/// State of a Model: what one run leaves to the next (see Variables).
struct VariableInfo {
  const char* name = "";
  TensorView initial;
};

struct SignatureInfo {
  const char* name = "";
  Span<const PortInfo> inputs;
  Span<const PortInfo> outputs;
};

/// A named dimension that varies, with its contract. Dimensions of one name are equal in a call.
struct SymbolInfo {
  static constexpr int64_t kUnbounded = INT64_MAX;
  const char* name = "";
  int64_t min = 0;
  int64_t max = kUnbounded;
  int64_t multiple = 1;
};

enum class BucketKind : uint8_t {
  kExact = 0,      ///< One shape; memory is planned ahead.
  kRelaxed = 1,    ///< A range of shapes in memory that is planned ahead for the whole range.
  kUnbounded = 2,  ///< Memory is planned on the device, at each new shape.
};
const char* BucketKindName(BucketKind kind);

/// The sizes of one Symbol that a plan serves.
struct SymbolRange {
  uint32_t symbol = 0;
  int64_t min = 0;
  int64_t max = 0;
};

struct PlanSummary {
  Target target = Target::kCpu;
  BucketKind kind = BucketKind::kExact;
  Span<const SymbolRange> ranges;
  uint64_t arena_bytes = 0;  ///< Activations of one Session; 0 when the plan is unbounded.
  uint32_t nodes = 0;
};

struct ModelOptions {
  /// The delegates that plans may use; the reference delegate is always there. They must outlive the Model.
  Span<const Delegate* const> delegates;
  /// A folder that exists and is private to the application, for files that make the next start faster:
  /// packed weights (one file per model, about as large as the model), and compiled pipelines of the GPU.
  /// Null: none. Nothing breaks when the files are deleted while no Model is open, or damaged: they are made
  /// anew.
  const char* cache_folder = nullptr;
  /// The application's own operators that plans may use; of two of one name, the last one. Copied, but for
  /// what they point to. A model that uses others can be opened and looked at: Session::Create() refuses it.
  Span<const CustomOperator> custom_operators = {};
};

class Model {
 public:
  /// Maps and verifies a .skiff file. kIo: it cannot be read. kInvalidModel: it is no .skiff file, or
  /// damaged. kUnsupported: its format is newer than this build, or it has an operator that this build leaves
  /// out.
  static Result<std::unique_ptr<Model>> Open(const char* path, const ModelOptions& options = {});
  /// The same over bytes in memory, which must outlive the Model, be 64-byte aligned and are not copied.
  static Result<std::unique_ptr<Model>> Open(Span<const uint8_t> bytes, const ModelOptions& options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  int signature_count() const;
  SignatureInfo signature(int index) const;
  Span<const SymbolInfo> symbols() const;
  Span<const VariableInfo> variables() const;
  int plan_count(int signature) const;
  PlanSummary plan(int signature, int plan) const;
  /// The value of a metadata key; null when there is none.
  const char* metadata(const char* key) const;
  const char* producer() const;
  uint64_t file_bytes() const;
  uint64_t weights_bytes() const;
  /// Bytes of weights that the file has in fewer bits than kernels read them, and that are there in full at
  /// this moment: delegates that pack copies of their own give theirs back.
  uint64_t widened_bytes() const;
  /// Bytes of packed weights that delegates hold for this Model at this moment.
  PackedBytes packed_bytes() const;
  /// Writes to ModelOptions::cache_folder what delegates have packed since; Session::Create() and the Model's
  /// end do so as well. For programs that are rather killed than ended, after the first run: weights of a
  /// model with open dimensions are packed then. Thread-safe. kIo: a file could not be written; the log says
  /// why.
  Status SaveCache();

  /// The decoded file, for Sessions and for tools that show all of it.
  const ModelData& data() const;
  /// Those that Sessions may use: the reference, then ModelOptions::delegates.
  size_t delegate_count() const;
  const Delegate& delegate(size_t index) const;
  /// Of two of one kind, the last one. kUnsupported when there is none.
  Result<size_t> IndexOf(DelegateKind kind) const;
  Result<const Delegate*> DelegateOf(DelegateKind kind) const;
  /// The state that a delegate keeps for this Model, made at the first call. Thread-safe. Fails as
  /// IndexOf.
  Result<ModelState*> StateOf(DelegateKind kind);

 private:
  friend class Session;
  struct Internals;
  explicit Model(std::unique_ptr<Internals> internals);
  /// SaveCache() whose failure is a warning.
  void TrySaveCache();

  std::unique_ptr<Internals> internals_;
};

}  // namespace skiff
