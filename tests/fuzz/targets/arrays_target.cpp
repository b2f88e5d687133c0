// NumPy's files: one array, or an archive of several; what was read survives being written and read again.
#include <cstring>

#include "files/npy.h"
#include "files/npz.h"
#include "graph/error.h"
#include "tests/fuzz/targets/target.h"

namespace skiff::testing {
namespace {

std::string Npy(DType dtype, const Shape& shape) {
  TensorData tensor(dtype, shape);
  std::memset(tensor.mutable_data(), 1, static_cast<size_t>(tensor.view().bytes()));
  const std::vector<uint8_t> file = FormatNpy(tensor.view());
  return {file.begin(), file.end()};
}

void AppendWord(std::string& bytes, uint64_t word, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(word >> 8 * i);
}

uint32_t Crc(const std::string& bytes) {
  uint32_t sum = ~uint32_t{0};
  for (const char byte : bytes) {
    sum ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum % 2 == 1 ? 0xEDB88320 : 0);
  }
  return ~sum;
}

/// An archive with one array, stored as it is.
std::string Npz(const std::string& array) {
  const std::string name = "x.npy";
  std::string fields;
  AppendWord(fields, 20, 2);  // Version.
  AppendWord(fields, 0, 8);   // Flags, method, time, date.
  AppendWord(fields, Crc(array), 4);
  AppendWord(fields, array.size(), 4);
  AppendWord(fields, array.size(), 4);
  AppendWord(fields, name.size(), 2);
  AppendWord(fields, 0, 2);  // No extra field.
  std::string file = "PK\3\4" + fields + name + array;
  const size_t directory = file.size();
  std::string entry = "PK\1\2";
  AppendWord(entry, 20, 2);
  entry += fields;
  AppendWord(entry, 0, 6);  // Comment, disk, attributes.
  AppendWord(entry, 0, 8);  // Attributes, offset.
  file += entry + name + "PK\5\6";
  AppendWord(file, 0, 4);
  AppendWord(file, 1, 2);
  AppendWord(file, 1, 2);
  AppendWord(file, entry.size() + name.size(), 4);
  AppendWord(file, directory, 4);
  AppendWord(file, 0, 2);
  return file;
}

void ReadArray(const uint8_t* data, size_t size) {
  const TensorData tensor = ParseNpy({reinterpret_cast<const char*>(data), size}, "input");
  const std::vector<uint8_t> written = FormatNpy(tensor.view());
  const TensorData again =
      ParseNpy({reinterpret_cast<const char*>(written.data()), written.size()}, "written");
  Require(again.dtype() == tensor.dtype() && again.shape() == tensor.shape(),
          "a written array has another type");
  Require(tensor.elements() == 0 || std::memcmp(again.view().data, tensor.view().data,
                                                static_cast<size_t>(tensor.view().bytes())) == 0,
          "a written array has other elements");
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {Npy(DType::kF32, {2, 3}),    Npy(DType::kI64, {4}),   Npy(DType::kBool, {}),
          Npy(DType::kF16, {1, 2, 3}), Npy(DType::kU8, {0, 5}), Npz(Npy(DType::kF32, {2}))};
}

}  // namespace skiff::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  try {
    if (size > 2 && data[0] == 'P' && data[1] == 'K') {
      const testing::BytesAsFile file(data, size);
      static_cast<void>(ReadNpz(
          file.path(), [](const auto& names) { return std::set<std::string>(names.begin(), names.end()); }));
    } else {
      testing::ReadArray(data, size);
    }
  } catch (const Error&) {
  }
  return 0;
}
