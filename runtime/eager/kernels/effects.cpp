// Operators that act instead of computing: Print, Assert, CheckNumerics. Input 0 and the output are a byte
// without meaning, handed from one effect to the next so that their order is the author's. Input 1 is a text
// of u8.
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/print.h"
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {
namespace {

using namespace eager;

/// Longer texts are cut.
constexpr size_t kTextBytes = 8192;
/// Tensors of more elements show this many at either end of each axis.
constexpr int64_t kShownInFull = 100;
constexpr int64_t kShownAtEnds = 3;

class Text {
 public:
  const char* c_str() const { return bytes_; }
  __attribute__((format(printf, 2, 3))) void Add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int more = std::vsnprintf(bytes_ + size_, sizeof(bytes_) - size_, format, arguments);
    va_end(arguments);
    if (more > 0)
      size_ = size_ + static_cast<size_t>(more) < sizeof(bytes_) ? size_ + static_cast<size_t>(more)
                                                                 : sizeof(bytes_) - 1;
  }

 private:
  char bytes_[kTextBytes] = "";
  size_t size_ = 0;
};

void AddElement(Text& text, const TensorView& x, int64_t i) {
  const auto* at = x.as<const char>() + i * DTypeSize(x.dtype);
  if (IsFloat(x.dtype)) {
    double value;
    Loader<double>(x.dtype)(at, 0, 1, 1, &value);
    text.Add("%g", value);
  } else if (x.dtype == DType::kBool) {
    text.Add("%s", *at != 0 ? "true" : "false");
  } else if (x.dtype == DType::kU64) {
    uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    text.Add("%" PRIu64, value);
  } else {
    int64_t value;
    Loader<int64_t>(x.dtype)(at, 0, 1, 1, &value);
    text.Add("%" PRId64, value);
  }
}

/// "[[1, 2, ..., 9], ...]": the elements from `first` on, of axes from `axis` on.
void AddElements(Text& text, const TensorView& x, int axis, int64_t first) {
  if (axis == x.shape.rank()) return AddElement(text, x, first);
  const int64_t extent = x.shape[axis];
  const int64_t step = x.shape.ElementsBetween(axis + 1, x.shape.rank());
  const int64_t elements = x.shape.elements();
  const bool whole = (elements > 0 && elements <= kShownInFull) || extent <= 2 * kShownAtEnds;
  text.Add("[");
  for (int64_t i = 0; i < extent; ++i) {
    if (!whole && i == kShownAtEnds) {
      text.Add(", ...");
      i = extent - kShownAtEnds;
    }
    if (i > 0) text.Add(", ");
    AddElements(text, x, axis + 1, first + i * step);
  }
  text.Add("]");
}

/// The text, in which each zero byte is the place of one of the tensors from input `next` on.
void AddText(Text& text, const KernelArgs& args, size_t next) {
  const TensorView& pattern = args.inputs[1];
  const auto* at = pattern.as<const char>();
  for (const char* end = at + pattern.bytes(); at < end;) {
    const auto run = static_cast<int>(strnlen(at, static_cast<size_t>(end - at)));
    text.Add("%.*s", run, at);
    at += run;
    if (at == end) break;
    ++at;
    if (next < args.inputs.size()) AddElements(text, args.inputs[next++], 0, 0);
  }
}

Status Done(const KernelArgs& args) {
  *args.outputs[0].as<uint8_t>() = 0;
  return OkStatus();
}

}  // namespace

Status KernelPrint(const KernelArgs& args) {
  Text text;
  AddText(text, args, 2);
  PrintText(text.c_str());
  return Done(args);
}

/// Input 2 is the condition: all of its elements must be true.
Status KernelAssert(const KernelArgs& args) {
  const auto* holds = args.inputs[2].as<const uint8_t>();
  for (int64_t i = 0; i < args.inputs[2].shape.elements(); ++i) {
    if (holds[i] != 0) continue;
    Text text;
    AddText(text, args, 3);
    return Fail(StatusCode::kInvalidArgument, "Assert failed: %.900s", text.c_str());
  }
  return Done(args);
}

Status KernelCheckNumerics(const KernelArgs& args) {
  const TensorView& x = args.inputs[2];
  if (!IsFloat(x.dtype)) return UnsupportedDType(args.op, x.dtype);
  const LoadFn<double> load = Loader<double>(x.dtype);
  double lanes[kChunk];
  const int64_t total = x.shape.elements();
  for (int64_t done = 0; done < total; done += kChunk) {
    const int64_t count = total - done < kChunk ? total - done : kChunk;
    load(x.data, done, 1, count, lanes);
    for (int64_t i = 0; i < count; ++i) {
      if (std::isfinite(lanes[i])) continue;
      Text text;
      AddText(text, args, 3);
      return Fail(StatusCode::kInvalidArgument, "CheckNumerics: %.700s: element %" PRId64 " of %s %s is %s",
                  text.c_str(), done + i, DTypeName(x.dtype), ShapeText(x.shape).c_str(),
                  std::isnan(lanes[i]) ? "NaN"
                  : lanes[i] < 0       ? "-Inf"
                                       : "Inf");
    }
  }
  return Done(args);
}

}  // namespace skiff
