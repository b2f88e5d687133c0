#include "tests/fuzz/convert_and_run.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/error_capture.h"
#include "delegates/registry.h"
#include "graph/error.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

/// A damaged condition can make a loop endless: after two seconds the run is cancelled.
class EndsIfLate {
 public:
  explicit EndsIfLate(Session& session)
      : waiting_([this, &session] {
          std::unique_lock lock(mutex_);
          while (!over_.wait_for(lock, std::chrono::seconds(2), [this] { return done_; })) session.Cancel();
        }) {}
  ~EndsIfLate() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_one();
    waiting_.join();
  }
  EndsIfLate(const EndsIfLate&) = delete;
  EndsIfLate& operator=(const EndsIfLate&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread waiting_;
};

}  // namespace

std::string ConvertAndRun(const std::function<Graph()>& import) {
  try {
    Graph graph = import();
    ConvertOptions options;
    for (const Symbol& symbol : graph.symbols()) options.dims[symbol.name] = 2;
    FixShapes(graph, options);
    int64_t elements = 0;
    for (const GraphPort& port : graph.caller_inputs())
      elements += graph.value(port.value).shape().elements();
    if (elements > (1 << 20)) return "left out: inputs of over a million elements";
    const auto inputs = RandomInputs(graph, 1);
    const auto converted = ConvertGraph(graph, options);
    const AlignedBytes file(converted->file);
    ErrorCapture capture;
    ModelOptions model_options;
    model_options.delegates = BuiltinDelegates();
    Result<std::unique_ptr<Model>> model = Model::Open(file.span(), model_options);
    if (!model.ok()) return std::string("OWN FILE REFUSED ") + capture.message();
    SessionOptions session_options;
    session_options.threads = 1;
    session_options.memory_limit = uint64_t{64} << 20;
    Result<std::unique_ptr<Session>> session = Session::Create(**model, session_options);
    if (!session.ok()) return capture.message();
    const EndsIfLate limit(**session);
    RunSession(**session, inputs);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace skiff::testing
