/// An opened model, and what it tells of itself.
#pragma once

#include <memory>

#include "platforms/python/bindings/arrays.h"

namespace skiff::python {

/// Sessions and reports share it: whoever is last closes the file.
using SharedModel = std::shared_ptr<OpenedModel>;

/// What Python calls skiff._skiff.Model.
struct ModelHandle {
  SharedModel opened;
  /// Throws Error where it was closed.
  OpenedModel& get() const;
};

/// Throws Error (kInvalidArgument), also for a name that several ports would match by index.
const PortInfo& PortNamed(Span<const PortInfo> ports, const std::string& name, const char* kind);

void BindModel(nb::module_& module);

}  // namespace skiff::python
