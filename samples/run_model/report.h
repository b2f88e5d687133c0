/// What came of a call, as text or as JSON.
#pragma once

#include "arguments.h"
#include "files.h"
#include "sizes.h"

/// Of the timed runs, in nanoseconds.
struct BenchTimes {
  size_t runs = 0;
  double min = 0;
  double median = 0;
  double p90 = 0;
};

struct Times {
  double open = 0;
  double session = 0;
  double first_run = 0;
  BenchTimes bench;
};

/// One output beside what was expected.
struct Compared {
  Difference found;
  bool ok = false;
};

/// Resident memory of the process at its peak so far; 0 where the system does not tell.
long PeakResidentKilobytes();
/// Prints what came of the call, and writes its outputs to files, where they shall be. `compared`: of each of
/// the expected outputs. False after a message.
bool PrintText(const Arguments& arguments, const skiff::Session& session, const Times& times,
               const Compared* compared, long kilobytes_before);
/// As 'skiff run --json' (docs/json.md), and what only this program measures.
bool PrintJson(const Arguments& arguments, const skiff::Session& session, const Sizes& sizes,
               const Times& times, const Compared* compared);
