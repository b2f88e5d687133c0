#include "core/thread_count.h"

#include <algorithm>

#include "core/platform.h"
#include "skiff/log.h"
#include "skiff/session.h"

namespace skiff {

Result<int> ThreadCount(int asked) {
  if (asked < 0 || asked > kMaxThreads)
    return Fail(StatusCode::kInvalidArgument, "%d threads were asked for; it must be 0 to %d", asked,
                kMaxThreads);
  return asked == 0 ? std::min(platform::UsableCores(), 4) : asked;
}

}  // namespace skiff
