// Files that a person made to do harm: each passes the FlatBuffers verifier, and each was once taken for
// good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/error.h"
#include "ops/op.h"
#include "tests/fuzz/counting_graph.h"
#include "tests/fuzz/skiff_parts.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

using Damage = std::function<void(format::ModelT&, format::PlanT&)>;

std::vector<uint8_t> Damaged(const std::string& graph, const Damage& damage) {
  const Parts parts(OpenedModel(graph).converted->file);
  const std::unique_ptr<format::ModelT> model = parts.Unpack();
  damage(*model, *model->signatures[0]->plans[0]);
  return parts.Assemble(*model);
}

size_t Find(const format::PlanT& plan, const std::string& tensor) {
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i]->name == tensor) return i;
  }
  ADD_FAILURE() << "no tensor " << tensor;
  return 0;
}

/// Sets the extents of an input and of its port, so that both agree.
void Resize(format::ModelT& model, size_t input, const std::vector<int64_t>& extents) {
  format::SignatureT& signature = *model.signatures[0];
  signature.inputs[input]->extents = extents;
  signature.plans[0]->tensors[static_cast<size_t>(signature.plans[0]->inputs[input])]->extents = extents;
}

const char* const kActivations = R"(graph g {
  input x: f32[4, 8]
  a: f32[4, 8] = Tanh(x)
  y: f32[4, 8] = Sqrt(a)
  output y = y
})";

TEST(MaliciousSkiff, StridesThatOverflow) {
  const auto file = Damaged(kSmallNet, [](format::ModelT&, format::PlanT& plan) {
    for (const auto& tensor : plan.tensors) {
      if (tensor->row_stride != 0) tensor->row_stride = int64_t{1} << 60;
    }
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("bad stride"));
}

TEST(MaliciousSkiff, AnArenaBeyondItsTensors) {
  const auto file = Damaged(
      kActivations, [](format::ModelT&, format::PlanT& plan) { plan.arena_bytes = uint64_t{1} << 40; });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("the arena is larger than its tensors"));
}

/// The planned arena may be small because tensors share it; kept apart they must not wrap around.
TEST(MaliciousSkiff, TensorsTooLargeToKeep) {
  const int64_t rows = int64_t{1} << 41;
  const auto file = Damaged(kActivations, [&](format::ModelT& model, format::PlanT& plan) {
    Resize(model, 0, {rows, 8});
    for (const auto& tensor : plan.tensors) {
      tensor->extents = {rows, 8};
      tensor->view_of = -1;
      tensor->offset = 0;
    }
    plan.tensors[Find(plan, "a")]->offset = static_cast<uint64_t>(rows) * 32;
    plan.arena_bytes = static_cast<uint64_t>(rows) * 64;
  });
  EXPECT_THAT(OpenAndRun(file, true), ::testing::AnyOf(HasSubstr("too much memory"), HasSubstr("overflows"),
                                                       HasSubstr("memory limit")));
}

/// An input may be bound to the caller's memory, which nobody writes.
TEST(MaliciousSkiff, WritesOverAnInput) {
  const auto file = Damaged(kActivations, [](format::ModelT&, format::PlanT& plan) {
    for (const auto& tensor : plan.tensors) tensor->offset = 0;
    plan.arena_bytes = 4 * 8 * sizeof(float);
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("would overwrite graph input"));
}

/// Of a caller who reads an output, another input may take the memory.
TEST(MaliciousSkiff, OutputsThatAreInputs) {
  const auto same =
      Damaged(kActivations, [](format::ModelT&, format::PlanT& plan) { plan.outputs = plan.inputs; });
  EXPECT_THAT(OpenAndRun(same), HasSubstr("output 'y' lies in an input"));
  const auto view = Damaged(kActivations, [](format::ModelT&, format::PlanT& plan) {
    plan.tensors[static_cast<size_t>(plan.outputs[0])]->view_of = plan.inputs[0];
  });
  EXPECT_THAT(OpenAndRun(view), HasSubstr("output 'y' lies in an input"));
}

/// No output element, but extents that a plain loop would walk for years.
TEST(MaliciousSkiff, EmptyTensorsOfEndlessExtents) {
  const int64_t many = int64_t{1} << 42;
  const auto file = Damaged(kActivations, [&](format::ModelT& model, format::PlanT& plan) {
    Resize(model, 0, {many, 0});
    for (const auto& tensor : plan.tensors) tensor->extents = {many, 0};
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("has no elements, but extents that are too large"));
}

/// Windows of 2^30 taps over a few elements are legal; they cost what the elements cost.
TEST(MaliciousSkiff, WindowsMuchLargerThanTheInput) {
  for (const char* pool : {"MaxPool2d", "AveragePool2d"}) {
    const std::string graph =
        std::string("graph g {\n  input x: f32[1, 8, 8, 2]\n  y: f32[1, 9, 9, 2] = ") + pool +
        "(x) {kernel=[1073741824, 1073741824], pads=[536870912, 536870912, 536870912, 536870912]}\n"
        "  output y = y\n}\n";
    EXPECT_EQ(OpenAndRun(OpenedModel(graph).converted->file), "");
  }
}

TEST(MaliciousSkiff, NodesOfThousandsOfOperands) {
  const auto file = Damaged(R"(graph g {
    input x: f32[1, 8]
    input z: f32[1, 8]
    y: f32[1, 16] = Concat(x, z) {axis=1}
    output y = y
  })",
                            [](format::ModelT&, format::PlanT& plan) {
                              plan.nodes[0]->inputs.resize(100000, plan.nodes[0]->inputs[0]);
                            });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("more than 4096 operands"));
}

