/// A graph that runs by its fast plan, with values of its inside as further outputs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "convert.h"
#include "run/opened_model.h"

namespace skiff {

class FastNet {
 public:
  /// Of a graph with variables, what a run leaves in them is what the next one begins with.
  FastNet(Graph graph, const std::vector<ValueId>& wanted, int threads = 0);

  /// Runs, and returns the outputs of the callers' ports, by name.
  NamedTensors Run(const NamedTensors& inputs);
  /// The same; `visit` sees the wanted values, by their places in the list.
  NamedTensors Run(const NamedTensors& inputs,
                   const std::function<void(size_t wanted, const TensorView& view)>& visit);

  size_t file_bytes() const { return file_bytes_; }
  const Session& session() const { return *session_; }

 private:
  struct State {
    std::string input;
    std::string output;
    TensorData now;
  };

  std::vector<std::string> outputs_;
  std::vector<std::string> wanted_;
  std::vector<State> states_;
  size_t file_bytes_ = 0;
  std::unique_ptr<OpenedModel> opened_;
  std::unique_ptr<Session> session_;
};

}  // namespace skiff
