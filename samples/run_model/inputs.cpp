#include "inputs.h"

#include <cstdio>
#include <cstring>
#include <new>

#include "files.h"

namespace {

using Ports = skiff::Span<const skiff::PortInfo>;

bool IsNamed(const char* name, const char* text, int length) {
  return std::strlen(name) == static_cast<size_t>(length) &&
         std::memcmp(name, text, static_cast<size_t>(length)) == 0;
}

/// Names and files may both contain '=': the shortest prefix that names an input decides, as in 'skiff run'.
/// -1 after a message.
int PortOf(Ports ports, const char* argument, const char** file) {
  for (const char* at = std::strchr(argument, '='); at != nullptr; at = std::strchr(at + 1, '=')) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!IsNamed(ports[i].name, argument, static_cast<int>(at - argument))) continue;
      *file = at + 1;
      return static_cast<int>(i);
    }
  }
  *file = argument;
  const char* const equals = std::strchr(argument, '=');
  if (equals == nullptr && ports.size() == 1) return 0;
  if (equals != nullptr) return PortIndex(ports, argument, static_cast<int>(equals - argument));
  std::fprintf(stderr,
               "skiff-run: error: --input %s: the model has %zu inputs, so each needs NAME=FILE:", argument,
               ports.size());
  for (const skiff::PortInfo& port : ports) std::fprintf(stderr, " '%s'", port.name);
  std::fprintf(stderr, "\n");
  return -1;
}

/// The sizes of a model's Symbols: -1 where nobody has said them.
class Sizes {
 public:
  /// False where there is no memory.
  bool Init(const skiff::Model& model) {
    symbols_ = model.symbols();
    sizes_.reset(new (std::nothrow) int64_t[symbols_.size() + 1]);
    for (size_t i = 0; sizes_ && i < symbols_.size(); ++i) sizes_[i] = -1;
    return sizes_ != nullptr;
  }

  /// False after a message: no input has such a dimension.
  bool Say(const NamedSize& said, Ports ports) {
    bool found = false;
    for (const skiff::PortInfo& port : ports) {
      for (int axis = 0; axis < port.shape.rank(); ++axis) {
        const int32_t symbol = port.symbols[axis];
        if (symbol < 0 || !IsNamed(NameOf(symbol), said.name, said.name_length)) continue;
        sizes_[static_cast<size_t>(symbol)] = said.size;
        found = true;
      }
    }
    if (found) return true;
    std::fprintf(stderr,
                 "skiff-run: error: --dim %s: the model has no such open dimension; it has:", said.name);
    for (const skiff::PortInfo& port : ports) PrintOpen(port, " '%s'");
    std::fprintf(stderr, "\n");
    return false;
  }

  void Take(const skiff::PortInfo& port, const skiff::Shape& shape) {
    for (int axis = 0; axis < port.shape.rank() && axis < shape.rank(); ++axis) {
      if (port.symbols[axis] >= 0) sizes_[static_cast<size_t>(port.symbols[axis])] = shape[axis];
    }
  }

  /// The smallest size that is not 0, for what nobody has said; says so.
  void Choose(const skiff::PortInfo& port) {
    for (int axis = 0; axis < port.shape.rank(); ++axis) {
      if (port.symbols[axis] < 0 || sizes_[static_cast<size_t>(port.symbols[axis])] >= 0) continue;
      const skiff::SymbolInfo& symbol = symbols_[static_cast<size_t>(port.symbols[axis])];
      const int64_t least = symbol.min > 1 ? symbol.min : 1;
      const int64_t size = (least + symbol.multiple - 1) / symbol.multiple * symbol.multiple;
      sizes_[static_cast<size_t>(port.symbols[axis])] = size;
      std::printf("size: '%s' is %lld, as no option says it; --dim '%s=N' says otherwise\n", symbol.name,
                  static_cast<long long>(size), symbol.name);
    }
  }

