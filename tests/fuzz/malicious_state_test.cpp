// Files that lie about variables which are updated where they lie.
#include "tests/fuzz/damaged_file.h"
#include "tests/support/state_nets.h"

namespace skiff::testing {
namespace {

const char* const kStates = R"(graph states {
  input at: i64[2, 1]
  input rows: f32[2, 3]
  input numbers: i64[4, 1]
  input a: f32[6, 3]
  input b: f32[6, 3]
  input c: i64[4, 1]
  old = ReduceSum(a) {axes=[0]}
  next = ScatterND(a, at, rows)
  shown = Neg(next)
  new = ReduceSum(next) {axes=[0]}
  y = Sub(new, old)
  next_b = Neg(b)
  next_c = ScatterND(c, numbers, numbers)
  output y
  output shown
  output next
  output next_b
  output next_c
})";

File States() {
  return File(OpenedModel(WithStates(kStates, {{"a", "next"}, {"b", "next_b"}, {"c", "next_c"}}), AsWritten())
                  .converted->file);
}

size_t NodeOf(File& file, const char* output) {
  const int32_t wanted = file.IndexOf(output);
  for (size_t i = 0; i < file.plan().nodes.size(); ++i) {
    if (file.plan().nodes[i]->outputs[0] == wanted) return i;
  }
  throw std::out_of_range("no node");
}

format::Segment& SegmentOf(File& file, const char* output) {
  const size_t node = NodeOf(file, output);
  for (format::Segment& segment : file.plan().segments) {
    if (segment.begin() <= node && node < segment.end()) return segment;
  }
  throw std::out_of_range("no segment");
}

void SetDelegate(format::Segment& segment, DelegateKind kind) {
  segment = format::Segment(static_cast<uint8_t>(kind), segment.begin(), segment.end());
}

void ExpectRefused(const std::function<File()>& make, std::initializer_list<Damage> damages) {
  EXPECT_EQ(make().Outcome(), "");
  for (const Damage& damage : damages) {
    File file = make();
    damage.apply(file);
    EXPECT_THAT(file.Outcome(), ::testing::HasSubstr(damage.message)) << damage.name;
  }
}

TEST(MaliciousState, Places) {
  ExpectRefused(
      States,
      {{"an input of the caller", [](File& file) { file.tensor("shown").buffer = file.IndexOf("rows"); },
        "is written in the place of input tensor"},
       {"an input in the place of a variable",
        [](File& file) { file.tensor("rows").buffer = file.IndexOf("a"); },
        "is written in the place of input tensor"},
       {"an input that is a view of a variable",
        [](File& file) { file.tensor("rows").view_of = file.IndexOf("a"); },
        "is an input twice, a constant, or a view"},
       {"another variable", [](File& file) { file.tensor("next").buffer = file.IndexOf("b"); },
        "is no scatter of it"},
       {"another operator", [](File& file) { file.tensor("next_b").buffer = file.IndexOf("b"); },
        "is no scatter of it"},
       {"a sum of updates",
        [](File& file) {
          auto attr = std::make_unique<format::AttrT>();
          attr->tag = 2;
          attr->ints = {1};
          file.plan().nodes[NodeOf(file, "next")]->attrs.push_back(std::move(attr));
        },
        "is no scatter of it"},
       {"indices that are overwritten while they are read",
        [](File& file) { file.plan().nodes[NodeOf(file, "next_c")]->inputs[1] = file.IndexOf("c"); },
        "is no scatter of it"},
       {"updates that are overwritten while they are read",
        [](File& file) { file.plan().nodes[NodeOf(file, "next_c")]->inputs[2] = file.IndexOf("c"); },
        "is no scatter of it"},
       {"a constant or an unknown tensor", [](File& file) { file.tensor("next").buffer = 1000; },
        "which cannot be viewed"},
       {"a plan for another target", [](File& file) { file.plan().target = 1; },
        "is written in the place of input tensor"},
       {"elements of another type",
        [](File& file) { file.tensor("next").dtype = static_cast<uint8_t>(DType::kI32); }, ""}});
}

TEST(MaliciousState, Orders) {
  ExpectRefused(
      States, {{"the old value read behind the write",
                [](File& file) {
                  auto& nodes = file.plan().nodes;
                  std::swap(nodes[NodeOf(file, "old")], nodes[NodeOf(file, "next")]);
                },
                "over which its variable was written before"},
               {"the caller gets what the next run writes",
                [](File& file) { file.plan().outputs[1] = file.IndexOf("next"); },
                "lies in a variable, which the next run writes"},
               {"another next value", [](File& file) { file.plan().outputs[2] = file.IndexOf("shown"); },
                "its next value lies elsewhere"},
               {"a variable that no output is the next value of",
                [](File& file) {
                  file.plan().outputs.erase(file.plan().outputs.begin() + 2);
                  file.model->signatures[0]->outputs.erase(file.model->signatures[0]->outputs.begin() + 2);
                },
                "its next value lies elsewhere"},
               {"a delegate runs the scatter",
                [](File& file) { SetDelegate(SegmentOf(file, "next"), DelegateKind::kReference); },
                "is in a segment of the reference delegate"},
               {"the runtime runs another node",
                [](File& file) { SetDelegate(SegmentOf(file, "old"), DelegateKind::kControl); }, "segment"}});
}

File Cache() { return File(OpenedModel(WithStates(kCacheNet, kCachePairs), AsWritten()).converted->file); }

TEST(MaliciousState, Views) {
  ExpectRefused(
      Cache,
      {{"a part of the variable as its next value",
        [](File& file) { file.tensor("next_values").offset = 16; }, "its next value lies elsewhere"},
       {"an old view of the variable as its next value",
        [](File& file) { file.tensor("next_values").view_of = file.IndexOf("values"); }, "lies in an input"},
       {"an updated view that begins inside", [](File& file) { file.tensor("all_lines").offset = 16; },
        "tensor"},
       {"a result in the variable's place",
        [](File& file) { file.tensor("mixed").view_of = file.IndexOf("next_keys"); }, ""}});
}

constexpr const char* kBody = R"(graph body {
  input c: bool[]
  input at: i64[1, 1]
  input row: f32[1, 3]
  input a: f32[4, 3]
  y = If(c, a, at, row) then {
    input a
    input at
    input row
    inner = ScatterND(a, at, row)
    output inner
  } else {
    input a
    input at
    input row
    other = Neg(a)
    output other
  }
  next = ScatterND(a, at, row)
  output y
  output next
})";

TEST(MaliciousState, Bodies) {
  ExpectRefused(
      [] {
        return File(OpenedModel(WithStates(kBody, {{"a", "next"}}), AsWritten()).converted->file);
      },
      {{"a body that writes what it was given",
        [](File& file) {
          for (const auto& node : file.plan().nodes) {
            if (node->bodies.empty()) continue;
            format::PlanT& body = *node->bodies[0];
            body.tensors[static_cast<size_t>(body.outputs[0])]->buffer = body.inputs[0];
          }
        },
        "is written in the place of input tensor"}});
}

}  // namespace
}  // namespace skiff::testing
