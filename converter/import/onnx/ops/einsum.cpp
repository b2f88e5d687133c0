// ONNX row: Einsum, as diagonals, sums, and one matrix product (or elementwise product) per further operand.
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string>

#include "import/emit.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kNewest = kNewestOnnxOpset;

/// One letter per axis. The axes of an ellipsis are the digits '0' to '7', the last axis being '7', so that
/// those of several operands meet as NumPy broadcasts them.
using Labels = std::string;

struct Term {
  ValueId value = kNoValue;
  Labels labels;
};

bool Has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }
bool IsEllipsis(char label) { return std::isdigit(static_cast<unsigned char>(label)) != 0; }

/// The labels of `from` that satisfy the condition, in order.
template <class Condition>
Labels Pick(const Labels& from, Condition&& condition) {
  Labels picked;
  std::copy_if(from.begin(), from.end(), std::back_inserter(picked), condition);
  return picked;
}

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool explicit_output = false;
};

Equation ParseEquation(OnnxBuilder& b) {
  std::string text = b.String("equation", "");
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  Equation equation;
  const size_t arrow = text.find("->");
  equation.explicit_output = arrow != std::string::npos;
  if (equation.explicit_output) equation.output = text.substr(arrow + 2);
  const std::string inputs = text.substr(0, arrow);
  for (size_t start = 0; start <= inputs.size();) {
    const size_t comma = std::min(inputs.find(',', start), inputs.size());
    equation.inputs.push_back(inputs.substr(start, comma - start));
    start = comma + 1;
  }
  if (equation.inputs.size() != b.input_count()) {
    b.Invalid("the equation '{}' names {} operands, the node has {}", text, equation.inputs.size(),
              b.input_count());
  }
  return equation;
}

/// The labels of one term of the equation, for `ellipsis` axes behind "...".
Labels ReadLabels(OnnxBuilder& b, const std::string& term, int ellipsis) {
  Labels labels;
  const size_t dots = term.find("...");
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int axis = kMaxRank - ellipsis; axis < kMaxRank; ++axis) labels += static_cast<char>('0' + axis);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels += term[i];
    } else {
      b.Invalid("the equation's term '{}' holds '{}'; letters and one '...' were expected", term, term[i]);
    }
  }
  return labels;
}

/// Axes that "..." stands for in a term of the given rank.
int EllipsisAxes(OnnxBuilder& b, const std::string& term, int rank) {
  const bool has_dots = term.find("...") != std::string::npos;
  const int letters = static_cast<int>(term.size()) - (has_dots ? 3 : 0);
  if (letters > rank || (!has_dots && letters != rank)) {
    b.Invalid("the equation's term '{}' has {} axes, its operand has {}", term, letters, rank);
  }
  return rank - letters;
}

Term Permuted(OnnxBuilder& b, const char* suffix, const Term& term, const Labels& order) {
  Ints perm;
  for (char label : order) perm[perm.size++] = static_cast<int64_t>(term.labels.find(label));
  return {EmitTranspose(b, suffix, term.value, perm), order};
}

