#include "skiff/status.h"

#include <cstdio>
#include <mutex>

#include "core/sentences.h"
#include "core/spin_lock.h"

namespace skiff {
namespace {

struct Sentence {
  uint32_t number;
  char text[StatusMessage::kCapacity];
};

/// A ring: sentence n lies at n modulo its size until sentence n + its size comes.
constexpr uint32_t kRemembered = 16;
Sentence remembered[kRemembered];
uint32_t newest = 0;
SpinLock lock;

}  // namespace

uint32_t RememberSentence(const char* sentence) {
  const std::lock_guard<SpinLock> held(lock);
  if (++newest == 0) ++newest;
  Sentence& place = remembered[newest % kRemembered];
  place.number = newest;
  std::snprintf(place.text, sizeof(place.text), "%s", sentence);
  return newest;
}

StatusMessage Status::message() const {
  StatusMessage message;
  const char* text = ok() ? "" : StatusCodeName(code_);
  const std::lock_guard<SpinLock> held(lock);
  const Sentence& place = remembered[sentence_ % kRemembered];
  if (sentence_ != 0 && place.number == sentence_) text = place.text;
  std::snprintf(message.text_, sizeof(message.text_), "%s", text);
  return message;
}

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kInvalidModel:
      return "invalid model";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kNoMatchingBucket:
      return "no matching bucket";
    case StatusCode::kOutOfMemory:
      return "out of memory";
    case StatusCode::kIo:
      return "input/output error";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kDeviceLost:
      return "device lost";
    case StatusCode::kInternal:
      return "internal error";
  }
  return "unknown status";
}

}  // namespace skiff
