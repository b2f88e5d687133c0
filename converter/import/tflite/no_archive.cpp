// Stands in for the reader of archives where there is no minizip to read them with.
#include "graph/error.h"
#include "import/tflite/archive.h"

namespace skiff {

Archive::Archive(Span<const uint8_t>) {}

std::string Archive::Read(const std::string& name, uint64_t&, const char*) const {
  Throw(StatusCode::kUnsupported, "'{}': this build of Skiff cannot read archives; convert on the host",
        name);
}

const std::vector<std::string>& Archive::Names() const {
  Throw(StatusCode::kUnsupported, "this build of Skiff cannot read archives; convert on the host");
}

}  // namespace skiff
