#include "graph/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

namespace skiff {
namespace {

constexpr int64_t kMinusInfinity = INT64_MIN;
constexpr int64_t kInfinity = INT64_MAX;
/// Longer sums are kept whole: multiplying two of them would explode.
constexpr size_t kMaxTerms = 32;
/// Of a sum; each value that has it as an extent has a copy.
constexpr size_t kMaxSummands = 64;
/// How many quotients of a sum are replaced to find its bounds, and their largest divisor.
constexpr int kQuotientDepth = 3;
constexpr int64_t kMostDivisor = 1 << 16;
/// In longer sums each quotient is bounded alone: every one that is replaced is looked for in all the rest.
constexpr size_t kMostQuotientTerms = 8;
/// Products of sums double with every factor, and so do their keys. Whatever has a longer key equals nothing
/// but copies of itself. Far above the keys of what shape rules keep.
constexpr size_t kLongestKey = size_t{1} << 14;
constexpr size_t kMostWeight = size_t{1} << 30;

bool Infinite(int64_t number) { return number == kMinusInfinity || number == kInfinity; }

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (Infinite(a)) return a;
  if (Infinite(b)) return b;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kInfinity : kMinusInfinity;
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product = 0;
  if (!Infinite(a) && !Infinite(b) && !__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? kInfinity : kMinusInfinity;
}

Bounds Multiply(const Bounds& a, const Bounds& b) {
  const int64_t corners[] = {SaturatingMultiply(a.min, b.min), SaturatingMultiply(a.min, b.max),
                             SaturatingMultiply(a.max, b.min), SaturatingMultiply(a.max, b.max)};
  return {*std::min_element(std::begin(corners), std::end(corners)),
          *std::max_element(std::begin(corners), std::end(corners))};
}

int64_t DivideDown(int64_t a, int64_t b) {
  if (Infinite(a)) return a;
  if (Infinite(b)) return a < 0 ? -1 : 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// Quotients of an interval by positive divisors.
Bounds Divide(const Bounds& a, Bounds b) {
  b.min = std::max<int64_t>(b.min, 1);
  b.max = std::max<int64_t>(b.max, 1);
  const int64_t corners[] = {DivideDown(a.min, b.min), DivideDown(a.min, b.max), DivideDown(a.max, b.min),
                             DivideDown(a.max, b.max)};
  return {*std::min_element(std::begin(corners), std::end(corners)),
          *std::max_element(std::begin(corners), std::end(corners))};
}

}  // namespace

struct Dim::Atom {
  Kind kind = Kind::kSymbol;
  SymbolId symbol = -1;
  Dim a, b;
  size_t weight = 1;
  std::string key;
  Bounds bounds;  ///< Kept, because operands within operands are asked for again with each operation.

