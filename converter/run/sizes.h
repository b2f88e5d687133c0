/// Sizes of a model's open dimensions: as text on the command line, and for messages.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/error.h"
#include "run/model_signature.h"

namespace skiff {

/// By the Symbol's name.
using NamedSizes = std::map<std::string, int64_t>;
/// By the input's name.
using NamedShapes = std::map<std::string, std::vector<int64_t>>;

/// The Symbols of a Model with the size of each, -1 where it is not known, for a call of one signature.
struct SymbolSizes {
  Span<const SymbolInfo> symbols;
  std::vector<int64_t> sizes;
  std::vector<bool> own;          ///< Whether it is a Symbol of the signature.
  std::vector<std::string> said;  ///< The option that says its size: "--dim batch=3"; "" where none does.

  SymbolSizes() = default;
  explicit SymbolSizes(const ModelSignature& signature);

  /// Whether the signature has an open dimension of this name.
  bool Has(const std::string& name) const { return Find(name) < symbols.size(); }
  /// Throws Error for a name that the signature does not have, and for a size beyond its contract; `option`
  /// begins the message.
  void Set(const NamedSizes& named, const std::string& option);
  /// What the shapes of some inputs say of them. Throws Error for an input that is not one of `ports`, for a
  /// shape that the model does not take, and for a size that was said otherwise.
  void SetShapes(const NamedShapes& shapes, Span<const PortInfo> ports);
  /// The sizes that a tensor for the port has.
  void Take(const PortInfo& port, const Shape& shape);
  /// The port with the sizes that are known; -1 remains for the others.
  PortInfo Sized(const PortInfo& port) const;
  /// "f32 [batch, 3, 7]": names stand for sizes that are not known.
  std::string TypeText(const PortInfo& port) const;
  /// Whether a size of the signature's is not known.
  bool Open() const;
  /// "--dim 'batch=N' --dim 'seq=N'": what would close a port.
  std::string MissingOptions(const PortInfo& port) const;

 private:
  size_t Find(const std::string& name) const;
};

/// "batch=2, seq=7"; "" for a model without Symbols.
std::string SizesText(Span<const SymbolInfo> symbols, const std::vector<int64_t>& sizes);
/// Makes a call whose Error then says at which sizes it happened, and by which option there are others.
template <class Call>
auto AtSizes(const std::string& sizes, const char* option, Call&& call) {
  try {
    return call();
  } catch (const Error& error) {
    if (sizes.empty()) throw;
    throw Error(error.code(), fmt::format("at {} ({} chooses other sizes): {}", sizes, option, error.what()));
  }
}

/// "1..512", "7", "1.." and, with a multiple, "8..512,multiple=8": as --dim takes it.
std::string RangeText(int64_t min, int64_t max, int64_t multiple = 1);
/// The axes of a port: "batch", "3", or "?" for what only the device knows.
std::vector<std::string> AxisTexts(Span<const SymbolInfo> symbols, const PortInfo& port);
/// " {scale=0.5}", fit for a line: of many scales only their number. "" for none.
std::string ShortQuantizationText(const Quantization* quantization);
/// "f32 [batch, 3, h]"
std::string OpenTypeText(Span<const SymbolInfo> symbols, const PortInfo& port);

}  // namespace skiff
