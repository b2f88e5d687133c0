// Every operator of the table is a function of eager tensors: this file does not compile otherwise.
#include <gtest/gtest.h>

#include "trace/control.h"
#include "trace/effects.h"
#include "trace/ops.h"

namespace skiff::names {

// Two operators are functions of other names, because C++ has these for something else.
#define If Cond
#define Shape ShapeOf
// What runs behind a count is nobody's to call.
#define Stage While
#define OP(id, Name, ...) using eager::Name;
#include "ops/ops.def"
#undef OP
#undef Stage
#undef Shape
#undef If

TEST(Ops, EveryRowOfTheTableIsAFunction) { EXPECT_GT(AllOps().size(), 100u); }

}  // namespace skiff::names