  Bounds BoundsOfOperation() const {
    const Bounds left = a.bounds();
    const Bounds right = b.bounds();
    if (kind == Kind::kFloorDivide) return Divide(left, right);
    return kind == Kind::kMin ? Bounds{std::min(left.min, right.min), std::min(left.max, right.max)}
                              : Bounds{std::max(left.min, right.min), std::max(left.max, right.max)};
  }
};

namespace {

std::string FactorsKey(const Dim::Term& term) {
  std::string key;
  for (const auto& factor : term.factors) key += factor->key + "*";
  return key;
}

/// Later ones are the larger ones, so that a conversion orders terms as another one in the same process does.
std::string NewKey() {
  static std::atomic<uint64_t> next{0};
  return fmt::format("#{:020}", next++);
}

}  // namespace

Dim Dim::OfSymbol(SymbolId symbol, const Symbol& contract) {
  if (contract.min == contract.max) return Dim(contract.min);
  auto atom = std::make_shared<Atom>();
  atom->symbol = symbol;
  atom->bounds = {contract.min, contract.max};
  atom->key = "s" + std::to_string(symbol);
  Dim dim;
  dim.terms_.push_back({1, {std::move(atom)}});
  return dim;
}

Dim Dim::OfAtom(Kind kind, const Dim& a, const Dim& b) {
  static constexpr const char* kSigns[] = {"", "/", "min", "max"};
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->a = a;
  atom->b = b;
  atom->weight = std::min(1 + a.weight() + b.weight(), kMostWeight);
  atom->key = "(" + a.key() + kSigns[static_cast<size_t>(kind)] + b.key() + ")";
  if (atom->key.size() > kLongestKey) atom->key = NewKey();
  atom->bounds = atom->BoundsOfOperation();
  Dim dim;
  dim.terms_.push_back({1, {std::move(atom)}});
  return dim;
}

SymbolId Dim::symbol() const {
  const bool single =
      value == 0 && terms_.size() == 1 && terms_[0].coefficient == 1 && terms_[0].factors.size() == 1;
  return single ? terms_[0].factors[0]->symbol : -1;
}

Bounds Dim::bounds() const { return bounds(kQuotientDepth); }

Bounds Dim::bounds(int depth) const {
  Bounds sum{value, value};
  for (const Term& term : terms_) {
    Bounds product{term.coefficient, term.coefficient};
    for (const auto& factor : term.factors) product = Multiply(product, factor->bounds);
    sum = {SaturatingAdd(sum.min, product.min), SaturatingAdd(sum.max, product.max)};
  }
  // Fewer at each level: each of them asks the next one.
  const size_t most_terms = kMostQuotientTerms >> (kQuotientDepth - depth);
  if (depth == 0 || terms_.size() < 2 || terms_.size() > most_terms) return sum;
  for (const Term& term : terms_) {
    if (term.factors.size() != 1 || term.factors[0]->kind != Kind::kFloorDivide) continue;
    const Dim& divisor = term.factors[0]->b;
    if (Infinite(term.coefficient)) continue;
    if (!divisor.constant() || divisor.value < 2 || divisor.value > kMostDivisor) continue;
    // floor(a/d) is (a - r) / d with r in [0, d-1]: d times the sum has no quotient, only r.
    Dim rest = *this;
    rest.AddTerm({-term.coefficient, term.factors});
    const Bounds scaled = (rest * divisor + term.factors[0]->a * Dim(term.coefficient)).bounds(depth - 1);
    const int64_t remainder = SaturatingMultiply(-term.coefficient, divisor.value - 1);
    const int64_t least = SaturatingAdd(scaled.min, std::min<int64_t>(remainder, 0));
    const int64_t most = SaturatingAdd(scaled.max, std::max<int64_t>(remainder, 0));
    if (!Infinite(least)) sum.min = std::max(sum.min, -DivideDown(-least, divisor.value));
    if (!Infinite(most)) sum.max = std::min(sum.max, DivideDown(most, divisor.value));
  }
  return sum;
}

Bounds Dim::PlausibleBounds(int64_t largest) const {
  Bounds sum{value, value};
  for (const Term& term : terms_) {
    Bounds product{1, 1};
    for (const auto& factor : term.factors) product = Multiply(product, factor->bounds);
    if (term.factors.size() > 1 || product.max == kInfinity) product.max = std::min(product.max, largest);
    if (term.factors.size() > 1 || product.min == kMinusInfinity)
      product.min = std::max(product.min, -largest);
    product = Multiply(product, {term.coefficient, term.coefficient});
    sum = {SaturatingAdd(sum.min, product.min), SaturatingAdd(sum.max, product.max)};
  }
  return sum;
}

void Dim::VisitSymbols(const std::function<void(SymbolId)>& visit) const {
  for (const Term& term : terms_) {
    for (const auto& factor : term.factors) {
      if (factor->kind == Kind::kSymbol) {
        visit(factor->symbol);
      } else {
        factor->a.VisitSymbols(visit);
        factor->b.VisitSymbols(visit);
      }
    }
  }
}

Dim Dim::Replace(const std::function<Dim(SymbolId)>& replacement) const {
  Dim sum(value);
  for (const Term& term : terms_) {
    Dim product(term.coefficient);
    for (const auto& factor : term.factors) {
      if (factor->kind == Kind::kSymbol) {
        product = product * replacement(factor->symbol);
        continue;
      }
      const Dim a = factor->a.Replace(replacement);
      const Dim b = factor->b.Replace(replacement);
      product = product * (factor->kind == Kind::kFloorDivide ? FloorDivide(a, b)
                           : factor->kind == Kind::kMin       ? MinExtent(a, b)
                                                              : MaxExtent(a, b));
    }
    sum = sum + product;
  }
  return sum;
}

size_t Dim::weight() const {
  size_t weight = 0;
  for (const Term& term : terms_) {
    for (const auto& factor : term.factors) weight = std::min(weight + factor->weight, kMostWeight);
  }
  return weight;
}

std::string Dim::key() const {
  std::string key = std::to_string(value);
  for (const Term& term : terms_) key += "+" + std::to_string(term.coefficient) + "*" + FactorsKey(term);
  return key;
}

std::string Dim::Text(const std::function<std::string(SymbolId)>& name) const { return Render(name); }

std::string Dim::Render(const std::function<std::string(SymbolId)>& name) const {
  std::string text;
  const auto append = [&](int64_t coefficient, const std::string& rest) {
    if (!text.empty() || coefficient < 0) text += coefficient < 0 ? "-" : "+";
    const auto magnitude = static_cast<uint64_t>(coefficient);
    const uint64_t size = coefficient < 0 ? 0 - magnitude : magnitude;
    if (size != 1 || rest.empty()) text += std::to_string(size) + (rest.empty() ? "" : "*");
    text += rest;
  };
  for (const Term& term : terms_) {
    std::string product;
    for (const auto& factor : term.factors) {
      product += product.empty() ? "" : "*";
      const std::string a = factor->a.Render(name);
      const std::string b = factor->b.Render(name);
      product += factor->kind == Kind::kSymbol ? name(factor->symbol)
                 : factor->kind == Kind::kFloorDivide
                     ? fmt::format("floor(({})/({}))", a, b)
                     : fmt::format("{}({}, {})", factor->kind == Kind::kMin ? "min" : "max", a, b);
    }
    append(term.coefficient, product);
  }
  if (value != 0 || text.empty()) append(value, "");
  return text;
}

void Dim::AddTerm(Term term) {
  if (term.coefficient == 0) return;
  if (term.factors.empty()) {
    value = SaturatingAdd(value, term.coefficient);
    return;
  }
  const std::string key = FactorsKey(term);
  const auto place = std::lower_bound(terms_.begin(), terms_.end(), key,
                                      [](const Term& a, const std::string& b) { return FactorsKey(a) < b; });
  if (place == terms_.end() || FactorsKey(*place) != key) {
    terms_.insert(place, std::move(term));
    return;
  }
  place->coefficient = SaturatingAdd(place->coefficient, term.coefficient);
  if (place->coefficient == 0) terms_.erase(place);
}

Dim operator+(const Dim& a, const Dim& b) {
  // Too long to go on with: one term of its own that equals itself.
  if (a.terms_.size() + b.terms_.size() > kMaxSummands) {
    const bool first = a.terms_.size() >= b.terms_.size();
    const Dim opaque = Dim::OfAtom(Dim::Kind::kFloorDivide, first ? a : b, Dim(1));
    return first ? opaque + b : a + opaque;
  }
  Dim sum = a;
  sum.value = SaturatingAdd(a.value, b.value);
  for (const Dim::Term& term : b.terms_) sum.AddTerm(term);
  return sum;
}

Dim operator-(const Dim& a, const Dim& b) { return a == b ? Dim(0) : a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  std::vector<Dim::Term> left = a.terms_;
  std::vector<Dim::Term> right = b.terms_;
  left.push_back({a.value, {}});
  right.push_back({b.value, {}});
  // Too long to multiply out: one factor of its own that equals itself.
  if (!a.constant() && !b.constant() && left.size() * right.size() > kMaxTerms) {
    const Dim whole = a.terms_.size() >= b.terms_.size() ? a : b;
    const Dim opaque = Dim::OfAtom(Dim::Kind::kFloorDivide, whole, Dim(1));
    return a.terms_.size() >= b.terms_.size() ? opaque * b : a * opaque;
  }
  Dim product;
  for (const Dim::Term& l : left) {
    for (const Dim::Term& r : right) {
      Dim::Term term{SaturatingMultiply(l.coefficient, r.coefficient), l.factors};
      term.factors.insert(term.factors.end(), r.factors.begin(), r.factors.end());
      std::sort(term.factors.begin(), term.factors.end(),
                [](const auto& x, const auto& y) { return x->key < y->key; });
      product.AddTerm(std::move(term));
    }
  }
  return product;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.value != b.value || a.terms_.size() != b.terms_.size()) return false;
  for (size_t i = 0; i < a.terms_.size(); ++i) {
    if (a.terms_[i].coefficient != b.terms_[i].coefficient ||
        FactorsKey(a.terms_[i]) != FactorsKey(b.terms_[i]))
      return false;
  }
  return true;
}

Dim FloorDivide(const Dim& a, const Dim& b) {
  if (b.constant() && b.value == 1) return a;
  if (a.constant() && b.constant() && b.value != 0) return Dim(DivideDown(a.value, b.value));
  if (a.constant() && a.value == 0) return Dim(0);
  if (a == b) return Dim(1);
  if (b.constant() && b.value > 1 && !Infinite(a.value)) {
    // floor((b * q + r) / b) = q + floor(r / b) for integers.
    Dim quotient(DivideDown(a.value, b.value));
    // The multiple below the largest negative numbers has more than 64 bits.
    const int64_t remainder = a.value % b.value;
    Dim rest(remainder < 0 ? remainder + b.value : remainder);
    for (const Dim::Term& term : a.terms_) {
      (term.coefficient % b.value == 0 ? quotient : rest)
          .AddTerm({term.coefficient % b.value == 0 ? term.coefficient / b.value : term.coefficient,
                    term.factors});
    }
    const Bounds left = rest.bounds();
    if (DivideDown(left.min, b.value) == DivideDown(left.max, b.value) && !Infinite(left.min))
      return quotient + Dim(DivideDown(left.min, b.value));
    if (rest.terms_.size() < a.terms_.size()) return quotient + FloorDivide(rest, b);
  }
  // A multiple, however long both are.
  if (!b.terms_.empty() && a.terms_.size() == b.terms_.size() && !Infinite(a.terms_[0].coefficient)) {
    Dim multiple(a.terms_[0].coefficient / b.terms_[0].coefficient);
    if (b * multiple == a) return multiple;
  }
  // A single product divides a sum when it divides every term of it.
  if (b.value == 0 && b.terms_.size() == 1 && a.value == 0) {
    const Dim::Term& divisor = b.terms_[0];
    Dim quotient;
    bool divides = true;
    for (const Dim::Term& term : a.terms_) {
      divides = divides && !Infinite(term.coefficient) && term.coefficient % divisor.coefficient == 0;
      if (!divides) break;
      Dim::Term part{term.coefficient / divisor.coefficient, term.factors};
      for (const auto& factor : divisor.factors) {
        const auto found = std::find_if(part.factors.begin(), part.factors.end(),
                                        [&](const auto& other) { return other->key == factor->key; });
        divides = divides && found != part.factors.end();
        if (found != part.factors.end()) part.factors.erase(found);
      }
      if (divides) quotient.AddTerm(std::move(part));
    }
    if (divides) return quotient;
  }
  return Dim::OfAtom(Dim::Kind::kFloorDivide, a, b);
}

Dim CeilDivide(const Dim& a, const Dim& b) {
  if (b.constant() && b.value == 1) return a;
  // The usual form, a + b - 1, does not hold any b.
  if (b.constant() && b.value > kMostDivisor) return FloorDivide(a + Dim(-1), b) + Dim(1);
  return FloorDivide(a + b + Dim(-1), b);
}

Dim MinExtent(const Dim& a, const Dim& b) {
  const Bounds difference = (a - b).bounds();
  if (difference.max <= 0) return a;
  if (difference.min >= 0) return b;
  return a.key() < b.key() ? Dim::OfAtom(Dim::Kind::kMin, a, b) : Dim::OfAtom(Dim::Kind::kMin, b, a);
}

Dim MaxExtent(const Dim& a, const Dim& b) {
  const Bounds difference = (a - b).bounds();
  if (difference.max <= 0) return b;
  if (difference.min >= 0) return a;
  return a.key() < b.key() ? Dim::OfAtom(Dim::Kind::kMax, a, b) : Dim::OfAtom(Dim::Kind::kMax, b, a);
}

bool SameExtent(const Dim& a, const Dim& b) {
  if (a == b) return true;
  const Bounds difference = (a - b).bounds();
  return difference.min <= 0 && difference.max >= 0;
}

Dim BroadcastExtent(const Dim& a, const Dim& b) {
  if (a == b || a.bounds().min >= 2) return a;
  if (b.bounds().min >= 2) return b;
  // The larger one, but that an extent of 0 wins over 1.
  return MaxExtent(a, b) * MinExtent(MinExtent(a, b), Dim(1));
}

}  // namespace skiff
