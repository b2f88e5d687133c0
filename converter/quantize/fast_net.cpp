#include "quantize/fast_net.h"

#include <set>

#include "files/tensor_files.h"

namespace skiff {

FastNet::FastNet(Graph graph, const std::vector<ValueId>& wanted, int threads) {
  for (const GraphPort& port : graph.caller_outputs()) outputs_.push_back(port.name);
  const size_t inputs = graph.caller_inputs().size();
  for (size_t i = 0; i < graph.variables.size(); ++i) {
    states_.push_back({graph.inputs()[inputs + i].name, graph.outputs()[outputs_.size() + i].name,
                       graph.variables[i].first});
  }
  graph.variables.clear();  // Their ports are the caller's now, which is this class.
  std::set<std::string> taken;
  for (const GraphPort& port : graph.outputs()) taken.insert(port.name);
  for (const ValueId value : wanted) {
    std::string name = graph.value(value).name + ".wanted";
    while (!taken.insert(name).second) name += '+';
    graph.AddOutput(name, value);
    wanted_.push_back(std::move(name));
  }
  const std::unique_ptr<ConvertResult> converted = ConvertGraph(std::move(graph));
  file_bytes_ = converted->file.size();
  opened_ = std::make_unique<OpenedModel>(converted->file);
  SessionOptions options;
  options.threads = threads;
  session_ = CreateSession(opened_->model(), options);
}

NamedTensors FastNet::Run(const NamedTensors& inputs) {
  return Run(inputs, [](size_t, const TensorView&) {});
}

NamedTensors FastNet::Run(const NamedTensors& inputs,
                          const std::function<void(size_t wanted, const TensorView& view)>& visit) {
  NamedTensors all = inputs;
  for (const State& state : states_) all[state.input] = state.now;
  SetInputs(*session_, all);
  Must([&] { return session_->Run(); });
  const auto output = [&](const std::string& name) {
    return Must([&] { return session_->Output(name.c_str()); });
  };
  for (State& state : states_) state.now = DenseCopy(output(state.output));
  for (size_t i = 0; i < wanted_.size(); ++i) visit(i, output(wanted_[i]));
  NamedTensors outputs;
  for (const std::string& name : outputs_) outputs[name] = DenseCopy(output(name));
  return outputs;
}

}  // namespace skiff
