/// Damages .skiff files, and opens and runs them.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error_capture.h"
#include "skiff/delegates.h"
#include "tests/fuzz/file_parts.h"
#include "tests/fuzz/run_for_a_while.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {

using PlanDamage = std::function<void(format::ModelT&, format::PlanT&)>;

/// The file of a graph in the text form, its first plan damaged.
inline std::vector<uint8_t> Damaged(const std::string& graph, const PlanDamage& damage) {
  const Parts parts(OpenedModel(graph).converted->file);
  const std::unique_ptr<format::ModelT> model = parts.Unpack();
  damage(*model, *model->signatures[0]->plans[0]);
  return parts.Assemble(*model);
}

struct Way {
  Backend backend;
  Target target;
};
inline const std::vector<Way> kOnCpu = {{Backend::kReference, Target::kCpu},
                                        {Backend::kPlanned, Target::kCpu}};
inline const std::vector<Way> kOnGpu = {{Backend::kPlanned, Target::kVulkan}};

/// Opens a file and runs it in each of these ways; the error's text, or "".
inline std::string OpenAndRun(const std::vector<uint8_t>& file, bool keep_intermediates = false,
                              const std::vector<Way>& ways = kOnCpu) {
  const AlignedBytes bytes(file);
  ErrorCapture capture;
  ModelOptions options;
  options.delegates = BuiltinDelegates();
  Result<std::unique_ptr<Model>> model = Model::Open(bytes.span(), options);
  if (!model.ok()) return capture.message();
  for (const Way& way : ways) {
    SessionOptions session_options;
    session_options.backend = way.backend;
    session_options.target = way.target;
    session_options.fall_back = false;
    session_options.threads = 1;
    session_options.memory_limit = uint64_t{64} << 20;
    session_options.keep_intermediates = keep_intermediates;
    Result<std::unique_ptr<Session>> session = Session::Create(**model, session_options);
    if (!session.ok()) return capture.message();
    for (size_t i = 0; i < (*session)->signature().inputs.size(); ++i) {
      Result<TensorView> input = (*session)->InputBuffer(static_cast<int>(i));
      if (!input.ok()) return capture.message();
      // Small reals and, as integers, the index 1 or 0: a Gather of an undamaged file stays in range.
      const TensorView& view = input.value();
      std::memset(view.data, 0, static_cast<size_t>(view.bytes()));
      for (int64_t j = 0; j < view.bytes(); j += 8) view.as<uint8_t>()[j] = 1;
    }
    if (const Status status = RunForAWhile(**session); !status.ok())
      return status.code() == StatusCode::kCancelled ? "an endless loop was cancelled" : capture.message();
  }
  return "";
}

}  // namespace skiff::testing
