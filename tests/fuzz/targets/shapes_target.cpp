// A CSV file of the shapes that calls had.
#include "graph/error.h"
#include "tests/fuzz/targets/target.h"
#include "tune/buckets.h"

namespace skiff::testing {

std::vector<std::string> FuzzSeeds() {
  return {"batch,seq,count\n1,16,5\n2,32,1\n", "seq\n7\n\n8\n", "count,n\r\n1,2\r\n", "a,\"b\"\n1,2"};
}

}  // namespace skiff::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  try {
    const testing::BytesAsFile file(data, size);
    const ObservedShapes shapes = ReadObservedShapes(file.path());
    testing::Require(!shapes.rows.empty(), "a list without rows was read");
    for (const ObservedShapes::Row& row : shapes.rows) {
      for (const auto& [name, value] : row.sizes) testing::Require(value >= 0, "'" + name + "' is negative");
    }
  } catch (const Error&) {
  }
  return 0;
}
