// Files whose If, While and Stage were tampered with: an error, or a right run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/memory_account.h"
#include "format/model_data.h"
#include "graph/error.h"
#include "ops/op.h"
#include "ops/op_codes.h"
#include "plan/shaped_plan.h"
#include "tests/fuzz/counting_graph.h"
#include "tests/fuzz/skiff_parts.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

const char* const kLoop = R"(graph g {
  input n: i64[]
  input x: f32[4]
  const zero: i64[] = 0
  i, y, z = While(zero, x, x, n) condition {
    input i input y input z input n
    go: bool[] = Less(i, n)
    output go
  } body {
    input i input y input z input n
    const one: i64[] = 1
    next = Add(i, one)
    a = Tanh(z)
    b = Exp(y)
    output next
    output a
    output b
  }
  output y = y
  output z = z
})";

struct LoopDamage {
  const char* name;
  std::function<void(format::PlanT& plan, format::NodeT& loop)> apply;
  const char* message;
};

/// Bodies that do not fit their node.
TEST(MaliciousBodies, BodiesOfLies) {
  const LoopDamage kDamages[] = {
      {"no bodies", [](format::PlanT&, format::NodeT& loop) { loop.bodies.clear(); }, "has 0 bodies"},
      {"one body", [](format::PlanT&, format::NodeT& loop) { loop.bodies.pop_back(); }, "has 1 bodies"},
      {"bodies of another operator",
       [](format::PlanT&, format::NodeT& loop) { loop.op = static_cast<uint16_t>(OpCode::kConcat); },
       "outputs"},
      {"an input less", [](format::PlanT&, format::NodeT& loop) { loop.bodies[1]->inputs.pop_back(); },
       "a plan has 3 inputs, its node 4"},
      {"an output more", [](format::PlanT&, format::NodeT& loop) { loop.bodies[0]->outputs.push_back(0); },
       "a plan has 2 outputs, its node 1"},
      {"an absent input", [](format::PlanT&, format::NodeT& loop) { loop.inputs[3] = -1; }, "lacks input 3"},
      {"a condition of numbers",
       [](format::PlanT&, format::NodeT& loop) { loop.bodies[0]->outputs[0] = loop.bodies[0]->inputs[0]; },
       "has another type"},
      {"a variable of another type",
       [](format::PlanT&, format::NodeT& loop) { std::swap(loop.inputs[0], loop.inputs[1]); },
       "has another type"},
      {"an output that is an input",
       [](format::PlanT&, format::NodeT& loop) { loop.bodies[1]->outputs[1] = loop.bodies[1]->inputs[2]; },
       "lies in an input"},
      {"inputs in the arena",
       [](format::PlanT&, format::NodeT& loop) { loop.bodies[1]->inputs_outside = false; },
       "contradict its kind"},
      {"a small scratch",
       [](format::PlanT& plan, format::NodeT& loop) {
         plan.tensors[static_cast<size_t>(loop.outputs.back())]->extents = {1};
       },
       "is stored as u8 [1]"},
      {"a small arena", [](format::PlanT&, format::NodeT& loop) { loop.bodies[1]->arena_bytes = 4; },
       "lies outside of its memory"},
      {"a body over its inputs",
       [](format::PlanT&, format::NodeT& loop) {
         format::PlanT& body = *loop.bodies[1];
         body.tensors[static_cast<size_t>(body.nodes.back()->outputs[0])]->view_of = body.inputs[1];
       },
       "lies in an input"},
      {"a segment of the wrong delegate",
       [](format::PlanT& plan, format::NodeT&) {
         plan.segments[0] = format::Segment(0, plan.segments[0].begin(), plan.segments[0].end());
       },
       "is in a segment of the reference delegate"},
      {"control of a plain node",
       [](format::PlanT&, format::NodeT& loop) {
         const format::Segment& segment = loop.bodies[0]->segments[0];
         loop.bodies[0]->segments[0] = format::Segment(3, segment.begin(), segment.end());
       },
       "is in a segment of the control delegate"},
      {"no scratch", [](format::PlanT&, format::NodeT& loop) { loop.outputs.resize(1); },
       "has 4 inputs and 1 outputs"},
  };
  for (const LoopDamage& damage : kDamages) {
    const auto file = Damaged(kLoop, [&](format::ModelT&, format::PlanT& plan) {
      for (const auto& node : plan.nodes) {
        if (!node->bodies.empty()) return damage.apply(plan, *node);
      }
    });
    EXPECT_THAT(OpenAndRun(file), HasSubstr(damage.message)) << damage.name;
  }
  EXPECT_EQ(OpenAndRun(OpenedModel(kLoop).converted->file), "");
}

