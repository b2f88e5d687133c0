/// The converter, what judges and what measures, as functions of the module.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/summary.h"
#include "platforms/python/bindings/model.h"

namespace skiff::python {

/// Names are bytes of files; those that are no text are replaced.
std::string JsonText(const nlohmann::ordered_json& json);

/// What is said of a conversion, and of each signature what became of its source nodes.
struct Remarks : cli::Remarks {
  std::vector<std::pair<std::string, std::string>> explained;
};
Remarks RemarksOn(const ConvertedFile& file);
nb::tuple ToTuple(const Remarks& remarks);

void BindConvert(nb::module_& module);
void BindMeasure(nb::module_& module);
void BindParity(nb::module_& module);
void BindQuantize(nb::module_& module);

}  // namespace skiff::python
