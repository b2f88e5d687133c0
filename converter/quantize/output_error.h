/// How far a net's outputs are from those that they should be.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "run/opened_model.h"

namespace skiff {

enum class ErrorMeasure {
  kLargest,  ///< The largest difference, as a share of the output's largest element.
  kRms,      ///< The root of the mean square difference, as a share of the output's own.
  kCosine,   ///< 1 less the cosine between the two.
  kTop1,     ///< The share of rows whose largest element is another one.
};

/// "largest", "rms", "cosine", "top1".
const char* MeasureName(ErrorMeasure measure);
std::optional<ErrorMeasure> MeasureFromName(std::string_view name);

/// Sums of all calls, by output. An output of integers counts the share of elements that differ.
class OutputError {
 public:
  void Add(const NamedTensors& expected, const NamedTensors& got);
  /// Of the worst output. An element that is not finite where it should be, or the other way round, is an
  /// infinite error.
  double Of(ErrorMeasure measure) const;
  double Of(const std::string& output, ErrorMeasure measure) const;
  /// 10 log10 of signal by noise.
  double SignalToNoise(const std::string& output) const;

 private:
  struct Sums {
    bool integers = false;
    bool not_finite = false;
    double largest = 0;
    double largest_difference = 0;
    double expected = 0;  ///< Of squares.
    double got = 0;
    double product = 0;
    double difference = 0;
    double elements = 0;
    double differ = 0;
    double rows = 0;
    double other_top = 0;
  };

  static void Add(const TensorData& expected, const TensorData& got, Sums& sums);
  static double Error(const Sums& sums, ErrorMeasure measure);

  std::map<std::string, Sums> sums_;
};

}  // namespace skiff
