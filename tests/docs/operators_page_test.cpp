#include "tests/docs/operators_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "tests/support/operators.h"

namespace skiff {
namespace {

TEST(OperatorsPage, IsTheCommittedOne) {
  std::ifstream file(SKIFF_SOURCE_DIR "/docs/operators.md");
  std::ostringstream committed;
  committed << file.rdbuf();
  EXPECT_TRUE(committed.str() == OperatorsPage())
      << "run build/release/tests/docs/write_operators_page > docs/operators.md and read what changed";
}

TEST(OperatorsPage, EveryOperatorHasOneRow) {
  std::vector<OpCode> rows;
  for (const testing::OperatorRow& row : testing::OperatorRows()) rows.push_back(row.op);
  std::vector<OpCode> operators;
  for (const OpDef& op : AllOps()) operators.push_back(op.code);
  EXPECT_EQ(rows, operators) << "tests/support/operators.def";
}

}  // namespace
}  // namespace skiff
