/// Tensors in files: what inputs may be read from, and what outputs are written to.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "graph/graph.h"
#include "run/sizes.h"
#include "skiff/model.h"

namespace skiff {

/// The whole content, of a regular file or a pipe. Throws Error (kIo) naming the path and the system's
/// reason, and where it is a folder, a socket or a device; kInvalidArgument where it has more than `most`
/// bytes.
std::string ReadFile(const std::string& path, uint64_t most = UINT64_MAX);
/// Keys have a few hundred.
inline constexpr uint64_t kMostKeyBytes = uint64_t{64} << 10;

/// The elements of a view, and its quantisation, without gaps between its rows.
TensorData DenseCopy(const TensorView& view);

/// Reads the value of an input by the file's extension: .npy, .npz (the array of its name, or the only one),
/// .pb (ONNX TensorProto), .bin (raw little-endian
/// elements of the input's dtype and shape), or a picture (.jpg .jpeg .png). `sizes` are those of open
/// dimensions, which only .bin needs. f32 in a file for a quantised input stays what it is (see
/// QuantizedAs()). Throws Error, also where dtype or shape are not the input's.
TensorData ReadInput(const std::string& path, const PortInfo& port, const SymbolSizes& sizes = {});
/// Reads any tensor from .npy, .npz or .pb, or from .bin as `type` and `sizes` say.
TensorData ReadTensor(const std::string& path, const PortInfo& type, const SymbolSizes& sizes = {});

/// Real numbers, f32, as the integers of a quantised input.
TensorData QuantizedAs(const PortInfo& port, const TensorData& reals);

/// Writes a .npy file atomically. Throws Error (kIo).
void WriteNpy(const std::string& path, const TensorView& tensor);

/// A tensor's name as a file name: anything but letters, digits, '_', '-' and '.' becomes '_'. Never empty,
/// never hidden, at most 100 characters.
std::string FileNameOf(const std::string& tensor_name);
/// By tensor; what would be one file name is NAME, NAME_2, ...
std::map<std::string, std::string> DistinctFileNames(const std::set<std::string>& tensor_names);

}  // namespace skiff
