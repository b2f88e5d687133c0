/// Parity at several sizes as one table and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "parity/parity.h"

namespace skiff::cli {

struct SizedReport {
  std::vector<int64_t> sizes;  ///< By Symbol of the model.
  ParityReport report;
  int step = 0;  ///< Of a net with state: which run, from 1 on; 0 where there is one.
};

/// One line: "PARITY OK ..." or "PARITY FAILED ..." with the first case that fails.
std::string SweepVerdict(const ModelSignature& signature, const std::vector<SizedReport>& cases);
/// Whether every case holds, and at least one was compared at all.
bool SweepOk(const std::vector<SizedReport>& cases);
/// One row for each case and backend, the cases that fail in detail, the verdict (see ParityText).
std::string SweepText(const ModelSignature& signature, const std::vector<SizedReport>& cases,
                      const std::string& of = "");
nlohmann::ordered_json SweepJson(const ModelSignature& signature, const std::vector<SizedReport>& cases);

}  // namespace skiff::cli