struct StageDamage {
  const char* name;
  std::function<void(format::PlanT& plan, format::NodeT& stage)> apply;
  const char* message;
};

TEST(MaliciousBodies, StagesOfLies) {
  const auto late_branch = [](format::PlanT& plan) -> format::NodeT& {
    for (const auto& node : plan.nodes) {
      if (node->op == static_cast<uint16_t>(OpCode::kIf)) return *node;
    }
    ADD_FAILURE() << "no If";
    return *plan.nodes[0];
  };
  const StageDamage kDamages[] = {
      {"two bodies",
       [](format::PlanT&, format::NodeT& stage) {
         stage.bodies.push_back(std::make_unique<format::PlanT>(*stage.bodies[0]));
       },
       "has 2 bodies"},
      {"not the last",
       [](format::PlanT& plan, format::NodeT&) {
         std::swap(plan.nodes[plan.nodes.size() - 1], plan.nodes[plan.nodes.size() - 2]);
       },
       ""},
      {"in the shape program",
       [](format::PlanT& plan, format::NodeT&) {
         plan.shape_node_count = static_cast<uint32_t>(plan.nodes.size());
         plan.segments.clear();
       },
       ""},
      {"a result that is a view",
       [](format::PlanT& plan, format::NodeT& stage) {
         plan.tensors[static_cast<size_t>(stage.outputs[0])]->buffer = plan.inputs[0];
       },
       "shares memory with a result that has no place"},
      {"a view of a result",
       [](format::PlanT& plan, format::NodeT& stage) {
         plan.tensors[static_cast<size_t>(plan.nodes[0]->outputs[0])]->view_of = stage.outputs[0];
       },
       "shares memory with a result that has no place"},
      {"its own result read",
       [](format::PlanT&, format::NodeT& stage) { stage.inputs[0] = stage.outputs[0]; }, ""},
      {"a result of another shape",
       [](format::PlanT& plan, format::NodeT& stage) {
         plan.tensors[static_cast<size_t>(stage.outputs[0])]->extents = {3};
       },
       "the model says [3]"},
      {"a small scratch",  // The body then has memory of its own.
       [](format::PlanT& plan, format::NodeT& stage) {
         plan.tensors[static_cast<size_t>(stage.outputs.back())]->extents = {1};
       },
       ""},
      {"a large scratch",
       [](format::PlanT& plan, format::NodeT& stage) {
         plan.tensors[static_cast<size_t>(stage.outputs.back())]->extents = {int64_t{1} << 35};
       },
       "lies outside of its memory"},
      {"a small arena", [](format::PlanT&, format::NodeT& stage) { stage.bodies[0]->arena_bytes = 4; },
       "lies outside of its memory"},
      {"a branch's result read by another node",
       [&](format::PlanT& plan, format::NodeT&) { plan.nodes[0]->inputs[0] = late_branch(plan).outputs[0]; },
       ""},
      {"a branch's result of fewer rows",
       [&](format::PlanT& plan, format::NodeT&) {
         plan.tensors[static_cast<size_t>(late_branch(plan).outputs[0])]->extents = {1, 4};
       },
       "the model says [1, 4]"},
      {"a branch's result in another scratch",
       [&](format::PlanT& plan, format::NodeT& stage) {
         plan.tensors[static_cast<size_t>(late_branch(plan).outputs[0])]->view_of = stage.outputs.back();
       },
       ""},
      {"a scratch of a late result that is not said to be one",
       [&](format::PlanT& plan, format::NodeT&) {
         plan.tensors[static_cast<size_t>(late_branch(plan).outputs[0])]->view_of = -1;
       },
       ""},
  };
  for (const StageDamage& damage : kDamages) {
    const auto file = Damaged(kCountingGraph, [&](format::ModelT&, format::PlanT& plan) {
      damage.apply(plan, *plan.nodes.back());
    });
    // Where no sentence is named, an error or a right run will do.
    EXPECT_THAT(OpenAndRun(file), HasSubstr(damage.message)) << damage.name;
  }
  EXPECT_EQ(OpenAndRun(OpenedModel(kCountingGraph).converted->file), "");
}

