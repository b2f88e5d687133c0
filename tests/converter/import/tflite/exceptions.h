/// Cases of TensorFlow Lite operators that are out of scope, with the reason.
#pragma once

#include <string>
#include <vector>

namespace skiff::testing {

/// Why a case is refused; null for one that has to pass.
const char* WhyTfliteCaseIsRefused(const std::string& name);

/// Rows of the list that match none of these cases.
std::vector<std::string> UnusedTfliteExceptions(const std::vector<std::string>& cases);

}  // namespace skiff::testing
