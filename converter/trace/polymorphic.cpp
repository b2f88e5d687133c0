#include "trace/polymorphic.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "graph/error.h"
#include "skiff/log.h"
#include "trace/apply.h"
#include "trace/effects.h"
#include "trace/frame.h"
#include "trace/mode.h"
#include "trace/words.h"

namespace skiff::eager {
namespace {

struct EagerFunctions;
using EagerMode = Mode<EagerFunctions>;

double Seconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<TensorSpec> SpecsOf(const Tensors& arguments) {
  std::vector<TensorSpec> specs;
  for (const Tensor& argument : arguments) specs.push_back(SpecOf(argument));
  return specs;
}

std::string TypesText(const std::vector<TensorSpec>& types) {
  std::vector<std::string> texts;
  for (const TensorSpec& type : types) texts.push_back(type.Text());
  return fmt::format("({})", fmt::join(texts, ", "));
}

/// The number of arguments, their dtypes and ranks.
std::string FamilyKey(const std::vector<TensorSpec>& types, const std::string& static_arguments) {
  std::string key = static_arguments;
  for (const TensorSpec& type : types) key += fmt::format(";{}{}", DTypeName(type.dtype), type.dims.size());
  return key;
}

std::vector<int64_t> ExtentsOf(const std::vector<TensorSpec>& types) {
  std::vector<int64_t> extents;
  for (const TensorSpec& type : types) {
    for (const DimSpec& dim : type.dims) extents.push_back(dim.size());
  }
  return extents;
}

bool HasOpen(const std::vector<TensorSpec>& types) {
  return std::any_of(types.begin(), types.end(), [](const TensorSpec& type) {
    return std::any_of(type.dims.begin(), type.dims.end(), [](const DimSpec& dim) { return dim.open(); });
  });
}

bool SameTypes(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b) {
  return TypesText(a) == TypesText(b);
}

}  // namespace

void SetRunFunctionsEagerly(bool on) { EagerMode::SetEverywhere(on); }
bool FunctionsRunEagerly() { return EagerMode::On(); }
ScopedRunEagerly::ScopedRunEagerly(bool on)
    : before_(static_cast<int>(EagerMode::Set(on ? Override::kOn : Override::kOff))) {}
ScopedRunEagerly::~ScopedRunEagerly() { EagerMode::Set(static_cast<Override>(before_)); }

Polymorphic::Polymorphic(FunctionOptions options) : options_(std::move(options)) {
  for (const std::string& type : options_.input_signature) signature_.push_back(ParseTensorSpec(type));
  NameUnnamed(signature_);
}

/// A `?` is equal to no other, of another argument neither.
void Polymorphic::NameUnnamed(std::vector<TensorSpec>& types) const {
  for (size_t i = 0; i < types.size(); ++i) {
    for (DimSpec& dim : types[i].dims) {
      if (dim.open() && dim.name[0] == '?')
        dim.name = fmt::format("{}#{}", ArgumentName(i), dim.name.substr(1));
    }
  }
}

std::string Polymorphic::ArgumentName(size_t index) const {
  return index < options_.argument_names.size() ? options_.argument_names[index] : fmt::format("x{}", index);
}

bool Polymorphic::RunsEagerly() const {
  // A scope of the calling thread comes first, then the function's own setting, then everybody's.
  return EagerMode::Overridden() ? EagerMode::On() : options_.run_eagerly.value_or(EagerMode::On());
}

Tensors Polymorphic::Call(const Tensors& arguments, const std::string& static_arguments, const Body& body,
                          std::shared_ptr<ConcreteFunction>* used) {
  const std::shared_ptr<ConcreteFunction> found = Choose(arguments, static_arguments, body);
  if (used != nullptr) *used = found;
  return found ? found->Call(arguments) : body(arguments);
}

/// Null where the C++ code itself shall run.
std::shared_ptr<ConcreteFunction> Polymorphic::Choose(const Tensors& arguments,
                                                      const std::string& static_arguments, const Body& body) {
  // Without the lock: two Functions that are traced by two threads may call each other.
  if (Frame::Current() != nullptr) {
    ++inlined_calls_;
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (RunsEagerly()) {
    ++statistics_.eager_calls;
    return nullptr;
  }
  std::shared_ptr<ConcreteFunction> found = Find(arguments, static_arguments);
  ++(found ? statistics_.hits : statistics_.misses);
  if (!found) found = TraceFor(arguments, static_arguments, body);
  found->last_use = ++uses_;
  last_ = found;
  return found;
}

void Polymorphic::RunEagerly(bool on) {
  const std::lock_guard lock(mutex_);
  options_.run_eagerly = on;
}

/// The one with the fewest open extents. Calls often repeat, and nothing has fewer than none: the one used
/// last is asked first.
std::shared_ptr<ConcreteFunction> Polymorphic::Find(const Tensors& arguments,
                                                    const std::string& static_arguments) {
  const bool checks_results = ChecksEveryResult();
  const auto match = [&](const ConcreteFunction& candidate) {
    const bool same =
        candidate.checks_results() == checks_results && candidate.static_arguments() == static_arguments;
    return same ? MatchTypes(candidate.arguments(), arguments) : -1;
  };
  if (last_ && match(*last_) == 0) return last_;
  const std::shared_ptr<ConcreteFunction>* best = nullptr;
  int fewest = 0;
  for (const auto& candidate : concrete_) {
    const int open = match(*candidate);
    if (open < 0 || (best != nullptr && open >= fewest)) continue;
    best = &candidate;
    fewest = open;
    if (open == 0) break;
  }
  return best == nullptr ? nullptr : *best;
}

void Polymorphic::RefuseArguments(const Tensors& arguments) const {
  std::string got;
  for (const Tensor& argument : arguments) got += (got.empty() ? "" : ", ") + argument.TypeText();
  Throw(
      StatusCode::kInvalidArgument,
      "'{}' was called with ({}), which its input_signature {} does not allow; equal names mean equal sizes",
      options_.name, got, TypesText(signature_));
}

std::shared_ptr<ConcreteFunction> Polymorphic::TraceFor(const Tensors& arguments,
                                                        const std::string& static_arguments,
                                                        const Body& body) {
  if (!signature_.empty()) {
    if (MatchTypes(signature_, arguments) < 0) RefuseArguments(arguments);
    Keep(Trace(signature_, static_arguments, body));
    return concrete_.back();
  }
  const std::vector<TensorSpec> exact = SpecsOf(arguments);
  const std::string key = FamilyKey(exact, static_arguments);
  Family& family = FamilyOf(key);
  if (family.extents.size() == kMostExtents) family.extents.erase(family.extents.begin());
  family.extents.push_back(ExtentsOf(exact));
  std::shared_ptr<ConcreteFunction> made;
  const std::vector<TensorSpec> relaxed =
      options_.relax_shapes && family.relaxable ? Relaxed(exact, family) : exact;
  if (HasOpen(relaxed)) {
    try {
      made = Trace(relaxed, static_arguments, body);
    } catch (const Error&) {
      family.relaxable =
          false;  // The code needs a number; it gets one per trace, and says what is wrong itself.
    }
  }
  if (!made) made = Trace(exact, static_arguments, body);
  Keep(made);
  Advise(exact, key);
  return made;
}

Polymorphic::Family& Polymorphic::FamilyOf(const std::string& key) {
  if (families_.size() == kMostFamilies && !families_.contains(key)) {
    families_.erase(std::min_element(families_.begin(), families_.end(), [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    }));
  }
  Family& family = families_[key];
  family.last_use = ++uses_;
  return family;
}

/// Extents that were always the same stay numbers. Those that varied become Symbols, shared by extents that
/// were always equal to each other.
std::vector<TensorSpec> Polymorphic::Relaxed(const std::vector<TensorSpec>& exact,
                                             const Family& family) const {
  std::vector<TensorSpec> relaxed = exact;
  std::map<std::vector<int64_t>, std::string> symbols;
  size_t at = 0;
  for (size_t i = 0; i < relaxed.size(); ++i) {
    for (size_t axis = 0; axis < relaxed[i].dims.size(); ++axis, ++at) {
      std::vector<int64_t> seen;
      for (const auto& extents : family.extents) seen.push_back(extents[at]);
      if (std::all_of(seen.begin(), seen.end(), [&](int64_t size) { return size == seen[0]; })) continue;
      const auto [symbol, fresh] = symbols.try_emplace(seen, fmt::format("{}#{}", ArgumentName(i), axis));
      relaxed[i].dims[axis].name = symbol->second;
      relaxed[i].dims[axis].range =
          DimRange(std::min<int64_t>(1, *std::min_element(seen.begin(), seen.end())), Symbol::kUnbounded);
    }
  }
  return relaxed;
}

std::shared_ptr<ConcreteFunction> Polymorphic::Trace(std::vector<TensorSpec> types,
                                                     const std::string& static_arguments, const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  const auto frame = std::make_shared<Frame>(options_.name, nullptr);
  ConcreteFunction::Traced traced;
  {
    const FrameScope scope(frame);
    Tensors arguments;
    for (size_t i = 0; i < types.size(); ++i) {
      std::vector<Dim> dims;
      for (const DimSpec& dim : types[i].dims) {
        if (!dim.open()) {
          dims.emplace_back(dim.size());
          continue;
        }
        const SymbolId id = frame->graph.AddSymbol(dim.name);
        Symbol& symbol = frame->graph.symbols()[static_cast<size_t>(id)];
        symbol.min = dim.range.min;
        symbol.max = dim.range.max;
        symbol.multiple = dim.range.multiple;
        dims.push_back(Dim::OfSymbol(id, symbol));
      }
      const ValueId input = frame->graph.AddInput(ArgumentName(i), types[i].dtype, dims);
      arguments.push_back(frame->Export(input, Location()));
    }
    const Tensors results = body(arguments);
    const std::vector<std::string>& names = frame->result_form.names;
    for (size_t i = 0; i < results.size(); ++i)
      frame->graph.AddOutput(i < names.size() ? names[i] : fmt::format("result{}", i),
                             frame->Import(results[i], Location::current()));
  }
  frame->Finish();
  for (const auto& variable : frame->assigned()) {
    frame->graph.AddOutput(variable->name + ".next", frame->Read(variable));
    traced.assigned.push_back(variable);
  }
  for (const Capture& capture : frame->captures()) traced.reads.push_back(capture.variable);
  traced.graph = std::move(frame->graph);
  traced.arguments = std::move(types);
  traced.static_arguments = static_arguments;
  traced.checks_results = ChecksEveryResult();
  traced.result_form = frame->result_form.id;
  traced.trace_seconds = Seconds(begin);
  ++statistics_.traces;
  return std::make_shared<ConcreteFunction>(std::move(traced), options_);
}

void Polymorphic::Keep(std::shared_ptr<ConcreteFunction> made) {
  if (options_.max_concrete_functions > 0 && concrete_.size() >= options_.max_concrete_functions) {
    const auto oldest =
        std::min_element(concrete_.begin(), concrete_.end(),
                         [](const auto& a, const auto& b) { return a->last_use < b->last_use; });
    statistics_.compile_seconds += (*oldest)->compile_seconds();
    concrete_.erase(oldest);
    ++statistics_.dropped;
  }
  statistics_.trace_seconds += made->trace_seconds();
  concrete_.push_back(std::move(made));
}

std::shared_ptr<ConcreteFunction> Polymorphic::Get(std::vector<TensorSpec> types,
                                                   const std::string& static_arguments, const Body& body) {
  NameUnnamed(types);
  const std::lock_guard lock(mutex_);
  for (const auto& candidate : concrete_) {
    if (candidate->static_arguments() == static_arguments && SameTypes(candidate->arguments(), types))
      return candidate;
  }
  Keep(Trace(std::move(types), static_arguments, body));
  return concrete_.back();
}

/// One warning for a function that is traced again and again.
void Polymorphic::Advise(const std::vector<TensorSpec>& types, const std::string& key) {
  if (advised_ || options_.retrace_warning <= 0 ||
      statistics_.traces < static_cast<uint64_t>(options_.retrace_warning))
    return;
  double seconds = 0;
  for (const auto& concrete : concrete_) seconds += concrete->trace_seconds() + concrete->compile_seconds();
  const Family& family = families_[key];
  std::string what, remedy;
  if (family.extents.size() > 1) {
    std::vector<TensorSpec> fix = types;
    size_t at = 0;
    for (size_t i = 0; i < fix.size(); ++i) {
      for (size_t axis = 0; axis < fix[i].dims.size(); ++axis, ++at) {
        std::set<int64_t> seen;
        for (const auto& extents : family.extents) seen.insert(extents[at]);
        if (seen.size() == 1) continue;
        what += fmt::format("{}extent {} of argument '{}' was {}", what.empty() ? "" : "; ", axis,
                            ArgumentName(i), fmt::join(seen, ", "));
        fix[i].dims[axis] = {fmt::format("n{}", at), DimRange()};
      }
    }
    std::vector<std::string> quoted;
    for (const TensorSpec& type : fix) quoted.push_back("\"" + type.Text() + "\"");
    remedy = fmt::format(fmt::runtime(TheWords().signature), fmt::join(quoted, ", ")) + " traces once";
  } else {
    std::set<std::string> values;
    for (const auto& concrete : concrete_) values.insert(concrete->static_arguments());
    what = fmt::format("arguments that are no tensors were {}", fmt::join(values, " | "));
    remedy = fmt::format("pass what varies as {}, which does not need a trace per value", TheWords().scalar);
  }
  advised_ = true;
  Log(LogLevel::kWarning, "'%s' was traced %llu times, which cost %.1f ms: %s. Remedy: %s",
      options_.name.c_str(), static_cast<unsigned long long>(statistics_.traces), seconds * 1e3, what.c_str(),
      remedy.c_str());
}

std::vector<std::shared_ptr<ConcreteFunction>> Polymorphic::concrete_functions() const {
  const std::lock_guard lock(mutex_);
  return concrete_;
}

FunctionStatistics Polymorphic::statistics() const {
  const std::lock_guard lock(mutex_);
  FunctionStatistics result = statistics_;
  result.inlined_calls = inlined_calls_;
  result.families = families_.size();
  for (const auto& concrete : concrete_) result.compile_seconds += concrete->compile_seconds();
  return result;
}

}  // namespace skiff::eager