  /// -1 remains for what is not known.
  skiff::Shape ShapeOf(const skiff::PortInfo& port) const {
    skiff::Shape shape = port.shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] < 0 && port.symbols[axis] >= 0)
        shape[axis] = sizes_[static_cast<size_t>(port.symbols[axis])];
    }
    return shape;
  }

  /// The names of its dimensions whose sizes are not known, each as `format` has it.
  void PrintOpen(const skiff::PortInfo& port, const char* format) const {
    for (int axis = 0; axis < port.shape.rank(); ++axis) {
      if (port.symbols[axis] >= 0 && sizes_[static_cast<size_t>(port.symbols[axis])] < 0)
        std::fprintf(stderr, format, NameOf(port.symbols[axis]));
    }
  }

 private:
  const char* NameOf(int32_t symbol) const { return symbols_[static_cast<size_t>(symbol)].name; }

  skiff::Span<const skiff::SymbolInfo> symbols_;
  std::unique_ptr<int64_t[]> sizes_;
};

bool IsOpen(const skiff::Shape& shape) {
  for (const int64_t extent : shape) {
    if (extent < 0) return true;
  }
  return false;
}

bool SaySizes(const Arguments& arguments, Ports ports, Sizes* sizes) {
  for (int i = 0; i < arguments.dim_count; ++i) {
    if (!sizes->Say(arguments.dims[i], ports)) return false;
  }
  for (int i = 0; i < arguments.shape_count; ++i) {
    const NamedShape& named = arguments.shapes[i];
    const int port = PortIndex(ports, named.name, named.name_length);
    if (port < 0) return false;
    sizes->Take(ports[static_cast<size_t>(port)], named.shape);
  }
  return true;
}

/// Of an input whose shape the options say whole, also where the model refuses it, which the buffer then
/// says.
skiff::Shape ShapeFor(const Arguments& arguments, const Sizes& sizes, const skiff::PortInfo& port) {
  for (int i = 0; i < arguments.shape_count; ++i) {
    const NamedShape& named = arguments.shapes[i];
    if (IsNamed(port.name, named.name, named.name_length)) return named.shape;
  }
  return sizes.ShapeOf(port);
}

bool SetFile(const Arguments& arguments, const char* argument, const Sizes& sizes, skiff::Session& session) {
  const Ports ports = session.signature().inputs;
  const char* file = nullptr;
  const int index = PortOf(ports, argument, &file);
  if (index < 0) return false;
  const skiff::PortInfo& port = ports[static_cast<size_t>(index)];
  if (!IsReadable(file)) return false;
  NpyHeader type;
  if (IsNpy(file) && !ReadType(file, &type)) return false;
  const skiff::Shape shape = IsNpy(file) ? type.shape : ShapeFor(arguments, sizes, port);
  if (IsOpen(shape)) {
    std::fprintf(stderr,
                 "skiff-run: error: %s: raw elements have no shape; say the open dimensions of '%s':", file,
                 port.name);
    sizes.PrintOpen(port, " --dim '%s=N'");
    std::fprintf(stderr, "\n");
    return false;
  }
  auto buffer = session.InputBuffer(index, shape);
  return buffer.ok() && ReadTensor(file, *buffer);
}

}  // namespace

int PortIndex(Ports ports, const char* name, int name_length) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (IsNamed(ports[i].name, name, name_length)) return static_cast<int>(i);
  }
  std::fprintf(stderr, "skiff-run: error: the model has no '%.*s'; it has", name_length, name);
  for (const skiff::PortInfo& port : ports) std::fprintf(stderr, " '%s'", port.name);
  std::fprintf(stderr, "\n");
  return -1;
}

bool SetInputs(const Arguments& arguments, const skiff::Model& model, skiff::Session& session) {
  const Ports ports = session.signature().inputs;
  Sizes sizes;
  if (!sizes.Init(model)) {
    std::fprintf(stderr, "skiff-run: error: no memory for the sizes of %zu dimensions\n",
                 model.symbols().size());
    return false;
  }
  if (!SaySizes(arguments, ports, &sizes)) return false;
  for (int i = 0; i < arguments.input_count; ++i) {
    if (!SetFile(arguments, arguments.inputs[i], sizes, session)) return false;
  }
  if (arguments.input_count > 0) return true;
  if (!ports.empty()) std::printf("inputs: a fixed pattern, because no --input names a file\n");
  for (size_t i = 0; i < ports.size(); ++i) {
    if (IsOpen(ShapeFor(arguments, sizes, ports[i]))) sizes.Choose(ports[i]);
    auto buffer = session.InputBuffer(static_cast<int>(i), ShapeFor(arguments, sizes, ports[i]));
    if (!buffer.ok()) return false;
    FillPattern(*buffer);
  }
  return true;
}
