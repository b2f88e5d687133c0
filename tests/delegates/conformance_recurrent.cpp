// Recurrent layers.
#include "conformance_cases.h"
#include "ops/shape_rules.h"

namespace skiff::testing {
namespace {

struct Sequence {
  const char* name;
  int64_t steps, batch, hidden;
  bool bias = true;
  bool states = true;  ///< The first ones are inputs.
};

const Sequence kSequences[] = {
    {"one_step", 1, 1, 24},
    {"plain", 7, 1, 16, false, false},
    {"odd", 5, 3, 13},
    {"wide", 3, 2, 130},
};

Case& AddSequence(CaseList& list, OpCode op, const std::string& name, const Sequence& s) {
  const int64_t rows = s.hidden * GatesOf(op);
  const auto first = [&] { return s.states ? F32({s.batch, s.hidden}) : Absent(); };
  const bool lstm = op == OpCode::kLstm;
  Case& made = list.Add(op, name.c_str(),
                        {F32({s.steps, s.batch, rows}), Weights({rows, s.hidden}, -0.2, 0.2),
                         s.bias ? Weights({rows}) : Absent(), first()});
  if (lstm) {
    made.inputs.push_back(Absent());
    made.inputs.push_back(first());
  }
  made.outputs = lstm ? 3 : 2;
  return made;
}

}  // namespace

void AddRecurrentCases(CaseList& list) {
  for (const OpCode op : {OpCode::kLstm, OpCode::kGru, OpCode::kRnn}) {
    for (const Sequence& s : kSequences) {
      AddSequence(list, op, s.name, s);
      Case& reverse = AddSequence(list, op, std::string(s.name) + "_reverse", s);
      reverse.As<RecurrentAttrs>() = {.reverse = true, .reset_after = true, .relu = true};
    }
    for (const bool reverse : {false, true}) {
      Case& ended = AddSequence(list, op, reverse ? "lengths_reverse" : "lengths", kSequences[2]);
      ended.inputs.resize(std::max<size_t>(ended.inputs.size(), 5), Absent());
      ended.inputs[4] = Integers({2, 0, 5});
      ended.As<RecurrentAttrs>().reverse = reverse;
    }
    Case& computed = AddSequence(list, op, "computed_weights", kSequences[2]);
    computed.inputs[1].constant = false;
    computed.falls_back = "XNNPACK packs the weights before it runs";
    AddSequence(list, op, "no_batch", {"", 4, 0, 8});
    Case& ended = AddSequence(list, op, "no_steps", {"", 0, 2, 8});
    ended.falls_back = "an input has no elements";
  }
  Case& peepholes = AddSequence(list, OpCode::kLstm, "peepholes", kSequences[2]);
  peepholes.inputs.push_back(Weights({39}));
  peepholes.falls_back = "peepholes are left to the reference kernel";
}

}  // namespace skiff::testing
