/// One rule for the number of threads that a caller asks for.
#pragma once

#include "skiff/status.h"

namespace skiff {

/// `asked`, or the usable cores but at most 4 where that is 0. kInvalidArgument where it is less than 0 or
/// more than kMaxThreads.
Result<int> ThreadCount(int asked);

}  // namespace skiff
