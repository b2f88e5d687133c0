#include "trace/tensor_spec.h"

#include <regex>

#include "graph/error.h"

namespace skiff::eager {
namespace {

constexpr size_t kMostCharacters = 1000;

[[noreturn]] void Refuse(std::string_view text, const std::string& why) {
  Throw(
      StatusCode::kInvalidArgument,
      "the type '{}' is not understood: {}. Write it as dtype[extents], for example f32[batch, seq<=128, 20]",
      text, why);
}

int64_t Number(std::string_view text, const std::string& digits) {
  if (digits.size() > 15) Refuse(text, fmt::format("'{}' is too large", digits));
  return std::stoll(digits);
}

DimSpec ParseDim(std::string_view text, const std::string& dim, size_t axis) {
  // The matching recurses for each character.
  if (dim.size() > kMostCharacters)
    Refuse(text.substr(0, kMostCharacters), fmt::format("an extent has {} characters", dim.size()));
  static const std::regex number("\\d+");
  static const std::regex symbol(
      "([A-Za-z_][A-Za-z0-9_.]*|\\?)(?:<=(\\d+)|=(\\d+)\\.\\.(\\d*))?(?:%(\\d+))?");
  if (std::regex_match(dim, number)) return {"", DimRange(Number(text, dim))};
  std::smatch parts;
  if (!std::regex_match(dim, parts, symbol))
    Refuse(text, dim.empty() ? "an extent is empty"
                             : fmt::format("the extent '{}' is no number, name or range", dim));
  DimSpec spec{parts[1], {}};
  if (spec.name == "?") spec.name = fmt::format("?{}", axis);
  if (parts[2].matched) spec.range.max = Number(text, parts[2]);
  if (parts[3].matched) spec.range.min = Number(text, parts[3]);
  if (parts[4].length() > 0) spec.range.max = Number(text, parts[4]);
  if (parts[5].matched) spec.range.multiple = Number(text, parts[5]);
  if (spec.range.max < spec.range.min || spec.range.multiple < 1)
    Refuse(text, fmt::format("no size is in '{}'", dim));
  return spec;
}

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string DimText(const DimSpec& dim) {
  if (!dim.open()) return std::to_string(dim.size());
  std::string text = dim.name[0] == '?' ? "?" : dim.name;
  const bool bounded = dim.range.max != Symbol::kUnbounded;
  if (dim.range.min != 1) {
    text += fmt::format("={}..{}", dim.range.min, bounded ? std::to_string(dim.range.max) : "");
  } else if (bounded) {
    text += fmt::format("<={}", dim.range.max);
  }
  return dim.range.multiple == 1 ? text : fmt::format("{}%{}", text, dim.range.multiple);
}

}  // namespace

std::string TensorSpec::Text() const {
  std::vector<std::string> texts;
  for (const DimSpec& dim : dims) texts.push_back(DimText(dim));
  return fmt::format("{}[{}]", DTypeName(dtype), fmt::join(texts, ", "));
}

TensorSpec ParseTensorSpec(std::string_view text) {
  const std::string trimmed = Trim(std::string(text));
  const size_t open = trimmed.find('[');
  if (open == std::string::npos || trimmed.back() != ']') Refuse(text, "there are no [extents]");
  TensorSpec spec;
  spec.dtype = DTypeFromName(Trim(trimmed.substr(0, open)).c_str());
  if (spec.dtype == DType::kInvalid)
    Refuse(text, fmt::format("there is no dtype '{}'", trimmed.substr(0, open)));
  const std::string extents = Trim(trimmed.substr(open + 1, trimmed.size() - open - 2));
  for (size_t begin = 0; !extents.empty() && begin <= extents.size();) {
    const size_t end = std::min(extents.find(',', begin), extents.size());
    spec.dims.push_back(ParseDim(text, Trim(extents.substr(begin, end - begin)), spec.dims.size()));
    begin = end + 1;
  }
  if (spec.dims.size() > kMaxRank) Refuse(text, fmt::format("a tensor has at most {} dimensions", kMaxRank));
  return spec;
}

int MatchTypes(const std::vector<TensorSpec>& types, const Tensors& tensors) {
  if (tensors.size() != types.size()) return -1;
  int open = 0;
  // Few Symbols in few arguments: a list is faster than a map.
  std::pair<const std::string*, int64_t> sizes[16];
  size_t known = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorData& data = tensors[i].data();
    const Shape& shape = data.shape();
    if (data.dtype() != types[i].dtype || shape.rank() != static_cast<int>(types[i].dims.size())) return -1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const DimSpec& dim = types[i].dims[static_cast<size_t>(axis)];
      if (!dim.open()) {
        if (shape[axis] != dim.size()) return -1;
        continue;
      }
      ++open;
      const DimRange& range = dim.range;
      if (shape[axis] < range.min || shape[axis] > range.max || shape[axis] % range.multiple != 0) return -1;
      size_t s = 0;
      while (s < known && *sizes[s].first != dim.name) ++s;
      if (s < known && sizes[s].second != shape[axis]) return -1;
      // Beyond the list's end the Session compares, and refuses.
      if (s == known && known < std::size(sizes)) sizes[known++] = {&dim.name, shape[axis]};
    }
  }
  return open;
}

TensorSpec SpecOf(const Tensor& tensor) {
  TensorSpec spec;
  if (!tensor.symbolic() && tensor.data().quantization()) {
    Throw(StatusCode::kUnsupported,
          "a Function takes no quantised tensors as arguments; call it with Dequantize(x), or Quantize() "
          "inside of it");
  }
  spec.dtype = tensor.dtype();
  for (const int64_t extent : tensor.shape()) spec.dims.push_back({"", DimRange(extent)});
  return spec;
}

}  // namespace skiff::eager
