/// The sizes of a model's open dimensions in a call.
#pragma once

#include <memory>

#include "arguments.h"

class Sizes {
 public:
  /// Nothing is said yet. False where there is no memory.
  bool Init(const skiff::Model& model);
  /// False after a message: no input has such a dimension.
  bool Say(const NamedSize& said, skiff::Span<const skiff::PortInfo> ports);
  /// Those that a port has in this shape.
  void Take(const skiff::PortInfo& port, const skiff::Shape& shape);
  /// The smallest size that is not 0, for what nobody has said; says so.
  void Choose(const skiff::PortInfo& port);
  /// -1 remains for what is not known.
  skiff::Shape ShapeOf(const skiff::PortInfo& port) const;
  /// The names of its dimensions whose sizes are not known, each as `format` has it.
  void PrintOpen(const skiff::PortInfo& port, const char* format) const;
  skiff::Span<const skiff::SymbolInfo> symbols() const { return symbols_; }
  /// -1 where nobody has said it.
  int64_t of(size_t symbol) const { return sizes_[symbol]; }

 private:
  const char* NameOf(int32_t symbol) const { return symbols_[static_cast<size_t>(symbol)].name; }
  int64_t& At(int32_t symbol) { return sizes_[static_cast<size_t>(symbol)]; }

  skiff::Span<const skiff::SymbolInfo> symbols_;
  std::unique_ptr<int64_t[]> sizes_;
};
