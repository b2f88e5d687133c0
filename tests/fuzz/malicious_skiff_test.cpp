// Files that a person made to do harm: each passes the FlatBuffers verifier, and each was once taken for
// good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ops/op.h"
#include "tests/fuzz/skiff_parts.h"

namespace skiff::testing {
namespace {

using ::testing::HasSubstr;

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

/// What a caller sets would be written to what another input is bound to.
TEST(MaliciousSkiff, InputsInAnother) {
  const char* const kSum = R"(graph g {
    input x: f32[4, 8]
    input w: f32[4, 8]
    y: f32[4, 8] = Add(x, w)
    output y = y
  })";
  const auto file = Damaged(kSum, [](format::ModelT&, format::PlanT& plan) {
    plan.tensors[Find(plan, "w")]->view_of = static_cast<int32_t>(Find(plan, "x"));
    plan.tensors[Find(plan, "w")]->offset = 0;
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("is an input twice, a constant, or a view"));
}

/// What lies at an input's place in the arena is not there where the input is bound.
TEST(MaliciousSkiff, MovesIntoAnInput) {
  const char* const kMoves = R"(graph g {
    input x: f32[4, 8]
    input w: f32[4, 8]
    const c: f32[4, 8] = seed 1
    const s: i64[2] = [8, 4]
    r = Reshape(x, s)
    z = Tanh(r)
    v = Add(x, c)
    q = Add(w, c)
    output z
    output v
    output q
  })";
  const auto constant = Damaged(kMoves, [](format::ModelT&, format::PlanT& plan) {
    const auto r = static_cast<int32_t>(Find(plan, "r"));
    format::TensorT& x = *plan.tensors[Find(plan, "x")];
    for (const auto& node : plan.nodes) {
      if (node->outputs[0] == r) node->inputs[0] = static_cast<int32_t>(Find(plan, "c"));
    }
    for (const auto& tensor : plan.tensors) {
      if (tensor->blob < 0 && tensor->view_of < 0 && tensor->offset == 0) tensor->offset = x.offset;
    }
    x.offset = 0;
    plan.tensors[Find(plan, "r")]->view_of = static_cast<int32_t>(Find(plan, "x"));
    plan.tensors[Find(plan, "r")]->offset = 0;
  });
  EXPECT_THAT(OpenAndRun(constant), HasSubstr("(Reshape) would overwrite graph input"));
  const auto input = Damaged(kMoves, [](format::ModelT&, format::PlanT& plan) {
    plan.tensors[Find(plan, "w")]->offset = plan.tensors[Find(plan, "x")]->offset;
    plan.tensors[Find(plan, "r")]->view_of = static_cast<int32_t>(Find(plan, "w"));
    plan.tensors[Find(plan, "r")]->offset = 0;
  });
  EXPECT_THAT(OpenAndRun(input), HasSubstr("(Reshape) would overwrite graph input"));
}

