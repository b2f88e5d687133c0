// Recurrent layers.
#include <algorithm>

#include "conformance_cases.h"
#include "ops/op_codes.h"
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
    {"one_step", 1, 1, 16},
    {"plain", 7, 1, 16, false, false},
    {"odd", 5, 3, 13},
    {"wide", 3, 2, 130},
    // So many weights that the GPU takes a dispatch for each step.
    {"large", 2, 2, 371},
};

Case& AddSequence(CaseList& list, OpCode op, const std::string& name, const Sequence& s) {
  const int64_t rows = s.hidden * GatesOf(op);
  const auto first = [&] { return s.states ? F32({s.batch, s.hidden}) : Absent(); };
  const bool lstm = op == OpCode::kLstm;
  // The tolerance is for states of about 1.
  const double largest = std::min(0.2, 20.0 / static_cast<double>(s.hidden));
  Case& made = list.Add(op, name.c_str(),
                        {F32({s.steps, s.batch, rows}), Weights({rows, s.hidden}, -largest, largest),
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
      if (reverse) ended.inputs[4].dtype = DType::kI32;
      ended.inputs[4].constant = !reverse;
      ended.As<RecurrentAttrs>().reverse = reverse;
    }
    Case& large = AddSequence(list, op, "large_lengths", {"", 2, 2, 371, false, false});
    large.inputs.resize(std::max<size_t>(large.inputs.size(), 5), Absent());
    large.inputs[4] = Integers({1, 2});
    Case& computed = AddSequence(list, op, "computed_weights", kSequences[2]);
    computed.inputs[1].constant = false;
    computed.falls_back = "XNNPACK packs the weights before it runs";
    Case& odd = AddSequence(list, op, "specials", kSequences[2]);
    odd.inputs[0] = WithSpecials(odd.inputs[0]);
    AddSequence(list, op, "no_batch", {"", 4, 0, 8});
    Case& ended = AddSequence(list, op, "no_steps", {"", 0, 2, 8});
    ended.falls_back = "an input has no elements";
  }
  // More products than the GPU computes in one dispatch.
  AddSequence(list, OpCode::kRnn, "long", {"", 33, 128, 64});
  Case& peepholes = AddSequence(list, OpCode::kLstm, "peepholes", kSequences[2]);
  peepholes.inputs.push_back(Weights({39}));
  peepholes.falls_back = "peepholes are left to the reference kernel";
  AddSequence(list, OpCode::kLstm, "cell_clip", kSequences[2]).As<RecurrentAttrs>().cell_clip = 0.125f;
}

}  // namespace skiff::testing
