/// Errors without exceptions: what kind of failure it was travels in Status, with the sentence that says
/// where and why, which goes to the log seam (log.h) as well, once, at the point of failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace skiff {

/// Kinds of failure. The numbers are stable: they cross the C API and appear in logs.
enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument =
      1,              ///< The caller passed something that the contract forbids (name, shape, dtype, null).
  kInvalidModel = 2,  ///< The file is malformed, truncated, or of a newer format version.
  kUnsupported = 3,   ///< Valid, but this build, device or delegate cannot do it.
  kNoMatchingBucket = 4,  ///< No plan of the file serves the shapes of this call.
  kOutOfMemory = 5,       ///< An allocation failed, or a memory limit would be passed.
  kIo = 6,                ///< The operating system refused to read, map or write a file.
  kCancelled = 7,         ///< Session::Cancel() stopped the run.
  kDeviceLost = 8,        ///< The GPU went away; the Session must be made anew.
  kInternal = 9,          ///< A defect in Skiff.
};

/// A short name for a code, for example "invalid model". Never null.
const char* StatusCodeName(StatusCode code);

/// One sentence, a copy of its own: `std::puts(status.message().c_str())`.
class StatusMessage {
 public:
  static constexpr size_t kCapacity = 512;  ///< With the terminator; longer sentences are cut.
  const char* c_str() const { return text_; }

 private:
  friend class Status;
  char text_[kCapacity];
};

/// Success, or the kind of failure and which sentence was said about it. A value of eight bytes: failing and
/// copying never allocate.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr explicit Status(StatusCode code) : code_(code) {}

  constexpr bool ok() const { return code_ == StatusCode::kOk; }
  constexpr StatusCode code() const { return code_; }
  /// What was said about the failure, "" of kOk. The process remembers its newest 16 failures, of all
  /// threads: of an older one, and of one that nothing was said about, this is the code's name. From any
  /// thread.
  StatusMessage message() const;
  /// The kinds of failure alone.
  constexpr bool operator==(const Status& other) const { return code_ == other.code_; }

 private:
  friend Status Fail(StatusCode code, const char* format, ...);
  constexpr Status(StatusCode code, uint32_t sentence) : code_(code), sentence_(sentence) {}

  StatusCode code_ = StatusCode::kOk;
  uint32_t sentence_ = 0;  ///< Its number; 0: none.
};

inline constexpr Status OkStatus() { return Status(); }

/// A value, or the Status that says why there is none. Refuses to hold kOk as an error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)), has_value_(true) {}  // NOLINT: implicit by design
  Result(Status status) : status_(status.ok() ? Status(StatusCode::kInternal) : status) {}  // NOLINT
  Result(Result&& other) noexcept : status_(other.status_), has_value_(other.has_value_) {
    if (has_value_) new (&value_) T(std::move(other.value_));
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() {
    if (has_value_) value_.~T();
  }

  bool ok() const { return has_value_; }
  Status status() const { return has_value_ ? OkStatus() : status_; }

  /// Only after ok() was seen to be true.
  T& value() { return value_; }
  const T& value() const { return value_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  union {
    T value_;
  };
  Status status_;
  bool has_value_ = false;
};

#define SKIFF_CONCAT_INNER(a, b) a##b
#define SKIFF_CONCAT(a, b) SKIFF_CONCAT_INNER(a, b)

#define SKIFF_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                        \
    if (::skiff::Status skiff_status = (expression); !skiff_status.ok()) return skiff_status; \
  } while (false)

#define SKIFF_ASSIGN_OR_RETURN(declaration, expression)                                                   \
  auto SKIFF_CONCAT(skiff_result_, __LINE__) = (expression);                                              \
  if (!SKIFF_CONCAT(skiff_result_, __LINE__).ok()) return SKIFF_CONCAT(skiff_result_, __LINE__).status(); \
  declaration = std::move(SKIFF_CONCAT(skiff_result_, __LINE__).value())

}  // namespace skiff
