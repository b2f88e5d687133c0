#include "import/onnx/external_data.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "graph/error.h"

namespace skiff {
namespace {

namespace fs = std::filesystem;

struct ExternalPlace {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

ExternalPlace ReadExternalPlace(const onnx::TensorProto& tensor, const std::string& label) {
  ExternalPlace place;
  for (const auto& entry : tensor.external_data()) {
    const std::string& text = entry.value();
    if (entry.key() == "location") {
      place.location = text;
    } else if (entry.key() == "offset" || entry.key() == "length") {
      int64_t number = -1;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size() || number < 0) {
        Throw(StatusCode::kInvalidModel,
              "the external data of tensor '{}' has the {} '{}'; a number from 0 was expected", label,
              entry.key(), text);
      }
      if (entry.key() == "offset") {
        place.offset = number;
      } else {
        place.length = number;
      }
    }
  }
  return place;
}

bool IsInside(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

/// Whether the model is a link into the folder of the file: caches of downloads have all files in one folder,
/// and links to them in others.
bool LiesBesideTarget(const fs::path& file, const std::string& model) {
  std::error_code error;
  const fs::path target = fs::canonical(model, error);
  return !error && IsInside(file, target.parent_path());
}

/// The file of external data. Anything that could lead out of the model's folder is refused: absolute paths,
/// "..", and symbolic links whose target lies elsewhere.
fs::path ResolveExternal(const std::string& location, const std::string& folder, const std::string& model,
                         const std::string& label) {
  if (folder.empty()) {
    Throw(StatusCode::kInvalidModel,
          "tensor '{}' keeps its data in the file '{}', but the model is not read from a folder", label,
          location);
  }
  if (const size_t end = location.find('\0'); end != std::string::npos) {
    Throw(StatusCode::kInvalidModel,
          "the location of the external data of tensor '{}' has a NUL behind '{}'; a path without one was "
          "expected",
          label, location.substr(0, end));
  }
  const fs::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end();
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) Throw(StatusCode::kIo, "the model's folder '{}' cannot be read: {}", folder, error.message());
  bool inside = !location.empty() && !relative.is_absolute() && !climbs;
  fs::path file;
  if (inside) {
    file = fs::canonical(root / relative, error);
    if (error) {
      Throw(StatusCode::kIo,
            "the external data file '{}' of tensor '{}' cannot be read: {}. It must lie beside the model, in "
            "'{}'",
            location, label, error.message(), folder);
    }
    inside = IsInside(file, root) || LiesBesideTarget(file, model);
  }
  if (!inside) {
    Throw(StatusCode::kInvalidModel,
          "the external data of tensor '{}' lies at '{}', outside the model's folder '{}'; move it there and "
          "export again",
          label, location, folder);
  }
  if (!fs::is_regular_file(file, error)) {
    Throw(StatusCode::kIo, "the external data '{}' of tensor '{}' is not a regular file", location, label);
  }
  return file;
}

/// Checks what the model claims about the bytes. Returns the size of the file.
int64_t CheckPlace(const fs::path& file, const ExternalPlace& place, int64_t bytes,
                   const std::string& label) {
  std::error_code error;
  const auto file_size = static_cast<int64_t>(fs::file_size(file, error));
  if (error || place.offset > file_size || bytes > file_size - place.offset) {
    Throw(StatusCode::kInvalidModel,
          "the external data file '{}' has {} bytes, but tensor '{}' needs {} bytes from offset {}; the file "
          "is damaged or truncated",
          place.location, file_size, label, bytes, place.offset);
  }
  return file_size;
}

}  // namespace

TensorData ExternalData::Read(const onnx::TensorProto& tensor, const Shape& shape, const FileForm& form,
                              const std::string& label, const Finish& finish) {
  const ExternalPlace place = ReadExternalPlace(tensor, label);
  const fs::path path = ResolveExternal(place.location, folder_, model_, label);
  const int64_t bytes = ElementBytes(form.dtype, form.shape.elements());
  if (place.length && *place.length != bytes) {
    Throw(StatusCode::kInvalidModel,
          "tensor '{}' of {} {} needs {} bytes, but {} are stored; the file is damaged or truncated", label,
          DTypeName(form.dtype), ShapeText(form.shape).c_str(), bytes, *place.length);
  }
  const int64_t file_size = CheckPlace(path, place, bytes, label);
  TensorData& data = read_[{path.string(), place.offset, tensor.data_type(), shape.elements()}];
  if (data.dtype() != DType::kInvalid) return data.Reshaped(shape);
  int64_t& left =
      bytes_left_.try_emplace(path.string(), kMostShared * std::min(file_size, INT64_MAX / kMostShared))
          .first->second;
  const int64_t own = std::min(bytes, left);
  left -= own;
  TensorData elements(form.dtype, form.shape);
  std::ifstream file(path, std::ios::binary);
  if (!file.seekg(place.offset) || !file.read(static_cast<char*>(elements.mutable_data()),
                                              static_cast<std::streamsize>(elements.size_bytes()))) {
    Throw(StatusCode::kIo, "the external data file '{}' of tensor '{}' cannot be read: {}", place.location,
          label, std::strerror(errno));
  }
  bytes_read_ += bytes;
  data = finish(std::move(elements));
  // Finished elements may be wider than stored ones.
  if (own < bytes) overlap_left_ -= std::max(bytes, static_cast<int64_t>(data.size_bytes())) - own;
  if (overlap_left_ < 0) {
    Throw(StatusCode::kInvalidModel,
          "the external data file '{}' has {} bytes, but the tensors in it, which overlap, have more than {} "
          "times as many; store each tensor once",
          place.location, file_size, kMostShared);
  }
  return data;
}

}  // namespace skiff