/// A row of a view that has gaps lies elsewhere than as many elements behind its begin, and is moved there.
TEST(MaliciousSkiff, MovesARowIntoAGap) {
  const char* const kRows = R"(graph g {
    input x: f32[2, 8]
    const none: i64[1] = [0]
    const half: i64[1] = [4]
    const one: i64[1] = [1]
    const two: i64[1] = [2]
    columns: f32[2, 4] = Slice(x, none, half, one)
    row: f32[1, 8] = Slice(x, one, two, none)
    left: f32[1, 4] = Slice(row, none, half, one)
    y: f32[2, 4] = Tanh(columns)
    z: f32[1, 4] = Exp(left)
    output y
    output z
  })";
  const auto file = Damaged(kRows, [](format::ModelT&, format::PlanT& plan) {
    const auto left = static_cast<int32_t>(Find(plan, "left"));
    for (const auto& node : plan.nodes) {
      if (node->outputs[0] == left) node->inputs[0] = static_cast<int32_t>(Find(plan, "columns"));
    }
    format::TensorT& moved = *plan.tensors[static_cast<size_t>(left)];
    moved.view_of = static_cast<int32_t>(Find(plan, "x"));
    moved.offset = 4 * sizeof(float);
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("(Slice) would overwrite its input 0 while reading it"));
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

/// Rows without elements are not walked through, for each of many operands.
TEST(MaliciousSkiff, ManyOperandsWithoutElements) {
  const std::string rows = std::to_string(1 << 23);
  std::string graph = "graph g {\n  input x: u8[" + rows + ", 1]\n  const e: u8[" + rows + ", 0] = []\n" +
                      "  y: u8[" + rows + ", 1] = Concat(x";
  for (int i = 0; i < 4000; ++i) graph += ", e";
  graph += ") {axis=1}\n  output y = y\n}\n";
  EXPECT_EQ(OpenAndRun(OpenedModel(graph).converted->file), "");
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

/// A list of operands is one in the file, however many nodes have it, and one for each in memory.
TEST(MaliciousSkiff, NodesOfOneListOfOperands) {
  const auto file = Damaged(kActivations, [](format::ModelT&, format::PlanT& plan) {
    plan.nodes[0]->inputs.resize(4000, plan.nodes[0]->inputs[0]);
    while (plan.nodes.size() < 600) plan.nodes.push_back(std::make_unique<format::NodeT>(*plan.nodes[0]));
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("more than 2097152 references"));
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

/// Where a piece lies is added up from all before it: not for each of many inputs.
TEST(MaliciousSkiff, SplitsAmongManyInputs) {
  constexpr int kMany = 2000;
  std::string graph = "graph g {\n  input x: f32[1, " + std::to_string(kMany) + "]\n";
  for (int i = 0; i < kMany; ++i) graph += "  input x" + std::to_string(i) + ": f32[1, 1]\n";
  graph += "  const sizes: i64[" + std::to_string(kMany) + "] = [1";
  for (int i = 1; i < kMany; ++i) graph += ", 1";
  graph += "]\n  p0: f32[1, 1]";
  for (int i = 1; i < kMany; ++i) graph += ", p" + std::to_string(i) + ": f32[1, 1]";
  graph += " = Split(x, sizes) {axis=1}\n  y: f32[1, 1] = Add(p3, p39)\n  output y = y\n}\n";
  EXPECT_EQ(OpenAndRun(OpenedModel(graph).converted->file), "");
}

/// Ports that are one, whose labels are one text: counted before anything looks at each. Of no type, these
/// would be refused next.
TEST(MaliciousSkiff, PortsThatShareTheirLabels) {
  const Parts parts(OpenedModel(kActivations).converted->file);
  for (const bool inputs : {false, true}) {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<flatbuffers::Offset<flatbuffers::String>> labels(3000, builder.CreateString("cat"));
    const auto list = builder.CreateVector(labels);
    format::PortBuilder port(builder);
    port.add_labels(list);
    const std::vector<flatbuffers::Offset<format::Port>> ports(1000, port.Finish());
    const auto port_list = builder.CreateVector(ports);
    format::SignatureBuilder signature(builder);
    inputs ? signature.add_inputs(port_list) : signature.add_outputs(port_list);
    const std::vector<flatbuffers::Offset<format::Signature>> signatures(1, signature.Finish());
    const auto signature_list = builder.CreateVector(signatures);
    format::ModelBuilder model(builder);
    model.add_format_version(1);
    model.add_signatures(signature_list);
    builder.Finish(model.Finish(), format::ModelIdentifier());
    const auto file = parts.Assemble(builder.GetBufferPointer(), builder.GetSize());
    EXPECT_THAT(OpenAndRun(file), HasSubstr("more than 2097152 references")) << inputs;
  }
}

TEST(MaliciousSkiff, SignaturesOfTooManyInputs) {
  const auto file = Damaged(kActivations, [](format::ModelT& model, format::PlanT& plan) {
    for (int i = 0; i < 4096; ++i) {
      model.signatures[0]->inputs.push_back(std::make_unique<format::PortT>(*model.signatures[0]->inputs[0]));
      plan.inputs.push_back(plan.inputs[0]);
    }
  });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("signature 'main' has more than 4096 inputs"));
}

/// A picture's channels are those that pictures have, wherever samples are written.
TEST(MaliciousSkiff, PicturesOfOtherChannels) {
  const auto with = [](uint32_t channels, bool bgr) {
    const std::string shape = "f32[1, 2, 2, " + std::to_string(channels) + "]";
    return OpenAndRun(
        Damaged("graph g {\n  input x: " + shape + "\n  y: " + shape + " = Tanh(x)\n  output y = y\n}\n",
                [&](format::ModelT& model, format::PlanT&) {
                  auto image = std::make_unique<format::ImageT>();
                  image->width = image->height = 2;
                  image->nhwc = true;
                  image->bgr = bgr;
                  image->mean.assign(channels, 0);
                  image->scale.assign(channels, 1);
                  model.signatures[0]->inputs[0]->image = std::move(image);
                }));
  };
  for (const uint32_t channels : {1u, 3u, 4u}) EXPECT_EQ(with(channels, false), "") << channels;
  for (const uint32_t channels : {3u, 4u}) EXPECT_EQ(with(channels, true), "") << channels;
  for (const uint32_t channels : {0u, 2u, 5u})
    EXPECT_THAT(with(channels, false), HasSubstr("do not fit its shape"));
  for (const uint32_t channels : {1u, 2u})
    EXPECT_THAT(with(channels, true), HasSubstr("do not fit its shape"));
}

const char* const kOpenRows = R"(graph g {
  symbol n: 1..
  input x: f32[n, 4]
  y = Tanh(x)
  output y = y
})";

/// Sums with these would wrap around, and no tensor has such an extent.
TEST(MaliciousSkiff, DimensionsThatBeginBeyondAnyTensor) {
  const auto with = [](int64_t min, int64_t multiple) {
    return OpenAndRun(Damaged(kOpenRows, [&](format::ModelT& model, format::PlanT&) {
      model.symbols[0]->min = min;
      model.symbols[0]->multiple = multiple;
    }));
  };
  for (const int64_t size : {(int64_t{1} << 46) + 1, INT64_MAX}) {
    EXPECT_THAT(with(size, 1), HasSubstr("dimension 0 has no sizes"));
    EXPECT_THAT(with(1, size), HasSubstr("dimension 0 has no sizes"));
  }
}

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

/// The shape program computes before there is an arena, and the data program reads its numbers by their rows.
TEST(MaliciousSkiff, ShapesInsideAnotherTensor) {
  const char* const kRead = R"(graph g {
    symbol n: 1..8
    input x: f32[n, 4]
    const two: i64[2] = [2, 1]
    const more: i64[1, 2] = [5, 3]
    const zero: f32[] = 0
    const one: i64[1] = [2]
    s = Shape(x)
    rows = Reshape(s, two)
    r = Add(rows, more)
    sums = ReduceSum(r) {axes=[1], keep_dims=false}
    e = Expand(zero, sums)
    y = Neg(r)
    output e = e
    output y = y
  })";
  const auto placed = [&](int32_t format::TensorT::*link, int64_t stride) {
    return OpenAndRun(Damaged(kRead, [&](format::ModelT&, format::PlanT& plan) {
      format::TensorT& r = *plan.tensors[Find(plan, "r")];
      r.*link = static_cast<int32_t>(Find(plan, "y"));
      r.row_stride = stride;
    }));
  };
  for (const int64_t stride : {int64_t{0}, int64_t{1} << 20})
    EXPECT_THAT(placed(&format::TensorT::view_of, stride), HasSubstr("is said to lie in another tensor"));
  EXPECT_THAT(placed(&format::TensorT::buffer, 0), HasSubstr("is said to lie in another tensor"));
}