const char* const kGrowingLoop = R"(graph g {
  input x: f32[2, 4]
  const first: i64[1] = [0]
  i, v = While(first, x) condition {
    input i
    input v
    const three: i64[1] = [3]
    const whole: i64[0] = []
    less = Less(i, three)
    go = Reshape(less, whole)
    output go
  } body {
    input i
    input v
    const one: i64[1] = [1]
    next = Add(i, one)
    w = Concat(v, v) {axis=0}
    output next
    output w
  }
  y = Tanh(v)
  output y = y
  output i = i
})";

/// Loop variables that change their shape, and others that say so.
TEST(MaliciousBodies, GrowingLoopsOfLies) {
  const auto tensor = [](format::PlanT& plan, int32_t index) -> format::TensorT& {
    return *plan.tensors[static_cast<size_t>(index)];
  };
  const StageDamage kDamages[] = {
      {"a variable that grows is said to stay",
       [&](format::PlanT& plan, format::NodeT& loop) { tensor(plan, loop.outputs[1]).view_of = -1; }, ""},
      {"a variable that stays is said to grow",
       [&](format::PlanT& plan, format::NodeT& loop) {
         tensor(plan, loop.outputs[0]).view_of = loop.outputs.back();
       },
       ""},
      {"a body for one size",
       [&](format::PlanT&, format::NodeT& loop) {
         format::PlanT& body = *loop.bodies[1];
         tensor(body, body.inputs[1]).extents = {2, 4};
       },
       ""},
      {"a body that wants another rank",
       [&](format::PlanT&, format::NodeT& loop) {
         format::PlanT& body = *loop.bodies[1];
         tensor(body, body.inputs[1]).extents = {-1, -1, -1};
       },
       ""},
      {"results that the model says are smaller",
       [&](format::PlanT& plan, format::NodeT& loop) {
         tensor(plan, loop.outputs[1]).extents = {3, 4};
       },
       "the model says [3, 4]"},
      {"results in swapped order",
       [](format::PlanT&, format::NodeT& loop) {
         std::swap(loop.bodies[1]->outputs[0], loop.bodies[1]->outputs[1]);
       },
       ""},
      {"a large scratch",
       [&](format::PlanT& plan, format::NodeT& loop) {
         tensor(plan, loop.outputs.back()).extents = {int64_t{1} << 35};
       },
       "lies outside of its memory"},
      {"a small arena", [](format::PlanT&, format::NodeT& loop) { loop.bodies[1]->arena_bytes = 4; }, ""},
      {"a variable whose result is of another type",
       [&](format::PlanT& plan, format::NodeT& loop) {
         tensor(plan, loop.outputs[1]).dtype = static_cast<uint8_t>(DType::kI64);
         loop.bodies[1]->outputs[1] = loop.bodies[1]->outputs[0];
       },
       "loop variable 1 of node 0 (While) has another type than its result"},
      {"a condition of two elements",
       [&](format::PlanT&, format::NodeT& loop) {
         format::PlanT& body = *loop.bodies[0];
         tensor(body, body.outputs[0]).extents = {2};
       },
       ""},
  };
  for (const StageDamage& damage : kDamages) {
    const auto file = Damaged(kGrowingLoop, [&](format::ModelT&, format::PlanT& plan) {
      for (const auto& node : plan.nodes) {
        if (node->op == static_cast<uint16_t>(OpCode::kWhile)) damage.apply(plan, *node);
      }
    });
    EXPECT_THAT(OpenAndRun(file), HasSubstr(damage.message)) << damage.name;
  }
  EXPECT_EQ(OpenAndRun(OpenedModel(kGrowingLoop).converted->file), "");
}

