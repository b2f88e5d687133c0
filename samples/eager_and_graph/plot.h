/// A picture of times per call, as SVG.
#pragma once

#include <string>
#include <vector>

namespace sample {

struct Series {
  std::string name;
  std::vector<double> microseconds;  ///< Call by call.
};

/// One panel per series, one above the other, with a common logarithmic axis: what each call took. Writes the
/// file; throws std::runtime_error where it cannot.
void WritePlot(const std::string& path, const std::string& title, const std::vector<Series>& all);

}  // namespace sample
