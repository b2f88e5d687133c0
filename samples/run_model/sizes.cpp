#include "sizes.h"

#include <cstdio>
#include <new>

#include "nearest.h"

bool Sizes::Init(const skiff::Model& model) {
  symbols_ = model.symbols();
  sizes_.reset(new (std::nothrow) int64_t[symbols_.size() + 1]);
  if (!sizes_) {
    std::fprintf(stderr, "skiff-run: error: no memory for the sizes of %zu dimensions\n", symbols_.size());
    return false;
  }
  for (size_t i = 0; i < symbols_.size(); ++i) sizes_[i] = -1;
  return true;
}

bool Sizes::Say(const NamedSize& said, skiff::Span<const skiff::PortInfo> ports) {
  bool found = false;
  Nearest nearest(said.name, said.name_length);
  for (const skiff::PortInfo& port : ports) {
    for (int axis = 0; axis < port.shape.rank(); ++axis) {
      const int32_t symbol = port.symbols[axis];
      if (symbol < 0) continue;
      nearest.Offer(NameOf(symbol));
      if (!IsNamed(NameOf(symbol), said.name, said.name_length)) continue;
      At(symbol) = said.size;
      found = true;
    }
  }
  if (found) return true;
  std::fprintf(stderr,
               "skiff-run: error: --dim %s: the model has no such open dimension; it has:", said.name);
  for (const skiff::PortInfo& port : ports) PrintOpen(port, " '%s'");
  nearest.Print();
  std::fprintf(stderr, "\n");
  return false;
}

void Sizes::Take(const skiff::PortInfo& port, const skiff::Shape& shape) {
  for (int axis = 0; axis < port.shape.rank() && axis < shape.rank(); ++axis) {
    if (port.symbols[axis] >= 0) At(port.symbols[axis]) = shape[axis];
  }
}

void Sizes::Choose(const skiff::PortInfo& port) {
  for (int axis = 0; axis < port.shape.rank(); ++axis) {
    if (port.symbols[axis] < 0 || At(port.symbols[axis]) >= 0) continue;
    const skiff::SymbolInfo& symbol = symbols_[static_cast<size_t>(port.symbols[axis])];
    const int64_t least = symbol.min > 1 ? symbol.min : 1;
    const int64_t size = (least + symbol.multiple - 1) / symbol.multiple * symbol.multiple;
    At(port.symbols[axis]) = size;
    std::fprintf(stderr, "note: %s=%lld, as no option says it; --dim '%s=N' says otherwise\n", symbol.name,
                 static_cast<long long>(size), symbol.name);
  }
}

skiff::Shape Sizes::ShapeOf(const skiff::PortInfo& port) const {
  skiff::Shape shape = port.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0 && port.symbols[axis] >= 0) shape[axis] = of(static_cast<size_t>(port.symbols[axis]));
  }
  return shape;
}

void Sizes::PrintOpen(const skiff::PortInfo& port, const char* format) const {
  for (int axis = 0; axis < port.shape.rank(); ++axis) {
    if (port.symbols[axis] >= 0 && of(static_cast<size_t>(port.symbols[axis])) < 0)
      std::fprintf(stderr, format, NameOf(port.symbols[axis]));
  }
}
