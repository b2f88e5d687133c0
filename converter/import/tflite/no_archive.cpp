// Stands in for the reader of archives where there is no minizip to read them with.
#include "graph/error.h"
#include "import/tflite/archive.h"

namespace skiff {

std::string ReadArchived(Span<const uint8_t>, const std::string& name, uint64_t) {
  Throw(StatusCode::kUnsupported, "'{}': this build of Skiff cannot read archives; convert on the host",
        name);
}

std::vector<std::string> ArchivedNames(Span<const uint8_t>) {
  Throw(StatusCode::kUnsupported, "this build of Skiff cannot read archives; convert on the host");
}

}  // namespace skiff
