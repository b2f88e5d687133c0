/// Dimensions that are constants or expressions over Symbols: sums of products of Symbols, with floor
/// division, minimum and maximum. Equal expressions have one form, so that == proves equality wherever
/// arithmetic can.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace skiff {

using SymbolId = int32_t;

/// A named dimension that is not a constant, with its contract. No maximum: `max` is kUnbounded.
struct Symbol {
  static constexpr int64_t kUnbounded = INT64_MAX;
  std::string name;  ///< Unique; "input#axis" for a placeholder of the source.
  int64_t min = 0;
  int64_t max = kUnbounded;
  int64_t multiple = 1;

  bool bounded() const { return max != kUnbounded; }
};

/// An interval of integers; INT64_MIN and INT64_MAX stand for infinity.
struct Bounds {
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};

class Dim {
 public:
  /// What a product is made of: a Symbol, or an operation that sums and products cannot express.
  struct Atom;
  struct Term {
    int64_t coefficient = 1;
    std::vector<std::shared_ptr<const Atom>> factors;  ///< Sorted by key.
  };

  /// The constant part; all of it when constant().
  int64_t value = 0;

  Dim() = default;
  Dim(int64_t extent) : value(extent) {}  // NOLINT: a constant is a dimension
  /// `contract` says what the Symbol can be; only its numbers are kept.
  static Dim OfSymbol(SymbolId symbol, const Symbol& contract = {});

  bool constant() const { return terms_.empty(); }
  /// The Symbol that this dimension is, or -1 for constants and longer expressions.
  SymbolId symbol() const;
  /// What the value can be, by the contracts of the Symbols. An atom is bounded alone, but for quotients by
  /// numbers, which may cancel against the rest: n - floor(n/2) is known to be at least 0.
  Bounds bounds() const;
  /// The same, where open sizes without a bound, and products of sizes that have none or a larger one, are
  /// taken to be at most `largest`: what real tensors keep to. Ends at infinity are beyond 63 bits.
  Bounds PlausibleBounds(int64_t largest) const;
  /// Calls visit for every Symbol in the expression.
  void VisitSymbols(const std::function<void(SymbolId)>& visit) const;
  /// The expression with every Symbol replaced.
  Dim Replace(const std::function<Dim(SymbolId)>& replacement) const;
  /// How long the expression is: its Symbols and operations, those that occur twice counted twice.
  size_t weight() const;
  /// Equal expressions have equal keys. For people, ToText of text.h is better.
  std::string key() const;
  /// For people; `name` tells a Symbol's name.
  std::string Text(const std::function<std::string(SymbolId)>& name) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend Dim FloorDivide(const Dim& a, const Dim& b);
  friend Dim MinExtent(const Dim& a, const Dim& b);
  friend Dim MaxExtent(const Dim& a, const Dim& b);

 private:
  enum class Kind : uint8_t { kSymbol, kFloorDivide, kMin, kMax };

  static Dim OfAtom(Kind kind, const Dim& a, const Dim& b);
  void AddTerm(Term term);
  Bounds bounds(int depth) const;
  std::string Render(const std::function<std::string(SymbolId)>& name) const;

  std::vector<Term> terms_;  ///< Sorted by their factors' keys; coefficients are not 0.
};

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
bool operator==(const Dim& a, const Dim& b);

// What shape rules need of an extent type (ops/extent_math.h). A divisor is taken to be positive.
inline bool IsKnown(const Dim& dim) { return dim.constant(); }
/// 0 where it is not known: messages only print it then.
inline int64_t KnownValue(const Dim& dim) { return dim.constant() ? dim.value : 0; }
Dim FloorDivide(const Dim& a, const Dim& b);
Dim CeilDivide(const Dim& a, const Dim& b);
Dim MinExtent(const Dim& a, const Dim& b);
Dim MaxExtent(const Dim& a, const Dim& b);
/// False where the two are never equal. What cannot be decided here is checked by the device, with the same
/// rule, at every new shape.
bool SameExtent(const Dim& a, const Dim& b);
/// Where its sign is open it could be a -1 or a position from the end, which mean something else.
inline bool IsNonNegative(const Dim& dim) { return dim.bounds().min >= 0; }
inline bool IsPositive(const Dim& dim) { return dim.bounds().min > 0; }
/// The extent that two broadcast extents give, of which neither is known to be 1.
Dim BroadcastExtent(const Dim& a, const Dim& b);

}  // namespace skiff
