/// A C++ function that runs eagerly or as a compiled graph, with the same numbers: what tf.function is to
/// TensorFlow.
///
///   Function mse = [](const Tensor& a, const Tensor& b) { return ReduceMean((a - b) * (a - b)); };
///   Tensor loss = mse(x, y);   // The first call traces a graph and compiles it; later ones run that.
///
/// The C++ code runs once per trace. A call finds its trace by the dtypes, ranks and extents of its tensors
/// and by the *values* of its other arguments, which are constants of the trace (numbers, bool, strings,
/// enumerations). An extent that is seen with a second value becomes open, unless FunctionOptions say
/// otherwise.
#pragma once

#include <fmt/format.h>

#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trace/polymorphic.h"

namespace skiff::eager {
namespace internal {

/// A string as a key holds it: whatever is in it, it ends where it ends.
inline std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// How an argument takes part in a call: as tensors, or as a value in the key.
template <class T>
struct Argument {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_convertible_v<T, std::string>,
                "a Function takes Tensor, Tensors, numbers, enumerations and strings");
  static void Collect(const T& value, Tensors&, std::string& key) {
    if (!key.empty()) key += ", ";
    if constexpr (std::is_enum_v<T>) {
      key += std::to_string(static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      key += fmt::format("{:a}", value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      key += fmt::format("{}", value);
    } else {
      key += Quoted(std::string(value));
    }
  }
  static T Restore(const T& value, const Tensors&, size_t&) { return value; }
};

template <>
struct Argument<Tensor> {
  static void Collect(const Tensor& value, Tensors& tensors, std::string&) { tensors.push_back(value); }
  static Tensor Restore(const Tensor&, const Tensors& tensors, size_t& next) { return tensors[next++]; }
};

template <>
struct Argument<Tensors> {
  static void Collect(const Tensors& value, Tensors& tensors, std::string& key) {
    if (!key.empty()) key += ", ";
    key += std::to_string(value.size());
    key += " tensors";
    tensors.insert(tensors.end(), value.begin(), value.end());
  }
  static Tensors Restore(const Tensors& value, const Tensors& tensors, size_t& next) {
    const auto begin = tensors.begin() + static_cast<std::ptrdiff_t>(next);
    next += value.size();
    return Tensors(begin, begin + static_cast<std::ptrdiff_t>(value.size()));
  }
};

/// How a result becomes tensors and is made of them.
template <class R>
struct Results;

template <>
struct Results<void> {
  static void From(const Tensors&) {}
};

template <>
struct Results<Tensor> {
  static Tensors Flatten(Tensor result) { return {std::move(result)}; }
  static Tensor From(const Tensors& results) { return results[0]; }
};

template <>
struct Results<Tensors> {
  static Tensors Flatten(Tensors results) { return results; }
  static Tensors From(const Tensors& results) { return results; }
};

template <class Tuple>
struct TupleResults {
  static Tensors Flatten(const Tuple& results) {
    return std::apply([](const auto&... result) { return Tensors{result...}; }, results);
  }
  static Tuple From(const Tensors& results) {
    return Make(results, std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }

 private:
  template <size_t... I>
  static Tuple Make(const Tensors& results, std::index_sequence<I...>) {
    return Tuple{results[I]...};
  }
};

template <class... T>
struct Results<std::tuple<T...>> : TupleResults<std::tuple<T...>> {};
template <class A, class B>
struct Results<std::pair<A, B>> : TupleResults<std::pair<A, B>> {};
template <size_t N>
struct Results<std::array<Tensor, N>> : TupleResults<std::array<Tensor, N>> {};

template <class R, class Call>
Tensors Flattened(Call&& call) {
  if constexpr (std::is_void_v<R>) {
    call();
    return {};
  } else {
    return Results<R>::Flatten(call());
  }
}

}  // namespace internal

template <class Signature>
class Function;

/// Copies are the same Function: they share its traces. Thread-safe as long as the C++ code is.
template <class R, class... Args>
class Function<R(Args...)> {
 public:
  template <class Callable, class = std::enable_if_t<std::is_invocable_r_v<R, Callable, Args...>>>
  Function(Callable callable, FunctionOptions options = {})  // NOLINT: a lambda is a function
      : callable_(std::move(callable)), core_(std::make_shared<Polymorphic>(std::move(options))) {}

  R operator()(const std::decay_t<Args>&... args) const {
    Tensors tensors;
    tensors.reserve(sizeof...(Args));
    std::string key;
    (internal::Argument<std::decay_t<Args>>::Collect(args, tensors, key), ...);
    return internal::Results<R>::From(core_->Call(tensors, key, BodyOf(args...)));
  }

  /// The ConcreteFunction for types as in an input_signature, traced where there is none; non-tensor
  /// arguments keep their place: Concrete({"f32[n, 20]"}, 3).
  template <class... Statics>
  std::shared_ptr<ConcreteFunction> Concrete(const std::vector<std::string>& types,
                                             const Statics&... statics) const {
    static_assert(sizeof...(Statics) == StaticsBefore(sizeof...(Args)),
                  "one value per argument that is no tensor");
    std::vector<TensorSpec> specs;
    for (const std::string& type : types) specs.push_back(ParseTensorSpec(type));
    constexpr size_t single = (size_t{std::is_same_v<std::decay_t<Args>, Tensor>} + ... + 0);
    const Arguments arguments = Placed(std::index_sequence_for<Args...>(), std::tie(statics...),
                                       specs.size() > single ? specs.size() - single : 0);
    return std::apply(
        [&](const auto&... args) {
          Tensors tensors;
          std::string key;
          (internal::Argument<std::decay_t<Args>>::Collect(args, tensors, key), ...);
          return core_->Get(specs, key, BodyOf(args...));
        },
        arguments);
  }

  /// The traces that are kept, oldest first.
  std::vector<std::shared_ptr<ConcreteFunction>> ConcreteFunctions() const {
    return core_->concrete_functions();
  }
  FunctionStatistics statistics() const { return core_->statistics(); }
  uint64_t trace_count() const { return core_->statistics().traces; }
  void RunEagerly(bool on) { core_->RunEagerly(on); }

 private:
  using Arguments = std::tuple<std::decay_t<Args>...>;

  template <class T>
  static constexpr bool kIsStatic = !std::is_same_v<T, Tensor> && !std::is_same_v<T, Tensors>;
  /// Arguments in front of number `end` that are no tensors.
  static constexpr size_t StaticsBefore(size_t end) {
    constexpr bool is_static[] = {kIsStatic<std::decay_t<Args>>..., false};
    size_t count = 0;
    for (size_t i = 0; i < end; ++i) count += is_static[i] ? 1 : 0;
    return count;
  }
  template <size_t... I, class Given>
  static Arguments Placed(std::index_sequence<I...>, const Given& given, [[maybe_unused]] size_t list_size) {
    return Arguments{PlaceOne<I>(given, list_size)...};
  }
  template <size_t I, class Given>
  static auto PlaceOne(const Given& given, size_t list_size) {
    using T = std::tuple_element_t<I, Arguments>;
    if constexpr (std::is_same_v<T, Tensor>) {
      return Tensor();
    } else if constexpr (std::is_same_v<T, Tensors>) {
      return Tensors(list_size);
    } else {
      return T(std::get<StaticsBefore(I)>(given));
    }
  }

  auto BodyOf(const std::decay_t<Args>&... args) const {
    return [this, &args...](const Tensors& tensors) {
      [[maybe_unused]] size_t next = 0;
      // Braces evaluate from left to right; a call's arguments need not.
      Arguments restored{internal::Argument<std::decay_t<Args>>::Restore(args, tensors, next)...};
      return internal::Flattened<R>([&]() -> R { return std::apply(callable_, restored); });
    };
  }

  std::function<R(Args...)> callable_;
  std::shared_ptr<Polymorphic> core_;
};

namespace internal {

template <class T>
struct CallSignature;
template <class R, class C, class... Args>
struct CallSignature<R (C::*)(Args...) const> {
  using Type = R(Args...);
};
template <class R, class C, class... Args>
struct CallSignature<R (C::*)(Args...)> {
  using Type = R(Args...);
};

}  // namespace internal

template <class Callable>
Function(Callable) -> Function<typename internal::CallSignature<decltype(&Callable::operator())>::Type>;
template <class Callable>
Function(Callable, FunctionOptions)
    -> Function<typename internal::CallSignature<decltype(&Callable::operator())>::Type>;
template <class R, class... Args>
Function(R (*)(Args...)) -> Function<R(Args...)>;
template <class R, class... Args>
Function(R (*)(Args...), FunctionOptions) -> Function<R(Args...)>;

}  // namespace skiff::eager
