/// What a conversion did, for people.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "cli/json.h"
#include "convert.h"

namespace skiff::cli {

/// Times the steps of a conversion: the next one begins where the last ends. Those of one name are one.
class StepTimes {
 public:
  void Begin(const std::string& step);
  void End();
  const std::vector<std::pair<std::string, double>>& milliseconds() const { return milliseconds_; }

 private:
  std::vector<std::pair<std::string, double>> milliseconds_;
  std::chrono::steady_clock::time_point started_;
  size_t current_ = 0;
  bool running_ = false;
};

/// What is said of a conversion beside its summary; of which signature, where there are several.
struct Remarks {
  std::vector<std::string> notes;  ///< What was left out.
  std::vector<std::string> hints;
};
Remarks RemarksOn(const ConvertedFile& result);

std::string ConversionSummary(const std::string& path, const ConvertedFile& result, const StepTimes& times,
                              const std::vector<std::pair<std::string, double>>& pass_ms);

Json ConversionJson(const std::string& path, const ConvertedFile& result, const StepTimes& times,
                    const std::vector<std::pair<std::string, double>>& pass_ms);

}  // namespace skiff::cli