/// Keeps the elements where both indices of a repeated label agree: with the two axes as one, every (n +
/// 1)th.
Term Diagonal(OnnxBuilder& b, Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const char label = term.labels[i];
    const size_t twin = term.labels.find(label, i + 1);
    if (twin == Labels::npos) continue;
    Ints perm;
    Labels rest;
    std::vector<int64_t> flat;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (axis == i || axis == twin) continue;
      perm[perm.size++] = static_cast<int64_t>(axis);
      rest += term.labels[axis];
      flat.push_back(0);
    }
    perm[perm.size++] = static_cast<int64_t>(i);
    perm[perm.size++] = static_cast<int64_t>(twin);
    flat.push_back(-1);
    const std::optional<int64_t> rows = b.ExtentOf(term.value, static_cast<int64_t>(i));
    const std::optional<int64_t> columns = b.ExtentOf(term.value, static_cast<int64_t>(twin));
    if (rows && columns && *rows != *columns)
      b.Invalid("the label '{}' stands for axes of {} and {} elements", label, *rows, *columns);
    const auto last = static_cast<int>(rest.size());
    const ValueId any = EmitTranspose(b, "square", term.value, perm);
    const ValueId square = EmitSameExtent(b, "square_checked", any, last, any, last + 1);
    const ValueId step = EmitAdd(b, "diagonal_step", EmitExtents(b, "side", square, last, last + 1),
                                 b.ConstantInts("side_one", {1}));
    const ValueId line = EmitReshape(b, "line", square, flat);
    term.value = b.Emit("diagonal", OpCode::kSlice,
                        {line, b.ConstantInts("diagonal_start", {0}),
                         b.ConstantInts("diagonal_end", {std::numeric_limits<int64_t>::max()}),
                         b.ConstantInts("diagonal_axis", {last}), step});
    term.labels = rest + label;
    i = static_cast<size_t>(-1);  // From the first label again.
  }
  return term;
}

/// Sums over the labels that nobody needs.
Term Summed(OnnxBuilder& b, const char* suffix, const Term& term, const Labels& needed) {
  ReduceAttrs attrs{.axes = {}, .keep_dims = false};
  Labels rest;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (Has(needed, term.labels[i])) {
      rest += term.labels[i];
    } else {
      attrs.axes[attrs.axes.size++] = static_cast<int64_t>(i);
    }
  }
  if (attrs.axes.size == 0) return term;
  return {b.Emit(suffix, OpCode::kReduceSum, {term.value}, attrs), rest};
}

/// A target of Reshape that is put together from constants and from extents of other values.
class Target {
 public:
  explicit Target(OnnxBuilder& b) : b_(b) {}

  void Append(int64_t extent) { constants_.push_back(extent); }
  /// The extents [start, end) of x one by one, or their product.
  void AppendExtents(ValueId x, size_t start, size_t end, bool product) {
    if (const auto known = b_.ExtentsOf(x, static_cast<int64_t>(start), static_cast<int64_t>(end))) {
      int64_t all = 1;
      for (int64_t extent : *known) {
        if (!product) {
          Append(extent);
        } else if (__builtin_mul_overflow(all, extent, &all)) {
          b_.Invalid("the product of an operand's extents is too large");
        }
      }
      if (product) Append(all);
      return;
    }
    Flush();
    const ValueId extents = EmitExtents(b_, "extents", x, static_cast<int>(start), static_cast<int>(end));
    parts_.push_back(product
                         ? b_.Emit("extent_product", OpCode::kReduceProd, {extents}, ReduceAttrs{{0}, true})
                         : extents);
  }
  ValueId Reshape(const char* suffix, ValueId x) {
    Flush();
    const ValueId target =
        parts_.size() == 1 ? parts_[0] : b_.Emit("target", OpCode::kConcat, parts_, AxisAttrs{0});
    return b_.Emit(suffix, OpCode::kReshape, {x, target}, ReshapeAttrs{});
  }

 private:
  void Flush() {
    if (!constants_.empty() || parts_.empty()) parts_.push_back(b_.ConstantInts("target_part", constants_));
    constants_.clear();
  }

  OnnxBuilder& b_;
  std::vector<int64_t> constants_;
  std::vector<ValueId> parts_;
};

/// The roles of the labels of two operands in their product.
struct Roles {
  Labels batch;       ///< In both, and needed later.
  Labels contracted;  ///< In both, and summed.
  Labels left;
  Labels right;
};

