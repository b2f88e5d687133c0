/// Random small programs over the eager API. A program is a list of steps over a growing list of values; the
/// same steps run eagerly and are traced, because they are nothing but calls of operators, Cond and While.
///
/// What branches, rounds or compares reads whole numbers only, so that no rounding can flip it; operators
/// with a domain get their operand moved into it.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "trace/tensor.h"

namespace skiff::eager {

/// Two sets of inputs: other elements and, for a program with an open extent, another size.
inline constexpr size_t kInputSets = 2;

struct Step {
  std::string text;
  bool whole = false;  ///< Its results hold whole numbers: exact in every order of summation.
  std::function<Tensors(const Tensors& values)> run;
};

/// Appends the steps' results. Throws Error where a value that is there is too large to be compared.
void RunSteps(const std::vector<Step>& steps, Tensors& values);

/// The values that a step may use, and what they are with each set of inputs. The body of a Cond or a While
/// has one of its own, which begins as a copy.
struct Scope {
  std::array<Tensors, kInputSets> values;
  std::vector<bool> whole;  ///< By value.
  std::vector<Step> steps;
  int depth = 0;

  size_t size() const { return whole.size(); }
  const Tensor& At(size_t value) const { return values[0][value]; }
};

using Ref = std::optional<size_t>;

/// Draws numbers, values of a scope and steps.
class Drawer {
 public:
  explicit Drawer(uint32_t seed) : random_(seed) {}

  int Int(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(Int(0, static_cast<int>(from.size()) - 1))];
  }
  /// Small whole numbers, or any in [-2, 2] where not `whole`.
  Tensor Elements(DType dtype, const Shape& shape, bool whole);

  /// A value that `fits`, later ones more often; nothing where there is none.
  Ref Any(const Scope& scope, const std::function<bool(size_t)>& fits);
  Ref AnyOf(const Scope& scope, DType dtype, int least_rank = 0);
  Ref AnyWhole(const Scope& scope);
  /// Another value of the same dtype that can be broadcast to `value`'s shape.
  Ref PartnerOf(const Scope& scope, size_t value);
  /// An axis of a value of rank 1 or more.
  int64_t Axis(const Scope& scope, size_t value);

  /// Adds a step that can run with every set of inputs and whose results stay small; false where it cannot.
  bool Add(Scope& scope, std::string text, bool whole, std::function<Tensors(const Tensors&)> run);
  bool AddOne(Scope& scope, std::string text, bool whole, std::function<Tensor(const Tensors&)> run);

 private:
  std::mt19937 random_;
};

/// Adds one step, or none where what was drawn does not fit.
void DrawStep(Drawer& draw, Scope& scope);
/// Steps with bodies (random_program_control.cpp).
void DrawCond(Drawer& draw, Scope& scope);
void DrawWhile(Drawer& draw, Scope& scope);

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed);

  Tensors operator()(const Tensors& inputs) const;
  const Tensors& inputs(size_t set) const { return inputs_[set]; }
  size_t output_count() const { return outputs_.size(); }
  /// An output that every backend computes without rounding.
  bool IsExact(size_t output) const { return exact_[output]; }
  /// The largest number behind an output with this set of inputs.
  double Scale(size_t set) const { return scale_[set]; }
  /// Types of the inputs with the extent "n" where the sets differ.
  const std::vector<std::string>& signature() const { return signature_; }
  bool open() const { return open_; }
  bool Has(const std::string& step) const;
  std::string Text() const;

 private:
  void DrawInputs(Drawer& draw);

  bool open_ = false;
  std::array<Tensors, kInputSets> inputs_;
  std::vector<std::string> signature_;
  std::vector<bool> exact_inputs_;
  std::vector<Step> steps_;
  std::vector<size_t> outputs_;
  std::vector<bool> exact_;
  std::array<double, kInputSets> scale_ = {};
};

}  // namespace skiff::eager
