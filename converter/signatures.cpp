#include "signatures.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/nearest.h"
#include "passes/shapes/baked_sizes.h"

namespace skiff {
namespace {

bool HasDimension(const Graph& graph, const std::string& name) {
  return std::any_of(graph.symbols().begin(), graph.symbols().end(),
                     [&](const Symbol& symbol) { return symbol.name == name; });
}

std::string Quoted(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"));
}

[[noreturn]] void ThrowNoSignature(const std::string& name, const SourceModel& source) {
  std::vector<std::string> names;
  for (const SourceSignature& signature : source.signatures()) names.push_back(signature.name);
  Throw(StatusCode::kInvalidArgument, "--signature {}: the file has no such signature; it has {}{}", name,
        Quoted(names), DidYouMean(name, names));
}

std::map<std::string, size_t> RanksOf(const std::map<std::string, std::vector<int64_t>>& shapes) {
  std::map<std::string, size_t> ranks;
  for (const auto& [name, shape] : shapes) ranks[name] = shape.size();
  return ranks;
}

/// What an exporter has written into the net where --dim and --shape give other sizes: these are left out,
/// and the net tells. "" where it takes others, or is refused for another reason.
std::string BakedText(SourceModel& source, size_t index, const ImportOptions& without_sizes) {
  try {
    return fmt::format("{}", fmt::join(BakedSizes(source.Import(index, without_sizes)), "\n"));
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::string SignatureText(const std::string& name) { return fmt::format("signature '{}'", name); }

std::vector<size_t> ChooseSignatures(const SourceModel& source, const std::vector<std::string>& wanted) {
  std::vector<size_t> chosen;
  const auto& all = source.signatures();
  for (size_t i = 0; wanted.empty() && i < all.size(); ++i) chosen.push_back(i);
  for (const std::string& name : wanted) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    if (found == all.end()) ThrowNoSignature(name, source);
    const auto index = static_cast<size_t>(found - all.begin());
    if (std::find(chosen.begin(), chosen.end(), index) != chosen.end())
      Throw(StatusCode::kInvalidArgument, "--signature {}: was already given", name);
    chosen.push_back(index);
  }
  return chosen;
}

FixedInputs SharedOptions::FixedInputsOf(const SourceSignature& signature) {
  inputs_[signature.name] = signature.inputs;
  known_inputs_.insert(signature.inputs.begin(), signature.inputs.end());
  if (one_) return fixed_;
  FixedInputs own;
  for (const std::string& input : signature.inputs) {
    if (const auto found = fixed_.find(input); found != fixed_.end()) own.insert(*found);
  }
  return own;
}

ShapeContract SharedOptions::ContractOf(const std::string& signature, const Graph& graph) {
  std::vector<std::string>& dims = dims_[signature];
  dims.clear();
  for (const Symbol& symbol : graph.symbols()) dims.push_back(symbol.name);
  known_dims_.insert(dims.begin(), dims.end());
  if (one_) return contract_;
  ShapeContract own;
  for (const GraphPort& port : graph.caller_inputs()) {
    if (const auto found = contract_.shapes.find(port.name); found != contract_.shapes.end())
      own.shapes.insert(*found);
  }
  for (const std::string& dim : dims) {
    if (const auto found = contract_.dims.find(dim); found != contract_.dims.end()) own.dims.insert(*found);
  }
  return own;
}

void SharedOptions::ThrowUnknown(const std::string& option, const char* kind, const std::string& name,
                                 const std::map<std::string, std::vector<std::string>>& known) const {
  std::string text;
  std::vector<std::string> all;
  for (const auto& [signature, names] : known) all.insert(all.end(), names.begin(), names.end());
  for (const auto& [signature, names] : known)
    text += fmt::format("{}'{}' has {}", text.empty() ? "" : "; ", signature, Quoted(names));
  Throw(StatusCode::kInvalidArgument, "{}: no signature has the {} '{}': {}{}", option, kind, name, text,
        DidYouMean(name, all));
}

void SharedOptions::CheckAllUsed() const {
  if (one_) return;
  for (const auto& [name, number] : fixed_) {
    if (!known_inputs_.contains(name))
      ThrowUnknown(fmt::format("--set {}={}", name, number), "input", name, inputs_);
  }
  for (const auto& [name, shape] : contract_.shapes) {
    if (!known_inputs_.contains(name))
      ThrowUnknown(fmt::format("--shape {}={}", name, fmt::join(shape, "x")), "input", name, inputs_);
  }
  for (const auto& [name, range] : contract_.dims) {
    if (!known_dims_.contains(name))
      ThrowUnknown(fmt::format("--dim {}={}", name, RangeText(range)), "dimension", name, dims_);
  }
}

std::vector<StatePair> StatesOf(const Graph& graph, const std::vector<StatePair>& states,
                                bool only_signature) {
  std::vector<StatePair> own = states;
  const auto has = [&](const StatePair& pair) {
    const auto inputs = graph.caller_inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const GraphPort& port) { return port.name == pair.input; });
  };
  if (!only_signature) std::erase_if(own, [&](const StatePair& pair) { return !has(pair); });
  return own;
}

std::vector<NamedGraph> ImportSignatures(
    SourceModel& source, const ConvertOptions& options,
    const std::function<void(const Graph& graph, ShapeContract& contract)>& extend) {
  const std::vector<size_t> chosen = ChooseSignatures(source, options.signatures);
  const bool unnamed = source.signatures().size() == 1 && options.signatures.empty();
  SharedOptions shared(options.fixed_inputs, options, chosen.size());
  std::vector<NamedGraph> graphs;
  std::set<std::string> kept;
  for (const size_t index : chosen) {
    const SourceSignature& signature = source.signatures()[index];
    const auto fix = [&](Graph& graph) {
      ShapeContract contract = shared.ContractOf(signature.name, graph);
      if (extend) extend(graph, contract);
      FixShapes(graph, contract);
    };
    const FixedInputs fixed = shared.FixedInputsOf(signature);
    try {
      Graph graph = source.Import(index, {fixed, fix, RanksOf(options.shapes)});
      for (const auto& [name, number] : fixed)
        graph.stated.emplace_back("set:" + name, fmt::format("{}", number));
      KeepStates(graph, StatesOf(graph, options.states, chosen.size() == 1));
      for (const GraphVariable& variable : graph.variables) kept.insert(variable.name);
      graphs.push_back({unnamed ? kMainSignature : signature.name, std::move(graph)});
    } catch (const Error& error) {
      if (error.code() == StatusCode::kInvalidModel && !(options.dims.empty() && options.shapes.empty())) {
        const std::string baked = BakedText(source, index, {fixed, {}, RanksOf(options.shapes)});
        if (!baked.empty()) throw Error(error.code(), fmt::format("{}\n{}", error.what(), baked));
      }
      if (chosen.size() == 1 || error.code() != StatusCode::kUnsupported) throw;
      throw Error(error.code(),
                  fmt::format("{}\n(--signature NAME leaves out what is not named: the file has "
                              "{} signatures)",
                              error.what(), source.signatures().size()));
    }
  }
  shared.CheckAllUsed();
  for (const StatePair& pair : options.states) {
    if (!kept.contains(pair.input))
      Throw(StatusCode::kInvalidArgument, "--state {}={}: no signature has the input '{}'", pair.input,
            pair.output, pair.input);
  }
  return graphs;
}

std::vector<Bucket> BucketsOf(const Graph& graph, const std::vector<Bucket>& buckets) {
  std::vector<Bucket> own;
  for (const Bucket& bucket : buckets) {
    Bucket part;
    for (const auto& [name, range] : bucket) {
      if (HasDimension(graph, name)) part.emplace(name, range);
    }
    if (!part.empty() && std::find(own.begin(), own.end(), part) == own.end()) own.push_back(part);
  }
  return own;
}

void CheckBuckets(const std::vector<NamedGraph>& graphs, const std::vector<Bucket>& buckets) {
  for (const Bucket& bucket : buckets) {
    for (const auto& [name, range] : bucket) {
      const bool known = std::any_of(graphs.begin(), graphs.end(), [&, &dim = name](const NamedGraph& one) {
        return HasDimension(one.graph, dim);
      });
      if (!known)
        Throw(StatusCode::kInvalidArgument, "--bucket {}={}: no signature has the dimension '{}'", name,
              RangeText(range), name);
    }
  }
}

}  // namespace skiff