/// Bodies' arenas lie in the scratch, whose place is aligned only where it is a tensor of its own.
TEST(MaliciousBodies, AScratchInsideAnotherTensor) {
  const auto file = Damaged(kLoop, [](format::ModelT&, format::PlanT& plan) {
    format::NodeT& loop = *plan.nodes[0];
    const auto scratch = static_cast<size_t>(loop.outputs.back());
    auto room = std::make_unique<format::TensorT>();
    room->dtype = static_cast<uint8_t>(DType::kU8);
    room->extents = {plan.tensors[scratch]->extents[0] + 1};
    room->offset = (plan.arena_bytes + 63) / 64 * 64;
    plan.arena_bytes = room->offset + static_cast<uint64_t>(room->extents[0] + 63) / 64 * 64;
    plan.tensors[scratch]->view_of = static_cast<int32_t>(plan.tensors.size());
    plan.tensors[scratch]->offset = 1;
    plan.tensors.push_back(std::move(room));
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("(While) lies in another tensor"));
}

/// A scatter in a Stage would write over its own indices, which it had looked at, and then where they say.
TEST(MaliciousBodies, AScratchOverALateInput) {
  const auto scatter = [](const char* symbol, const char* extent) {
    return fmt::format(R"(graph g {{
      {}
      input c: bool[]
      input i: i64[{}]
      const data: i64[16] = [8589934592, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
      part = If(c, i) then {{
        input i a = Abs(i) output a
      }} else {{
        input i const first: i64[1] = [0] a = Gather(i, first) output a
      }}
      y = ScatterElements(data, part, part) {{axis=0}}
      output y
    }})",
                       symbol, extent);
  };
  const auto scratches = [](format::PlanT& plan) {
    std::vector<int32_t> found;  // Of the If and of the Stage.
    for (const auto& node : plan.nodes) {
      if (!node->bodies.empty()) found.push_back(node->outputs.back());
    }
    EXPECT_EQ(found.size(), 2U);
    return found;
  };
  const std::string fixed = scatter("", "8");
  const auto over = Damaged(fixed, [&](format::ModelT&, format::PlanT& plan) {
    for (const int32_t scratch : scratches(plan)) plan.tensors[static_cast<size_t>(scratch)]->offset = 0;
  });
  EXPECT_THAT(OpenAndRun(over), HasSubstr("(Stage) would overwrite late tensor"));
  EXPECT_EQ(OpenAndRun(OpenedModel(fixed).converted->file), "");
  const auto shared = Damaged(scatter("symbol n: 1..", "n"), [&](format::ModelT&, format::PlanT& plan) {
    ASSERT_EQ(plan.kind, format::BucketKind::Unbounded);
    const std::vector<int32_t> of = scratches(plan);
    plan.tensors[static_cast<size_t>(of[1])]->buffer = of[0];
  });
  EXPECT_THAT(OpenAndRun(shared), HasSubstr("(Stage) lies in another tensor"));
}

TEST(MaliciousBodies, BodiesInBodiesWithoutAnEnd) {
  const auto nested = [&](int depth) {
    std::string text = "y = Neg(x) output y";
    for (int i = 0; i < depth; ++i) {
      text = fmt::format(
          "y = If(c, c, x) then {{ input c input x {} }} else {{ input c input x n = Exp(x) output n }} "
          "output y",
          text);
    }
    return "graph g { input c: bool[] input x: f32[2] " + text + " }";
  };
  EXPECT_EQ(OpenAndRun(OpenedModel(nested(16)).converted->file), "");
  EXPECT_THROW(OpenedModel(nested(17)), Error);
}

