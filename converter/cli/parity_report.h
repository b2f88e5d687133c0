/// A parity report as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "parity/parity.h"

namespace skiff::cli {

/// The first thing that differs: "output 'y' of xnnpack differs from eager: ..."; "" when nothing does.
std::string FailureText(const ParityReport& report);
/// One line: "PARITY OK ..." or "PARITY FAILED ..." with the worst tensor.
std::string Verdict(const ParityReport& report);
/// Tables of outputs and layers; ends with the verdict, in front of which stands whose it is: `of`, where
/// there are several.
std::string ParityText(const ParityReport& report, const std::string& of = "");
nlohmann::ordered_json ParityJson(const ParityReport& report);

}  // namespace skiff::cli
