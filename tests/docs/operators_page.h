/// docs/operators.md, made from the tables of the operators and of the importer.
#pragma once

#include <string>

namespace skiff {

std::string OperatorsPage();

}  // namespace skiff
