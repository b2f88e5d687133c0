#include "cli/parity_calls.h"

#include <algorithm>

#include "cli/parse_sizes.h"
#include "graph/error.h"
#include "parity/sweep.h"

namespace skiff::cli {
namespace {

/// Sizes of the calls of a model that is there already: --dim and --shape. Of several signatures each takes
/// what it has.
SymbolSizes CallAtOptions(const ParityArguments& arguments, const ModelSignature& signature,
                          std::set<std::string>& used) {
  SymbolSizes call(signature);
  if (arguments.model.empty()) return call;  // They are the conversion's.
  NamedSizes dims;
  for (const std::string& text : arguments.dims) ParseSizes("--dim", text, dims);
  NamedShapes shapes = ParseShapes(arguments.shapes);
  if (signature.model().signature_count() > 1) {
    const std::vector<std::string> inputs = NamesOf(signature.info().inputs);
    std::erase_if(dims, [&](const auto& size) { return !call.Has(size.first); });
    std::erase_if(shapes, [&](const auto& shape) {
      return std::find(inputs.begin(), inputs.end(), shape.first) == inputs.end();
    });
  }
  call.Set(dims, "--dim");
  call.SetShapes(shapes, signature.info().inputs);
  for (const auto& [name, size] : dims) used.insert(name);
  return call;
}

}  // namespace

std::vector<SymbolSizes> CallsOf(const ParityArguments& arguments, const ModelSignature& signature,
                                 std::set<std::string>& used) {
  std::vector<SymbolSizes> calls;
  for (const std::string& text : arguments.at) {
    NamedSizes named;
    ParseSizes("--at", text, named);
    SymbolSizes call = CallAtOptions(arguments, signature, used);
    if (signature.model().signature_count() > 1) {
      std::erase_if(named, [&](const auto& size) { return !call.Has(size.first); });
      if (named.empty()) continue;
    }
    call.Set(named, "--at");
    for (const auto& [name, size] : named) used.insert(name);
    calls.push_back(std::move(call));
  }
  if (arguments.sweep) {
    for (const std::vector<int64_t>& sizes : SweepSizes(signature))
      calls.emplace_back(signature).sizes = sizes;
  }
  if (calls.empty()) calls.push_back(CallAtOptions(arguments, signature, used));
  return calls;
}

InputRanges RangesOf(const InputRanges& ranges, const ModelSignature& signature,
                     std::set<std::string>& used) {
  if (signature.model().signature_count() == 1) return ranges;
  InputRanges own;
  for (const PortInfo& port : signature.info().inputs) {
    if (const auto found = ranges.find(port.name); found != ranges.end()) own.insert(*found);
    used.insert(port.name);
  }
  return own;
}

void CheckUsed(const ParityArguments& arguments, const InputRanges& ranges, const std::set<std::string>& dims,
               const std::set<std::string>& inputs) {
  for (const std::string& text : arguments.at) {
    NamedSizes named;
    ParseSizes("--at", text, named);
    for (const auto& [name, size] : named) {
      if (!dims.contains(name))
        Throw(StatusCode::kInvalidArgument, "--at {}={}: no signature has an open dimension '{}'", name, size,
              name);
    }
  }
  NamedSizes said;
  for (const std::string& text : arguments.dims) {
    if (!arguments.model.empty()) ParseSizes("--dim", text, said);
  }
  for (const auto& [name, size] : said) {
    if (!dims.contains(name))
      Throw(StatusCode::kInvalidArgument, "--dim {}={}: no signature has an open dimension '{}'", name, size,
            name);
  }
  for (const auto& [name, range] : ranges) {
    if (!inputs.contains(name))
      Throw(StatusCode::kInvalidArgument, "--input-range {}: no signature has an input '{}'", name, name);
  }
}

}  // namespace skiff::cli