/// [batch..., 1 for each label of `behind`..., rest] for an elementwise product.
Term ElementwiseProduct(OnnxBuilder& b, const Term& left, const Term& right, const Roles& roles) {
  const Term a = Permuted(b, "left", left, roles.batch + roles.left);
  const Term c = Permuted(b, "right", right, roles.batch + roles.right);
  Ints behind;
  Ints between;
  for (size_t i = 0; i < roles.right.size(); ++i) {
    behind[behind.size++] = static_cast<int64_t>(a.labels.size() + i);
  }
  for (size_t i = 0; i < roles.left.size(); ++i) {
    between[between.size++] = static_cast<int64_t>(roles.batch.size() + i);
  }
  const ValueId product = EmitMul(b, "product", EmitUnsqueeze(b, "left_wide", a.value, behind),
                                  EmitUnsqueeze(b, "right_wide", c.value, between));
  return {product, roles.batch + roles.left + roles.right};
}

/// One operand as matrices [batch..., free, contracted], or [batch..., contracted, free].
ValueId AsMatrices(OnnxBuilder& b, const char* suffix, ValueId x, size_t batch, size_t first, size_t second) {
  if (first == 1 && second == 1) return x;
  Target target(b);
  for (size_t i = 0; i < batch; ++i) target.Append(0);
  if (first == 1) {
    target.Append(0);
    target.Append(-1);
  } else {
    target.Append(-1);
    target.AppendExtents(x, batch + first, batch + first + second, true);
  }
  return target.Reshape(suffix, x);
}

Term MatrixProduct(OnnxBuilder& b, const Term& left, const Term& right, const Roles& roles) {
  const size_t batch = roles.batch.size();
  const size_t depth = roles.contracted.size();
  const Term a = Permuted(b, "left", left, roles.batch + roles.left + roles.contracted);
  const bool as_is = right.labels == roles.batch + roles.contracted + roles.right;
  Term c = as_is ? right : Permuted(b, "right", right, roles.batch + roles.right + roles.contracted);
  // As one axis, several would only be compared by their product.
  for (size_t i = 0; depth > 1 && i < depth; ++i) {
    const size_t axis = batch + (as_is ? 0 : roles.right.size()) + i;
    c.value = EmitSameExtent(b, "right_checked", c.value, static_cast<int64_t>(axis), a.value,
                             static_cast<int64_t>(batch + roles.left.size() + i));
  }
  const size_t columns_at = batch + (as_is ? depth : 0);
  ValueId rows = a.value;
  // Without a batch, MatMul takes any number of free axes on the left.
  const bool free_left = batch == 0 && !roles.left.empty();
  if (!free_left) {
    rows = AsMatrices(b, "left_matrix", a.value, batch, roles.left.size(), depth);
  } else if (depth != 1) {
    std::vector<int64_t> target(roles.left.size(), 0);
    target.push_back(-1);
    rows = EmitReshape(b, "left_matrix", a.value, target);
  }
  const ValueId columns = AsMatrices(b, "right_matrix", c.value, batch, as_is ? depth : roles.right.size(),
                                     as_is ? roles.right.size() : depth);
  const ValueId product =
      b.Emit("product", OpCode::kMatMul, {rows, columns}, MatMulAttrs{.transpose_b = !as_is});
  const Labels labels = roles.batch + roles.left + roles.right;
  if (roles.right.size() == 1 && (free_left || roles.left.size() == 1)) return {product, labels};
  Target target(b);
  for (size_t i = 0; i < batch + (free_left ? roles.left.size() : 0); ++i) target.Append(0);
  if (!free_left) target.AppendExtents(a.value, batch, batch + roles.left.size(), false);
  target.AppendExtents(c.value, columns_at, columns_at + roles.right.size(), false);
  return {target.Reshape("axes", product), labels};
}

