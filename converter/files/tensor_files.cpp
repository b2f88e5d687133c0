#include "files/tensor_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "emit/write_model.h"
#include "files/image.h"
#include "files/input_type.h"
#include "files/npy.h"
#include "files/npz.h"
#include "graph/counted.h"
#include "graph/distinct_names.h"
#include "graph/error.h"
#include "graph/must.h"
#include "graph/nearest.h"
#include "import/onnx/import_onnx.h"
#include "skiff/quantize.h"

namespace skiff {
namespace {

namespace fs = std::filesystem;

TensorData ReadRaw(const std::string& path, const PortInfo& type, const SymbolSizes& sizes) {
  if (const std::string missing = sizes.MissingOptions(type); !missing.empty()) {
    Throw(StatusCode::kInvalidArgument,
          "{}: raw elements have no shape, and '{}' is {}; say its sizes with {}, or use .npy", path,
          type.name, sizes.TypeText(type), missing);
  }
  const std::string bytes = ReadFile(path);
  const auto wanted = static_cast<size_t>(type.shape.elements() * DTypeSize(type.dtype));
  if (bytes.size() != wanted) {
    Throw(StatusCode::kInvalidArgument, "{}: '{}' is {} {}, which is {} bytes; the file has {}", path,
          type.name, DTypeName(type.dtype), ShapeText(type.shape).c_str(), wanted, bytes.size());
  }
  return TensorData(type.dtype, type.shape, bytes.data());
}

TensorData ReadPb(const std::string& path, const PortInfo&, const SymbolSizes&) {
  return ReadTensorProto(path);
}
TensorData ReadNpyFile(const std::string& path, const PortInfo&, const SymbolSizes&) { return ReadNpy(path); }
/// The array of the tensor's name, or the only one.
TensorData ReadFromNpz(const std::string& path, const PortInfo& port, const SymbolSizes&) {
  const std::string wanted = port.name == nullptr ? "" : port.name;
  const auto choose = [&](const std::vector<std::string>& names) -> std::set<std::string> {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) return {wanted};
    if (names.size() == 1) return {names[0]};
    constexpr size_t kMostNamed = 20;
    Throw(StatusCode::kInvalidArgument, "has no array '{}'; it has '{}'{}{}", wanted,
          fmt::join(names.begin(),
                    names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed)), "', '"),
          AndMore(names.size(), kMostNamed), DidYouMean(wanted, names));
  };
  return ReadNpz(path, choose).begin()->second;
}
TensorData ReadPicture(const std::string& path, const PortInfo& port, const SymbolSizes&) {
  return ReadImage(path, port);
}

struct Reader {
  const char* extension;
  TensorData (*read)(const std::string& path, const PortInfo& type, const SymbolSizes& sizes);
  bool picture = false;
};
constexpr Reader kReaders[] = {{".npy", ReadNpyFile},
                               {".npz", ReadFromNpz},
                               {".pb", ReadPb},
                               {".bin", ReadRaw},
                               {".png", ReadPicture, true},
                               {".jpg", ReadPicture, true},
                               {".jpeg", ReadPicture, true},
                               // Refused, by what they are.
                               {".bmp", ReadPicture, true},
                               {".gif", ReadPicture, true},
                               {".webp", ReadPicture, true}};

const Reader& ReaderOf(const std::string& path, bool pictures) {
  if (path.empty()) Throw(StatusCode::kInvalidArgument, "the name of a file is missing");
  std::string extension = fs::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const auto* found = std::find_if(std::begin(kReaders), std::end(kReaders), [&](const Reader& reader) {
    return extension == reader.extension && (pictures || !reader.picture);
  });
  if (found == std::end(kReaders)) {
    Throw(StatusCode::kInvalidArgument, "{}: unknown kind of file '{}'; known are .npy, .npz, .pb, .bin{}",
          path, extension, pictures ? ", .png, .jpg and .jpeg" : "");
  }
  return *found;
}

/// A file may hold any bytes; of bools kernels take 0 and 1 for granted.
TensorData WithWholeBools(TensorData tensor) {
  if (tensor.dtype() != DType::kBool) return tensor;
  auto* const bytes = static_cast<uint8_t*>(tensor.mutable_data());
  std::transform(bytes, bytes + tensor.elements(), bytes, [](uint8_t byte) { return byte != 0 ? 1 : 0; });
  return tensor;
}

}  // namespace

TensorData ReadInput(const std::string& path, const PortInfo& port, const SymbolSizes& sizes) {
  const PortInfo sized = sizes.Sized(port);
  TensorData tensor = WithWholeBools(ReaderOf(path, true).read(path, sized, sizes));
  CheckInputType(path, tensor, port, sizes);
  return tensor;
}

TensorData ReadTensor(const std::string& path, const PortInfo& type, const SymbolSizes& sizes) {
  return WithWholeBools(ReaderOf(path, false).read(path, sizes.Sized(type), sizes));
}

TensorData QuantizedAs(const PortInfo& port, const TensorData& reals) {
  TensorData integers = TensorData(port.dtype, reals.shape()).Quantized(CopyOf(port.quantization));
  Must([&] {
    return QuantizeFloats(reals.as<float>(),
                          TensorView(integers.mutable_data(), port.dtype, reals.shape(), port.quantization));
  });
  return integers;
}

void WriteNpy(const std::string& path, const TensorView& tensor) {
  WriteFileAtomically(path, FormatNpy(tensor));
}

std::string FileNameOf(const std::string& tensor_name) {
  constexpr size_t kLongest = 100;
  std::string name = tensor_name.substr(0, kLongest);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
  }
  return name.empty() || name[0] == '.' ? fmt::format("_{}", name) : name;
}

std::map<std::string, std::string> DistinctFileNames(const std::set<std::string>& tensor_names) {
  DistinctNames distinct;
  std::map<std::string, std::string> files;
  for (const std::string& name : tensor_names) files[name] = distinct.Take(FileNameOf(name));
  return files;
}

}  // namespace skiff
