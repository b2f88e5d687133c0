/// The converter, what judges and what measures, as functions of the module.
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/python/bindings/model.h"

namespace skiff::python {

/// Names are bytes of files; those that are no text are replaced.
std::string JsonText(const nlohmann::ordered_json& json);

void BindConvert(nb::module_& module);
void BindMeasure(nb::module_& module);
void BindParity(nb::module_& module);

}  // namespace skiff::python