/// More values than any shape rule reads at once are read where they lie.
TEST(MaliciousSkiff, SplitsOfManyPiecesAreNoDamage) {
  std::string graph = "graph g {\n  input x: f32[1, 40]\n  const sizes: i64[40] = [1";
  for (int i = 1; i < 40; ++i) graph += ", 1";
  graph += "]\n  p0: f32[1, 1]";
  for (int i = 1; i < 40; ++i) graph += ", p" + std::to_string(i) + ": f32[1, 1]";
  graph += " = Split(x, sizes) {axis=1}\n  y: f32[1, 1] = Add(p3, p39)\n  output y = y\n}\n";
  EXPECT_EQ(OpenAndRun(OpenedModel(graph).converted->file), "");
}

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
TEST(MaliciousSkiff, BodiesOfLies) {
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

TEST(MaliciousSkiff, StagesOfLies) {
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

/// Bodies' arenas lie in the scratch, whose place is aligned only where it is a tensor of its own.
TEST(MaliciousSkiff, AScratchInsideAnotherTensor) {
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
  EXPECT_THAT(OpenAndRun(file), HasSubstr("(While) is a view of another tensor"));
}

const char* const kOpenRows = R"(graph g {
  symbol n: 1..
  input x: f32[n, 4]
  y = Tanh(x)
  output y = y
})";

/// A size that no Symbol has would be none of those by which a Session finds the state that is ready for a
/// shape.
TEST(MaliciousSkiff, ExtentsThatAreNoDimension) {
  for (const int64_t extent : {INT64_MIN, INT64_MIN + 1, int64_t{-2}, int64_t{-3000000000}}) {
    const auto file = Damaged(kOpenRows, [&](format::ModelT& model, format::PlanT&) {
      model.signatures[0]->inputs[0]->extents[0] = extent;
    });
    EXPECT_THAT(OpenAndRun(file), HasSubstr("'x' has an extent that is dimension")) << extent;
  }
  for (const int64_t extent : {INT64_MIN + 1, int64_t{-2}}) {
    const auto file = Damaged(kOpenRows, [&](format::ModelT& model, format::PlanT&) {
      model.signatures[0]->outputs[0]->extents[0] = extent;
    });
    EXPECT_THAT(OpenAndRun(file), HasSubstr("'y' has an extent that is dimension")) << extent;
  }
}

/// The elements of a shape input, of which there may be more at the next call.
TEST(MaliciousSkiff, ShapeInputsOfAnyLength) {
  const auto file = Damaged(R"(graph g {
    symbol n: 1..
    input x: f32[n, 4]
    input starts: i64[1]
    input ends: i64[1]
    const axes: i64[1] = [0]
    y = Slice(x, starts, ends, axes)
    z = Neg(y)
    output z = z
  })",
                            [](format::ModelT& model, format::PlanT& plan) {
                              for (size_t i = 1; i < 3; ++i) {
                                model.signatures[0]->inputs[i]->extents = {INT64_MIN};
                                plan.tensors[static_cast<size_t>(plan.inputs[i])]->extents = {-1};
                              }
                            });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("'starts' has an extent that is dimension"));
}

