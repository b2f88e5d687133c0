// What a build that leaves operators out refuses, before anything runs.
#include "session/operator_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error_capture.h"
#include "delegates/xnnpack/support.h"
#include "ops/op_codes.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A delegate whose build has no operator, in place of XNNPACK's.
class EmptyDelegate final : public Delegate {
 public:
  const DelegateSupport& support() const override { return XnnpackSupport(); }
  bool Has(const OpDef&) const override { return false; }
  Result<std::unique_ptr<ModelState>> CreateModelState(const ModelStateOptions&) const override {
    return Fail(StatusCode::kInternal, "nothing may be prepared");
  }
};

/// The small net's first plan, whose Conv2d lacks what a smaller build would leave out.
class OperatorCheck : public ::testing::Test {
 protected:
  OperatorCheck() : opened_(kSmallNet) {
    auto& plan = const_cast<PlanData&>(opened_.model->data().signatures[0].plans[0]);
    for (PlanNode& node : plan.nodes) {
      if (node.op->code != OpCode::kConv2d) continue;
      without_kernel_ = *node.op;
      without_kernel_.kernel = nullptr;
      node.op = &without_kernel_;
      if (name_.empty()) name_ = node.name;
    }
    plan_ = &plan;
  }

  std::string Refusal(Backend backend, const Model& model) {
    ErrorCapture capture;
    EXPECT_EQ(CheckOperators(*plan_, backend, model).code(), StatusCode::kUnsupported);
    return capture.message();
  }

  OpenedModel opened_;
  OpDef without_kernel_;
  PlanData* plan_ = nullptr;
  std::string name_;
};

TEST_F(OperatorCheck, ALoweringIsEnoughForOneShape) {
  EXPECT_TRUE(CheckOperators(*plan_, Backend::kPlanned, *opened_.model).ok());
}

TEST_F(OperatorCheck, TheReferenceBackendNeedsKernels) {
  EXPECT_THAT(Refusal(Backend::kReference, *opened_.model),
              AllOf(HasSubstr("'" + name_ + "'"), HasSubstr("leaves out Conv2d for the reference delegate"),
                    HasSubstr("skiff size-list")));
}

TEST_F(OperatorCheck, ALoweringMayRefuseAShapeOfARange) {
  plan_->kind = BucketKind::kRelaxed;
  EXPECT_THAT(Refusal(Backend::kPlanned, *opened_.model),
              HasSubstr("leaves out Conv2d for the reference delegate"));
}

TEST_F(OperatorCheck, NeitherLoweringNorKernel) {
  static const EmptyDelegate empty;
  const Delegate* const delegates[] = {&empty};
  auto model = Model::Open(opened_.bytes.span(), {{delegates, 1}});
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(Refusal(Backend::kPlanned, **model), HasSubstr("leaves out Conv2d for the xnnpack delegate"));
}

TEST_F(OperatorCheck, ShapeProgramsNeedKernels) {
  plan_->shape_node_count = static_cast<uint32_t>(plan_->nodes.size());
  plan_->segments = {};
  EXPECT_THAT(Refusal(Backend::kPlanned, *opened_.model),
              HasSubstr("leaves out Conv2d for the reference delegate"));
}

}  // namespace
}  // namespace skiff::testing
