// What a Session tells of nodes inside of If and While that a delegate refuses on this device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "delegates/xnnpack/support.h"
#include "ops/op_codes.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

/// How often a segment was asked for the size of its workspace.
int workspaces_asked = 0;

/// Stands in for XNNPACK on a device that can run nothing but `runs`: the rest falls back.
class Picky final : public Delegate {
 public:
  explicit Picky(OpCode runs) : runs_(runs) {}
  const DelegateSupport& support() const override { return XnnpackSupport(); }
  bool Has(const OpDef&) const override { return true; }
  Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions& options) const override {
    SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<ModelState> state, ReferenceDelegate().CreateModelState(options));
    return std::unique_ptr<ModelState>(new State(runs_, std::move(state)));
  }

 private:
  class Segment final : public PreparedSegment {
   public:
    Segment(OpCode runs, const SegmentView& view, std::unique_ptr<PreparedSegment> inner)
        : runs_(runs), view_(view), inner_(std::move(inner)) {}
    Status Reshape() override { return inner_->Reshape(); }
    Status Bind() override { return inner_->Bind(); }
    Status Run(const RunContext& context) override { return inner_->Run(context); }
    bool FellBack(uint32_t node) const override { return view_.nodes[node].op->code != runs_; }
    uint64_t workspace_bytes() const override {
      ++workspaces_asked;
      return inner_->workspace_bytes();
    }

   private:
    const OpCode runs_;
    const SegmentView view_;
    const std::unique_ptr<PreparedSegment> inner_;
  };
  class Threads final : public DelegateSession {
   public:
    Threads(OpCode runs, std::unique_ptr<DelegateSession> inner) : runs_(runs), inner_(std::move(inner)) {}
    Result<std::unique_ptr<PreparedSegment>> Prepare(const SegmentView& view) override {
      SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<PreparedSegment> segment, inner_->Prepare(view));
      return std::unique_ptr<PreparedSegment>(new Segment(runs_, view, std::move(segment)));
    }
    void Idle() override {}

   private:
    const OpCode runs_;
    const std::unique_ptr<DelegateSession> inner_;
  };
  class State final : public ModelState {
   public:
    State(OpCode runs, std::unique_ptr<ModelState> inner) : runs_(runs), inner_(std::move(inner)) {}
    Result<std::unique_ptr<DelegateSession>> CreateSession(const DelegateSessionOptions& options) override {
      SKIFF_ASSIGN_OR_RETURN(std::unique_ptr<DelegateSession> session, inner_->CreateSession(options));
      return std::unique_ptr<DelegateSession>(new Threads(runs_, std::move(session)));
    }
    PackedBytes packed_bytes() const override { return {}; }

   private:
    const OpCode runs_;
    const std::unique_ptr<ModelState> inner_;
  };
  const OpCode runs_;
};

TEST(Control, TellsWhatFellBackInBodies) {
  const OpenedModel opened(R"(graph g {
    input c: bool[]
    input d: bool[]
    input x: f32[300]
    y = If(c, d, x) then {
      input d
      input x
      a = Tanh(x)
      z = If(d, a) then {
        input a
        b = Abs(a)
        output b
      } else {
        input a
        b = Neg(a)
        output b
      }
      output z
    } else {
      input d
      input x
      a = Tanh(x)
      output a
    }
    output y
  })");
  for (const OpCode runs : {OpCode::kTanh, OpCode::kAbs}) {
    const Picky picky(runs);
    const Delegate* const delegates[] = {&picky};
    ModelOptions options;
    options.delegates = {delegates, 1};
    auto model = Model::Open(opened.bytes.span(), options);
    ASSERT_TRUE(model.ok());
    auto session = Session::Create(**model, {});
    ASSERT_TRUE(session.ok());
    ASSERT_EQ((*session)->node_count(), 1);
    EXPECT_EQ((*session)->node(0).delegate, DelegateKind::kControl);
    EXPECT_TRUE((*session)->node(0).fell_back) << "something inside of it";

    std::vector<std::string> seen;
    for (int i = 0; i < (*session)->inner_node_count(); ++i) {
      const NodeInfo node = (*session)->inner_node(i);
      if (node.op == std::string("If")) {
        EXPECT_EQ(node.delegate, DelegateKind::kControl);
        EXPECT_TRUE(node.fell_back);
      } else {
        const bool falls = node.op != std::string(OpName(runs));
        EXPECT_EQ(node.fell_back, falls) << node.op;
        EXPECT_EQ(node.delegate, falls ? DelegateKind::kReference : DelegateKind::kXnnpack) << node.op;
      }
      seen.push_back(node.op);
    }
    EXPECT_THAT(seen, ::testing::UnorderedElementsAre("Tanh", "If", "Abs", "Neg", "Tanh"));
    for (const int beyond : {-1, 5, 1 << 30}) {
      EXPECT_STREQ((*session)->node(beyond).op, "") << beyond;
      EXPECT_STREQ((*session)->inner_node(beyond).op, "") << beyond;
    }
  }
}

/// What the other shapes hold is added up for all bodies of a new shape, not for each.
TEST(Control, ManyBodiesAskOnceWhatASessionHolds) {
  constexpr int kNodes = 20;
  std::string text = "graph g { symbol n: 1..64 input c: bool[] input x: f32[n] y0 = Tanh(x) ";
  for (int i = 0; i < kNodes; ++i)
    text += "y" + std::to_string(i + 1) + " = If(c, y" + std::to_string(i) +
            ") then { input a b = Abs(a) output b } else { input a b = Neg(a) output b } ";
  const OpenedModel opened(text + "output y = y" + std::to_string(kNodes) + " }");
  const Picky picky(OpCode::kAbs);
  const Delegate* const delegates[] = {&picky};
  auto model = Model::Open(opened.bytes.span(), {{delegates, 1}});
  ASSERT_TRUE(model.ok());
  SessionOptions options;
  options.kept_shapes = 2;
  auto session = Session::Create(**model, options);
  ASSERT_TRUE(session.ok());
  auto c = (*session)->InputBuffer((*session)->FindInput("c"));
  ASSERT_TRUE(c.ok());
  *c->as<uint8_t>() = 0;
  for (const int64_t n : {3, 4}) {
    workspaces_asked = 0;
    auto x = (*session)->InputBuffer((*session)->FindInput("x"), Shape{n});
    ASSERT_TRUE(x.ok());
    std::fill_n(x->as<float>(), n, 0.5f);
    ASSERT_TRUE((*session)->Run().ok());
    ASSERT_EQ((*session)->inner_node_count(), 2 * kNodes);
    EXPECT_LT(workspaces_asked, 10 * 2 * kNodes) << n;
  }
}

}  // namespace
}  // namespace skiff::testing
