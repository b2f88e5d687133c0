#include "inputs.h"

#include <cstdio>
#include <cstring>

#include "files.h"
#include "nearest.h"

namespace {

using Ports = skiff::Span<const skiff::PortInfo>;

int FindPort(Ports ports, const char* name, int length) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (IsNamed(ports[i].name, name, length)) return static_cast<int>(i);
  }
  return -1;
}

/// Names and files may both contain '=': the shortest prefix that names an input decides, as in 'skiff run'.
/// -1 after a message.
int PortOf(Ports ports, const char* argument, const char** file) {
  for (const char* at = std::strchr(argument, '='); at != nullptr; at = std::strchr(at + 1, '=')) {
    const int index = FindPort(ports, argument, static_cast<int>(at - argument));
    *file = at + 1;
    if (index >= 0) return index;
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

bool Fits(const skiff::Shape& shape, const skiff::Shape& wanted) {
  for (int axis = 0; axis < wanted.rank(); ++axis) {
    if (wanted[axis] >= 0 && wanted[axis] != shape[axis]) return false;
  }
  return true;
}

/// False after a message where a picture's channels are last and the model wants them first, or the other way
/// round: the runtime sees another shape alone.
bool CheckOrder(const char* path, const skiff::Shape& shape, const skiff::PortInfo& port) {
  constexpr int kOrders[][4] = {{0, 3, 1, 2}, {0, 2, 3, 1}};
  if (shape.rank() != 4 || port.shape.rank() != 4 || Fits(shape, port.shape)) return true;
  for (const auto& order : kOrders) {
    skiff::Shape turned;
    for (const int axis : order) turned.Append(shape[axis]);
    if (!Fits(turned, port.shape)) continue;
    std::fprintf(stderr,
                 "skiff-run: error: %s: input '%s' must have the shape %s, the file has %s; the axes are in "
                 "another order: save it with numpy as array.transpose(%d, %d, %d, %d)\n",
                 path, port.name, skiff::ShapeText(port.shape).c_str(), skiff::ShapeText(shape).c_str(),
                 order[0], order[1], order[2], order[3]);
    return false;
  }
  return true;
}

/// FILE.npz, in front of which no input is named.
bool IsWholeArchive(const char* argument, Ports ports) {
  if (!IsNpz(argument)) return false;
  for (const char* at = std::strchr(argument, '='); at != nullptr; at = std::strchr(at + 1, '=')) {
    if (FindPort(ports, argument, static_cast<int>(at - argument)) >= 0) return false;
  }
  if (std::strchr(argument, '=') == nullptr) return true;
  std::FILE* const file = std::fopen(argument, "rb");
  if (file != nullptr) std::fclose(file);
  return file != nullptr;
}

class Filler {
 public:
  Filler(const Arguments& arguments, Sizes& sizes, skiff::Session& session)
      : arguments_(arguments), sizes_(sizes), session_(session), ports_(session.signature().inputs) {}

  bool Take(const char* argument) {
    if (IsWholeArchive(argument, ports_)) {
      return ForEachArray(argument, [&](const NpzArray& array) {
        const int index = FindPort(ports_, array.name, static_cast<int>(std::strlen(array.name)));
        if (index < 0) return NoteNoInput(argument, array.name);
        TensorFile file;
        return file.Open(argument, array) && Fill(index, argument, file);
      });
    }
    const char* path = nullptr;
    const int index = PortOf(ports_, argument, &path);
    TensorFile file;
    return index >= 0 && file.Open(path, Port(index).name) && Fill(index, path, file);
  }

 private:
  const skiff::PortInfo& Port(int index) const { return ports_[static_cast<size_t>(index)]; }

  /// Archives hold more than inputs, too.
  bool NoteNoInput(const char* path, const char* array) const {
    std::fprintf(stderr, "note: %s: the array '%s' is not used: the inputs are", path, array);
    Nearest nearest(array, static_cast<int>(std::strlen(array)));
    for (const skiff::PortInfo& port : ports_) {
      std::fprintf(stderr, " '%s'", port.name);
      nearest.Offer(port.name);
    }
    nearest.Print();
    std::fprintf(stderr, "\n");
    return true;
  }

  bool Fill(int index, const char* path, TensorFile& file) const {
    const skiff::Shape shape = file.typed() ? file.shape() : ShapeFor(arguments_, sizes_, Port(index));
    if (IsOpen(shape)) {
      std::fprintf(stderr,
                   "skiff-run: error: %s: raw elements have no shape; say the open dimensions of '%s':", path,
                   Port(index).name);
      sizes_.PrintOpen(Port(index), " --dim '%s=N'");
      std::fprintf(stderr, "\n");
      return false;
    }
    if (!CheckOrder(path, shape, Port(index))) return false;
    sizes_.Take(Port(index), shape);
    auto buffer = session_.InputBuffer(index, shape);
    return buffer.ok() && file.Read(*buffer);
  }

  const Arguments& arguments_;
  Sizes& sizes_;
  skiff::Session& session_;
  const Ports ports_;
};

}  // namespace

int PortIndex(Ports ports, const char* name, int name_length) {
  const int index = FindPort(ports, name, name_length);
  if (index >= 0) return index;
  std::fprintf(stderr, "skiff-run: error: the model has no '%.*s'; it has", name_length, name);
  Nearest nearest(name, name_length);
  for (const skiff::PortInfo& port : ports) {
    std::fprintf(stderr, " '%s'", port.name);
    nearest.Offer(port.name);
  }
  nearest.Print();
  std::fprintf(stderr, "\n");
  return -1;
}

bool SetInputs(const Arguments& arguments, Sizes* sizes, skiff::Session& session) {
  const Ports ports = session.signature().inputs;
  if (!SaySizes(arguments, ports, sizes)) return false;
  Filler filler(arguments, *sizes, session);
  for (int i = 0; i < arguments.input_count; ++i) {
    if (!filler.Take(arguments.inputs[i])) return false;
  }
  if (arguments.input_count > 0) return true;
  if (!ports.empty())
    std::fprintf(stderr, "note: inputs of a fixed pattern, because no --input names a file\n");
  for (size_t i = 0; i < ports.size(); ++i) {
    if (IsOpen(ShapeFor(arguments, *sizes, ports[i]))) sizes->Choose(ports[i]);
    auto buffer = session.InputBuffer(static_cast<int>(i), ShapeFor(arguments, *sizes, ports[i]));
    if (!buffer.ok()) return false;
    FillPattern(*buffer);
  }
  return true;
}
