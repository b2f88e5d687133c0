#include "core/wide_constant.h"

#include <cstring>

#include "core/align.h"
#include "core/extents.h"
#include "core/features.h"
#include "core/platform.h"
#include "core/widen.h"

namespace skiff {
namespace {

/// Where a system is asked for memory by pages.
constexpr uint64_t kManyPages = 256 * 1024;

}  // namespace

WideConstant::~WideConstant() { platform::FreeAligned(elements_); }

Status WideConstant::Reserve(const TensorView& stored, std::atomic<uint64_t>* held) {
  stored_ = stored;
  held_ = held;
  const uint64_t needed = bytes() + kReadableTail;
  elements_ = IsAddressable(needed) ? platform::AllocateAligned(needed) : nullptr;
  if (elements_ != nullptr) return OkStatus();
  return Fail(StatusCode::kOutOfMemory, "cannot allocate %llu bytes for weights that are widened",
              static_cast<unsigned long long>(needed));
}

void WideConstant::FillLocked() {
  if (filled_) return;
  filled_ = true;
  held_->fetch_add(bytes(), std::memory_order_relaxed);
  if (bytes() >= kManyPages) platform::WillFill(elements_, bytes());
  if (stored_.quantization == nullptr) {
    WidenHalves(stored_.as<const uint16_t>(), stored_.shape.elements(), static_cast<float*>(elements_));
  } else if (BuildHas(Feature::kQuantization)) {
    WidenCodes(stored_, static_cast<float*>(elements_));
  }
  std::memset(static_cast<unsigned char*>(elements_) + bytes(), 0, kReadableTail);
}

void WideConstant::Pin() {
  lock_.lock();
  FillLocked();
  pinned_ = true;
  lock_.unlock();
}

void WideConstant::Acquire() {
  lock_.lock();
  FillLocked();
  ++users_;
  lock_.unlock();
}

void WideConstant::Release() {
  lock_.lock();
  if (--users_ == 0 && !pinned_ && platform::GiveBack(elements_, bytes())) {
    filled_ = false;
    held_->fetch_sub(bytes(), std::memory_order_relaxed);
  }
  lock_.unlock();
}

}  // namespace skiff
