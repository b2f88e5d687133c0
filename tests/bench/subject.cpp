#include "tests/bench/subject.h"

#include "cli/input_files.h"
#include "graph/error.h"

namespace skiff::bench {

Subject::Subject(const std::vector<uint8_t>& file, const std::string& inputs)
    : opened_(file), inputs_(cli::ReadInputSource(inputs, opened_.model(), SymbolSizes(opened_.model()))) {}

std::unique_ptr<Session> Subject::NewSession(const SessionOptions& options) {
  std::unique_ptr<Session> session = CreateSession(opened_.model(), options);
  SetInputs(*session, inputs_);
  return session;
}

std::unique_ptr<Session> Subject::NewSession(ThreadPool* pool) {
  SessionOptions options;
  options.threads = 1;
  options.thread_pool = pool;
  return NewSession(options);
}

std::unique_ptr<Session> Subject::NewSession(int threads) {
  SessionOptions options;
  options.threads = threads;
  return NewSession(options);
}

unsigned char* ArenaOf(Session& session, const PlanData& plan) {
  if (plan.inputs.empty()) Throw(StatusCode::kInvalidArgument, "a model without inputs cannot be measured");
  const auto tensor = static_cast<size_t>(plan.inputs[0]);
  const TensorPlacement& placement = plan.placements[tensor];
  const bool root = placement.view_of == TensorPlacement::kRoot;
  const uint64_t whole = root ? 0 : plan.placements[static_cast<size_t>(placement.view_of)].offset;
  const TensorView view = Must([&] { return session.InputBuffer(0); });
  return static_cast<unsigned char*>(view.data) - placement.offset - whole;
}

int RunProgram(int argc, char** argv, CLI::App& app, const std::function<int()>& body) {
  try {
    app.parse(argc, argv);
    return body();
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
    return 1;
  }
}

}  // namespace skiff::bench
