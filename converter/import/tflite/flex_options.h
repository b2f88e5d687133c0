/// Options of custom operators, which are mostly a FlexBuffer: one map from names to numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "import/tflite/builder.h"

namespace skiff {

class FlexOptions {
 public:
  /// Reads the map; values that are no numbers are left out. Invalid where the bytes are none.
  explicit FlexOptions(const TfliteBuilder& b);

  /// Invalid where the option is missing and has no default, or does not lie in [lowest, highest].
  int64_t Int(const char* name, int64_t lowest, int64_t highest, std::optional<int64_t> otherwise = {}) const;
  /// Invalid where the option is missing and has no default, or is not finite.
  double Real(const char* name, std::optional<double> otherwise = {}) const;
  bool Flag(const char* name, bool otherwise) const { return Real(name, otherwise ? 1 : 0) != 0; }

 private:
  const TfliteBuilder& b_;
  std::map<std::string, double> numbers_;
};

}  // namespace skiff
