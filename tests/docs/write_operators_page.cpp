// Prints docs/operators.md.
#include <cstdio>

#include "tests/docs/operators_page.h"

int main() { return std::fputs(skiff::OperatorsPage().c_str(), stdout) < 0 ? 1 : 0; }