/// `graph` with a variable v: f32[1], whose next value is said to be the first output.
std::vector<uint8_t> WithVariable(
    const std::string& graph, const std::vector<int64_t>& port,
    const Damage& more = [](format::ModelT&, format::PlanT&) {}) {
  return Damaged(graph, [&](format::ModelT& model, format::PlanT& plan) {
    auto variable = std::make_unique<format::VariableT>();
    variable->name = "v";
    variable->dtype = static_cast<uint8_t>(DType::kF32);
    variable->extents = {1};
    for (uint32_t i = 0; i < model.blobs.size(); ++i) {
      if (model.blobs[i].size() == sizeof(float)) variable->blob = i;
    }
    model.variables.push_back(std::move(variable));
    auto next = std::make_unique<format::PortT>();
    next->name = "v_next";
    next->dtype = static_cast<uint8_t>(DType::kF32);
    next->extents = port;
    next->variable = 0;
    model.signatures[0]->outputs.push_back(std::move(next));
    plan.outputs.push_back(plan.outputs[0]);
    more(model, plan);
  });
}

const char* const kAddOne = R"(graph g {
  symbol n: 1..
  input x: f32[n]
  const one: f32[1] = [3]
  y = Add(x, one)
  output y = y
})";

TEST(MaliciousSkiff, VariablesOfAnotherSizeThanTheirPort) {
  EXPECT_THAT(OpenAndRun(WithVariable(kAddOne, {100000})), HasSubstr("another type than its variable"));
  EXPECT_THAT(OpenAndRun(WithVariable(kAddOne, {-1})), HasSubstr("another type than its variable"));
  const auto file = WithVariable(kAddOne, {1}, [](format::ModelT& model, format::PlanT&) {
    model.variables[0]->extents = {2};
    model.signatures[0]->outputs.back()->extents = {2};
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("the shape of variable 'v' does not fit its value"));
}

/// The port tells the truth, and the plan computes something longer.
TEST(MaliciousSkiff, VariablesThatGrow) {
  const AlignedBytes bytes(WithVariable(kAddOne, {1}));
  ModelOptions model_options;
  model_options.delegates = BuiltinDelegates();
  auto model = Model::Open(bytes.span(), model_options);
  ASSERT_TRUE(model.ok());
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    auto session = Session::Create(**model, options);
    ASSERT_TRUE(session.ok());
    ErrorCapture capture;
    const std::vector<float> ones(100000, 1.0f);
    const auto run = [&](int64_t n) {
      EXPECT_TRUE((*session)->SetInput(0, TensorData(DType::kF32, Shape{n}, ones.data()).view()).ok());
      return (*session)->Run().code();
    };
    const auto value = [&] { return *(*session)->variables().Get("v").value().as<float>(); };
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(run(100000), StatusCode::kInvalidArgument);
      EXPECT_THAT(capture.message(),
                  HasSubstr("variable 'v' is f32 [1], its next value would be f32 [100000]"));
      EXPECT_EQ(value(), 3.0f) << "nothing is written";
    }
    EXPECT_EQ(run(1), StatusCode::kOk) << capture.message();
    EXPECT_EQ(value(), 4.0f);
  }
}

/// The same where the file alone decides: it needs but to be opened and run.
TEST(MaliciousSkiff, VariablesThatGrowByThemselves) {
  const auto file = WithVariable(R"(graph g {
    input x: f32[1]
    const one: f32[1] = [3]
    y = Concat(x, one) {axis=0}
    output y = y
  })",
                                 {1}, [](format::ModelT& model, format::PlanT& plan) {
                                   plan.kind = format::BucketKind::Unbounded;
                                   plan.inputs_outside = true;
                                   plan.arena_bytes = 0;
                                   for (const auto& tensor : plan.tensors) tensor->view_of = -1;
                                   plan.tensors[static_cast<size_t>(plan.outputs[0])]->extents = {-1};
                                   plan.nodes[0]->inputs.assign(4000, plan.inputs[0]);
                                   model.signatures[0]->outputs[0]->extents = {INT64_MIN};
                                 });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("variable 'v' is f32 [1], its next value would be f32 [4000]"));
}

TEST(MaliciousSkiff, BodiesInBodiesWithoutAnEnd) {
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

}  // namespace
}  // namespace skiff::testing
