/// The yardstick: the XNNPACK operators of a plan, made by calls of its own (nothing of delegates/xnnpack is
/// used) and run in a plain loop.
#pragma once

#include <pthreadpool.h>
#include <xnnpack.h>

#include <memory>
#include <string>
#include <vector>

#include "format/model_data.h"

namespace skiff::bench {

class BareBuilder;

class BareNet {
 public:
  /// Tensors lie in `arena` where the plan puts them. `plan`, `arena` and `pool` outlive the net; `pool` may
  /// be null. XNNPACK must be initialised. Throws Error (kUnsupported) naming a node that it has no operators
  /// for.
  BareNet(const PlanData& plan, unsigned char* arena, pthreadpool_t pool);
  ~BareNet();
  BareNet(const BareNet&) = delete;
  BareNet& operator=(const BareNet&) = delete;

  /// One pass. Throws Error when XNNPACK fails.
  void Run() {
    for (xnn_operator_t op : operators_) {
      if (xnn_run_operator(op, pool_) != xnn_status_success) Failed();
    }
  }

  size_t operators() const { return operators_.size(); }
  /// Where a node is not exactly one XNNPACK operator: what stands for it and how often, one line each.
  std::vector<std::string> Substitutions() const;

 private:
  [[noreturn]] static void Failed();

  std::unique_ptr<BareBuilder> builder_;  ///< Owns the operators and their memory.
  std::vector<xnn_operator_t> operators_;
  pthreadpool_t pool_;
};

}  // namespace skiff::bench
