/// A node whose way is chosen anew at each shape.
#pragma once

#include "delegates/xnnpack/lower/step.h"

namespace skiff::xnnpack {

/// One of a few steps, each of which is made when it is first chosen: the numbers of a shape do not depend on
/// those that came before.
class ByShapeStep : public Step {
 public:
  using Step::Step;

  Status Reshape() final {
    const size_t way = Choose();
    if (ways_[way] == nullptr) {
      SKIFF_ASSIGN_OR_RETURN(ways_[way], Make(way));
    }
    chosen_ = ways_[way].get();
    SKIFF_RETURN_IF_ERROR(chosen_->Reshape());
    workspace_bytes_ = chosen_->workspace_bytes();
    leads_ = chosen_->leads();
    return OkStatus();
  }
  Status Bind(void* workspace) final {
    chosen_->SetCodes(codes_);
    return chosen_->Bind(workspace);
  }
  Status Run() final {
    chosen_->SetFollower(follower());
    return chosen_->Run();
  }

 protected:
  static constexpr size_t kWays = 3;
  /// One of kWays.
  virtual size_t Choose() = 0;
  virtual Result<StepPointer> Make(size_t way) const = 0;

 private:
  StepPointer ways_[kWays];
  Step* chosen_ = nullptr;
};

}  // namespace skiff::xnnpack
