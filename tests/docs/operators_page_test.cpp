#include "tests/docs/operators_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/docs/operator_notes.h"

namespace skiff {
namespace {

TEST(OperatorsPage, IsTheCommittedOne) {
  std::ifstream file(SKIFF_SOURCE_DIR "/docs/operators.md");
  std::ostringstream committed;
  committed << file.rdbuf();
  EXPECT_TRUE(committed.str() == OperatorsPage())
      << "run build/release/tests/docs/write_operators_page > docs/operators.md and read what changed";
}

TEST(OperatorsPage, EveryOperatorHasOneNote) {
  for (const OpDef& op : AllOps()) {
    const auto notes = OperatorNotes();
    EXPECT_EQ(
        std::count_if(notes.begin(), notes.end(), [&](const OperatorNote& n) { return n.op == op.code; }), 1)
        << op.name << ": tests/docs/operator_notes.cpp";
  }
}

}  // namespace
}  // namespace skiff
