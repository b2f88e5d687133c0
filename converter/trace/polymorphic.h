/// What is behind every Function: the ConcreteFunctions, how a call finds one, and when it traces another.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trace/concrete_function.h"

namespace skiff::eager {

/// Figures since the Function was made.
struct FunctionStatistics {
  uint64_t traces = 0;
  uint64_t hits = 0;     ///< Calls that found their ConcreteFunction.
  uint64_t misses = 0;   ///< Calls that traced.
  uint64_t dropped = 0;  ///< ConcreteFunctions that made room for others.
  /// Kinds of calls whose extents are remembered, to make those that vary open.
  uint64_t families = 0;
  uint64_t eager_calls = 0;
  uint64_t inlined_calls = 0;  ///< Made by other Functions while these were traced.
  double trace_seconds = 0;
  double compile_seconds = 0;
};

/// The C++ code, over its tensor arguments; for the duration of a call. Unlike a std::function it owns
/// nothing, and so it costs nothing where a trace is found.
class Body {
 public:
  template <class Callable>
  Body(const Callable& code)  // NOLINT: a lambda is one
      : code_(&code), run_([](const void* body, const Tensors& arguments) {
          return (*static_cast<const Callable*>(body))(arguments);
        }) {}
  Tensors operator()(const Tensors& arguments) const { return run_(code_, arguments); }

 private:
  const void* code_;
  Tensors (*run_)(const void* code, const Tensors& arguments);
};

class Polymorphic {
 public:
  explicit Polymorphic(FunctionOptions options);

  /// `static_arguments`: the values of arguments that are no tensors, as text; part of the key. `body` has
  /// them bound. `used`, where given, is set to the ConcreteFunction that computed the results, or to null
  /// where `body` itself did.
  Tensors Call(const Tensors& arguments, const std::string& static_arguments, const Body& body,
               std::shared_ptr<ConcreteFunction>* used = nullptr);
  /// The ConcreteFunction for these types, traced where there is none; nothing is run.
  std::shared_ptr<ConcreteFunction> Get(std::vector<TensorSpec> types, const std::string& static_arguments,
                                        const Body& body);

  std::vector<std::shared_ptr<ConcreteFunction>> concrete_functions() const;
  FunctionStatistics statistics() const;
  void RunEagerly(bool on);

 private:
  /// What calls that differ in their extents only have in common. A program may run for ever with arguments
  /// that are always new, so the families used longest ago are forgotten, and the oldest traces of each.
  struct Family {
    std::vector<std::vector<int64_t>> extents;  ///< All extents of the arguments, by trace.
    bool relaxable = true;
    uint64_t last_use = 0;
  };
  static constexpr size_t kMostFamilies = 64;
  static constexpr size_t kMostExtents = 64;

  bool RunsEagerly() const;
  std::shared_ptr<ConcreteFunction> Choose(const Tensors& arguments, const std::string& static_arguments,
                                           const Body& body);
  std::shared_ptr<ConcreteFunction> Find(const Tensors& arguments, const std::string& static_arguments);
  std::shared_ptr<ConcreteFunction> TraceFor(const Tensors& arguments, const std::string& static_arguments,
                                             const Body& body);
  std::shared_ptr<ConcreteFunction> Trace(std::vector<TensorSpec> types, const std::string& static_arguments,
                                          const Body& body);
  Family& FamilyOf(const std::string& key);
  std::vector<TensorSpec> Relaxed(const std::vector<TensorSpec>& exact, const Family& family) const;
  [[noreturn]] void RefuseArguments(const Tensors& arguments) const;
  void Keep(std::shared_ptr<ConcreteFunction> made);
  void Advise(const std::vector<TensorSpec>& types, const std::string& key);
  std::string ArgumentName(size_t index) const;
  void NameUnnamed(std::vector<TensorSpec>& types) const;

  FunctionOptions options_;
  std::vector<TensorSpec> signature_;  ///< Parsed input_signature.
  mutable std::recursive_mutex mutex_;
  std::vector<std::shared_ptr<ConcreteFunction>> concrete_;
  std::shared_ptr<ConcreteFunction> last_;  ///< The one used last, which is the last to be dropped.
  std::map<std::string, Family> families_;
  FunctionStatistics statistics_;
  std::atomic<uint64_t> inlined_calls_ = 0;
  uint64_t uses_ = 0;
  bool advised_ = false;
};

}  // namespace skiff::eager
