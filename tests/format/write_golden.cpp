// Writes the golden file of the format version that this build writes: usage: write_golden FOLDER [--replace]
// A released version's file never changes; --replace is for one that is not released yet.
#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "core/error_capture.h"
#include "emit/write_model.h"
#include "format/container.h"
#include "graph/error.h"
#include "skiff/delegates.h"
#include "tests/format/golden_record.h"

namespace {

using namespace skiff;
using namespace skiff::testing;

void WriteText(const std::string& path, const std::string& text) {
  WriteFileAtomically(path, {text.begin(), text.end()});
  std::printf("%s: %zu bytes\n", path.c_str(), text.size());
}

void WriteGolden(const std::string& folder, bool replace) {
  const std::string path = GoldenPath(folder, format::kFormatVersion, "skiff");
  struct stat found;
  if (!replace && stat(path.c_str(), &found) == 0)
    Throw(StatusCode::kInvalidArgument,
          "{} exists; the file of a released version stays as it is (before the release: --replace)", path);
  const GoldenModel golden = MakeGoldenModel();
  WriteText(path, {golden.file.begin(), golden.file.end()});
  ErrorCapture capture;
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  const auto opened = Model::Open(path.c_str(), options);
  if (!opened.ok()) Throw(opened.status().code(), "{}", capture.message());
  nlohmann::json record = {{"model", Describe(*opened.value())}, {"calls", nlohmann::json::array()}};
  for (const GoldenCall& call : golden.calls) record["calls"].push_back(CallToJson(call));
  WriteText(GoldenPath(folder, format::kFormatVersion, "json"), record.dump(1) + "\n");
}

}  // namespace

int main(int count, char** arguments) {
  const bool replace = count == 3 && std::strcmp(arguments[2], "--replace") == 0;
  if (count < 2 || count > 3 || (count == 3 && !replace)) {
    std::fprintf(stderr, "usage: %s FOLDER [--replace]\n", arguments[0]);
    return 2;
  }
  try {
    WriteGolden(arguments[1], replace);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
