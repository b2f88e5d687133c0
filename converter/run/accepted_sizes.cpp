#include "run/accepted_sizes.h"

#include <algorithm>

#include "graph/error.h"

namespace skiff {
namespace {

/// Sizes that nets are made for, where they are not for all: windows, patches, pictures, frames of sound.
constexpr int64_t kCommonSizes[] = {1,   0,   2,   3,   4,   5,   6,   7,   8,   10,  12,  16,   20,  24,
                                    32,  40,  48,  50,  64,  80,  96,  100, 112, 128, 160, 192,  224, 256,
                                    320, 384, 400, 416, 480, 512, 576, 640, 768, 800, 960, 1024, 1600};

/// The size in the contract that is next to `wanted`; 0 is the smallest.
int64_t InContract(const SymbolInfo& symbol, int64_t wanted) {
  const int64_t least = std::max(wanted, std::max<int64_t>(symbol.min, 1));
  const int64_t up = (least + symbol.multiple - 1) / symbol.multiple * symbol.multiple;
  const int64_t most = symbol.max / symbol.multiple * symbol.multiple;
  return std::max(std::min(up, most), std::min(symbol.min, most));
}

std::vector<int64_t> AllAt(const SymbolSizes& said, int64_t size) {
  std::vector<int64_t> sizes = said.sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (said.own[i] && sizes[i] < 0) sizes[i] = InContract(said.symbols[i], size);
  }
  return sizes;
}

/// Whether inputs of these sizes are small enough to be tried.
bool IsSmall(const ModelSignature& signature, const std::vector<int64_t>& sizes) {
  constexpr double kMostElements = 1 << 24;
  double elements = 0;
  for (const PortInfo& port : signature.info().inputs) {
    double product = 1;
    for (const int64_t extent : SizedShape(signature.model(), port, sizes))
      product *= static_cast<double>(extent);
    elements += product;
  }
  return elements <= kMostElements;
}

std::string OptionsText(const SymbolSizes& said, const std::string& option) {
  std::string text;
  for (size_t i = 0; i < said.sizes.size(); ++i) {
    if (said.own[i] && said.sizes[i] < 0)
      text += fmt::format("{}{} '{}=N'", text.empty() ? "" : " ", option, said.symbols[i].name);
  }
  return text;
}

}  // namespace

std::vector<int64_t> AcceptedSizes(const ModelSignature& signature, const SymbolSizes& said, int64_t wanted,
                                   const std::string& option, const WhyRefusedAt& why_refused) {
  if (!said.Open()) return said.sizes;
  std::vector<int64_t> sizes = ClosedSizes(signature, said, wanted);
  const std::string first = SizesText(said.symbols, sizes);
  const std::string refusal = why_refused(sizes);
  if (refusal.empty()) return sizes;
  for (const int64_t size : kCommonSizes) {
    sizes = AllAt(said, size);
    if (!IsSmall(signature, sizes) || !why_refused(sizes).empty()) continue;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!said.own[i] || said.sizes[i] >= 0) continue;
      std::vector<int64_t> smaller = sizes;
      smaller[i] = InContract(said.symbols[i], 1);
      if (smaller[i] < sizes[i] && why_refused(smaller).empty()) sizes = smaller;
    }
    return sizes;
  }
  Throw(StatusCode::kInvalidArgument,
        "no sizes are known that the net takes for its open dimensions; say them with {} (at {}: {})",
        OptionsText(said, option), first, refusal);
}

std::string ChosenSizesText(const SymbolSizes& said, const std::vector<int64_t>& chosen,
                            const std::string& option) {
  std::vector<int64_t> own = chosen;
  for (size_t i = 0; i < own.size(); ++i) {
    if (!said.own[i] || said.sizes[i] >= 0) own[i] = -1;
  }
  const std::string text = SizesText(said.symbols, own);
  return text.empty()
             ? ""
             : fmt::format("{}, as no option says it; {} says otherwise", text, OptionsText(said, option));
}

}  // namespace skiff