Term Product(OnnxBuilder& b, const Term& left, const Term& right, const Labels& needed) {
  const Labels both = left.labels + needed;
  const Term a = Summed(b, "left_sum", left, right.labels + needed);
  const Term c = Summed(b, "right_sum", right, both);
  const auto in_left = [&](char label) { return Has(a.labels, label); };
  const auto in_right = [&](char label) { return Has(c.labels, label); };
  Roles roles;
  roles.batch = Pick(a.labels, [&](char label) { return in_right(label) && Has(needed, label); });
  // In the right operand's order: weights then need no transpose.
  roles.contracted = Pick(c.labels, [&](char label) { return in_left(label) && !Has(needed, label); });
  roles.left = Pick(a.labels, [&](char label) { return !in_right(label); });
  roles.right = Pick(c.labels, [&](char label) { return !in_left(label); });
  if (roles.batch.size() + roles.left.size() + roles.right.size() > kMaxRank) {
    OnnxBuilder::Unsupported("makes an intermediate result of more than {} axes", kMaxRank);
  }
  return roles.contracted.empty() ? ElementwiseProduct(b, a, c, roles) : MatrixProduct(b, a, c, roles);
}

/// Without "->": the ellipsis, then the labels that occur once, in alphabetical order.
Labels ImplicitOutput(const std::vector<Term>& terms) {
  Labels all;
  for (const Term& term : terms) all += term.labels;
  std::array<size_t, 256> counts = {};
  for (char label : all) ++counts[static_cast<unsigned char>(label)];
  Labels output = Pick(
      all, [&](char label) { return IsEllipsis(label) || counts[static_cast<unsigned char>(label)] == 1; });
  std::sort(output.begin(), output.end());  // Digits come before letters.
  output.erase(std::unique(output.begin(), output.end()), output.end());
  return output;
}

void CheckOutput(OnnxBuilder& b, const std::vector<Term>& terms, const Labels& output) {
  Labels all;
  for (const Term& term : terms) all += term.labels;
  for (char label : output) {
    if (!Has(all, label)) b.Invalid("the equation's output has the label '{}', which no operand has", label);
    if (std::count(output.begin(), output.end(), label) > 1) {
      b.Invalid("the equation's output has the label '{}' twice", label);
    }
  }
  for (char label : all) {
    if (IsEllipsis(label) && !Has(output, label))
      b.Invalid("the equation's output lacks the '...' of its operands");
  }
}

/// Behind each term, the labels that the output or a later term has, each once.
std::vector<Labels> NeededBehind(const std::vector<Term>& terms, Labels needed) {
  std::vector<Labels> behind(terms.size());
  for (size_t i = terms.size(); i-- > 0;) {
    behind[i] = needed;
    for (char label : terms[i].labels) {
      if (!Has(needed, label)) needed += label;
    }
  }
  return behind;
}

void BuildEinsum(OnnxBuilder& b) {
  const Equation equation = ParseEquation(b);
  std::vector<Term> terms;
  int ellipsis = 0;
  for (size_t i = 0; i < b.input_count(); ++i) {
    const ValueId operand = b.Input(i);
    const int axes = EllipsisAxes(b, equation.inputs[i], b.RankOf(operand));
    ellipsis = std::max(ellipsis, axes);
    terms.push_back({operand, ReadLabels(b, equation.inputs[i], axes)});
  }
  const Labels output =
      equation.explicit_output ? ReadLabels(b, equation.output, ellipsis) : ImplicitOutput(terms);
  CheckOutput(b, terms, output);
  Term result = Diagonal(b, terms[0]);
  const std::vector<Labels> needed = NeededBehind(terms, output);
  for (size_t i = 1; i < terms.size(); ++i) result = Product(b, result, Diagonal(b, terms[i]), needed[i]);
  result = Summed(b, "sum", result, output);
  Ints perm;
  for (char label : output) perm[perm.size++] = static_cast<int64_t>(result.labels.find(label));
  if (perm.size == 0) return b.Output(OpCode::kIdentity, {result.value});
  b.Output(OpCode::kTranspose, {result.value}, TransposeAttrs{perm});
}

constexpr OnnxOp kRows[] = {{"Einsum", 12, kNewest, BuildEinsum}};

}  // namespace

std::span<const OnnxOp> OnnxEinsumOps() { return kRows; }

}  // namespace skiff
