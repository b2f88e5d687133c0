/// What a conversion did, for people.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "convert.h"

namespace skiff::cli {

/// Times the steps of a conversion: the next one begins where the last ends.
class StepTimes {
 public:
  void Begin(const std::string& step);
  void End();
  const std::vector<std::pair<std::string, double>>& milliseconds() const { return milliseconds_; }

 private:
  std::vector<std::pair<std::string, double>> milliseconds_;
  std::chrono::steady_clock::time_point started_;
  bool running_ = false;
};

std::string ConversionSummary(const std::string& path, const ConvertResult& result, const StepTimes& times,
                              const std::vector<std::pair<std::string, double>>& pass_ms);

}  // namespace skiff::cli
