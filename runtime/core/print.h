/// The print seam's inner side: see skiff/print.h.
#pragma once

#include "skiff/print.h"

namespace skiff {

/// Passes one line to the sink.
void PrintText(const char* text);

}  // namespace skiff