/// `graph` with a variable v: f32[1], whose next value is said to be the first output.
std::vector<uint8_t> WithVariable(
    const std::string& graph, const std::vector<int64_t>& port,
    const PlanDamage& more = [](format::ModelT&, format::PlanT&) {}) {
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

/// A thousand variables begin as one blob of the file.
TEST(MaliciousSkiff, VariablesOfOneValue) {
  const auto file = Damaged(R"(graph g {
    input x: f32[1]
    const large: f32[32768] = seed 1
    y = Add(x, large)
    output y = y
  })",
                            [](format::ModelT& model, format::PlanT&) {
                              for (int i = 0; i < 1000; ++i) {
                                auto variable = std::make_unique<format::VariableT>();
                                variable->name = "v" + std::to_string(i);
                                variable->dtype = static_cast<uint8_t>(DType::kF32);
                                variable->extents = {32768};
                                for (uint32_t blob = 0; blob < model.blobs.size(); ++blob) {
                                  if (model.blobs[blob].size() == 4 * 32768) variable->blob = blob;
                                }
                                model.variables.push_back(std::move(variable));
                              }
                            });
  EXPECT_THAT(OpenAndRun(file), HasSubstr("the memory of the variables needs 131"));
  const AlignedBytes bytes(file);
  auto model = Model::Open(bytes.span());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(Variables::Create(**model, uint64_t{64} << 20).status().code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(Variables::Create(**model).ok()) << "less than the default";
}

}  // namespace
}  // namespace skiff::testing
