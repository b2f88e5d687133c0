/// What is measured: a model converted in this process, opened, with a Session whose inputs are set.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/convert_options.h"
#include "run/opened_model.h"

namespace skiff::bench {

class Subject {
 public:
  explicit Subject(const std::vector<uint8_t>& file, const std::string& inputs = "random:1");

  /// A Session with all inputs set. Its threads are those of `pool`, which may be null.
  std::unique_ptr<Session> NewSession(ThreadPool* pool);
  /// The same with `threads` of its own, as an application makes it.
  std::unique_ptr<Session> NewSession(int threads);
  const PlanData& plan() const { return opened_.data().signatures[0].plans[0]; }
  const NamedTensors& inputs() const { return inputs_; }

 private:
  std::unique_ptr<Session> NewSession(const SessionOptions& options);

  OpenedModel opened_;
  NamedTensors inputs_;
};

/// Where a Session's tensors lie: its plan's offsets count from here.
unsigned char* ArenaOf(Session& session, const PlanData& plan);

/// Parses the command line and runs `body`; exceptions become a message and an exit code.
int RunProgram(int argc, char** argv, CLI::App& app, const std::function<int()>& body);

}  // namespace skiff::bench