const char* const kCountingLoop = R"(graph g {
  input n: i64[1]
  const zero: i64[1] = [0]
  i = While(zero, n) condition {
    input i input n
    const whole: i64[0] = []
    less = Less(i, n)
    go = Reshape(less, whole)
    output go
  } body {
    input i input n
    const step: i64[1] = [8000000]
    next = Add(i, step)
    output next
  }
  output i = i
})";

/// The loop's body becomes one that fills eight million numbers when it is shaped. The plan is for one shape.
std::vector<uint8_t> ComputesWhenItIsShaped() {
  return Damaged(kCountingLoop, [](format::ModelT&, format::PlanT& plan) {
    EXPECT_EQ(plan.kind, format::BucketKind::Exact);
    format::PlanT& body = *plan.nodes[0]->bodies[1];
    auto fill = std::make_unique<format::NodeT>();
    fill->op = static_cast<uint16_t>(OpCode::kFill);
    for (size_t i = 0; i < body.tensors.size(); ++i) {
      if (body.tensors[i]->blob >= 0) fill->inputs = {static_cast<int32_t>(i)};
    }
    fill->outputs = {static_cast<int32_t>(body.tensors.size())};
    auto dtype = std::make_unique<format::AttrT>();
    dtype->tag = 1;
    dtype->ints = {static_cast<int64_t>(DType::kI64)};
    fill->attrs.push_back(std::move(dtype));
    auto numbers = std::make_unique<format::TensorT>();
    numbers->dtype = static_cast<uint8_t>(DType::kI64);
    numbers->extents = {-1};
    body.tensors.push_back(std::move(numbers));
    body.nodes.insert(body.nodes.begin(), std::move(fill));
    body.kind = format::BucketKind::Relaxed;
    body.shape_node_count = 1;
    for (format::Segment& segment : body.segments)
      segment = format::Segment(segment.delegate(), segment.begin() + 1, segment.end() + 1);
  });
}

/// Opening a file has no limit of memory; what its bodies compute is a Session's.
TEST(MaliciousBodies, ShapeProgramsOfBodiesWaitForASession) {
  const AlignedBytes bytes(ComputesWhenItIsShaped());
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  Result<std::unique_ptr<Model>> model = [&] {
    const AllocationLimit limit(uint64_t{1} << 20);
    return Model::Open(bytes.span(), options);
  }();
  ASSERT_TRUE(model.ok());
  SessionOptions session;
  session.memory_limit = uint64_t{1} << 24;
  EXPECT_EQ(Session::Create(**model, session).status().code(), StatusCode::kOutOfMemory);
  session.memory_limit = 0;
  EXPECT_TRUE(Session::Create(**model, session).ok());
}

TEST(MaliciousBodies, ShapeProgramsOfBodiesAreCancelled) {
  const AlignedBytes bytes(ComputesWhenItIsShaped());
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  Result<std::unique_ptr<Model>> model = Model::Open(bytes.span(), options);
  ASSERT_TRUE(model.ok());
  const PlanData& plan = (*model)->data().signatures[0].plans[0];
  std::atomic<bool> cancelled{true};
  ShapedPlan shaped;
  PlanMessage message;
  ASSERT_TRUE(shaped.Init(plan, false).ok());
  shaped.SetCancelled(&cancelled);
  const TensorView input = plan.tensors[static_cast<size_t>(plan.inputs[0])].view;
  EXPECT_EQ(shaped.Shape({&input, 1}, message).code(), StatusCode::kCancelled);
  cancelled = false;
  EXPECT_TRUE(shaped.Shape({&input, 1}, message).ok()) << message.text;
}

}  // namespace
}  // namespace skiff::testing
