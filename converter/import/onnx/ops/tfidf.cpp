// ONNX row: TfIdfVectorizer over numbers. Every n-gram of the pool is compared with all windows of a row at
// once, for each distance between a window's elements; the matches are counted.
#include <algorithm>
#include <limits>

#include "import/emit.h"
#include "import/onnx/choice.h"
#include "import/onnx/ops.h"
#include "ops/op_codes.h"

namespace skiff {
namespace {

constexpr int64_t kMostWords = 16;
constexpr int64_t kMostSkipped = 64;
constexpr int64_t kMostColumns = int64_t{1} << 24;

enum class Weighing { kCounts, kPresence, kProducts };
constexpr OnnxChoice<Weighing> kModes[] = {
    {"TF", Weighing::kCounts}, {"IDF", Weighing::kPresence}, {"TFIDF", Weighing::kProducts}};

/// The n-grams of one length.
struct Grams {
  int64_t length = 0;
  int64_t first = 0;             ///< The number of its first n-gram among all.
  std::vector<int64_t> numbers;  ///< n-gram by n-gram.
  int64_t count() const { return static_cast<int64_t>(numbers.size()) / length; }
};

int64_t InRange(const OnnxBuilder& b, const char* name, int64_t lowest, int64_t highest) {
  const int64_t value = b.RequiredInt(name);
  if (value < lowest || value > highest)
    b.Invalid("attribute '{}' is {}; {} to {} was expected", name, value, lowest, highest);
  return value;
}

std::vector<int64_t> RequiredInts(const OnnxBuilder& b, const char* name) {
  auto values = b.IntList(name);
  if (!values || values->empty()) b.Invalid("attribute '{}' is missing", name);
  return std::move(*values);
}

/// All of the pool, in its order.
std::vector<Grams> ReadPool(const OnnxBuilder& b) {
  if (b.HasAttribute("pool_strings"))
    OnnxBuilder::Unsupported(
        "counts words; there are no texts on a device: let the program number the words, and give the "
        "operator "
        "numbers (pool_int64s)");
  const std::vector<int64_t> pool = RequiredInts(b, "pool_int64s");
  const std::vector<int64_t> starts = RequiredInts(b, "ngram_counts");
  std::vector<Grams> all;
  int64_t first = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto size = static_cast<int64_t>(pool.size());
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : size;
    const auto length = static_cast<int64_t>(i) + 1;
    if (starts[i] < 0 || starts[i] > end || end > size || (end - starts[i]) % length != 0)
      b.Invalid("attribute 'ngram_counts' gives the {}-grams the elements {} to {} of a pool of {}", length,
                starts[i], end, size);
    all.push_back({length, first, {pool.begin() + starts[i], pool.begin() + end}});
    first += all.back().count();
  }
  return all;
}

/// [rows, n-grams]: how often each occurs with so many elements left out between two of a window.
ValueId EmitMatches(OnnxBuilder& b, ValueId x, const Grams& grams, int64_t skipped) {
  ValueId all = kNoValue;
  for (int64_t i = 0; i < grams.length; ++i) {
    const int64_t behind = (grams.length - 1 - i) * (skipped + 1);
    const ValueId words =
        EmitUnsqueeze(b, "words", SliceAxis(b, "from", x, 1, i * (skipped + 1), behind), Ints{1});
    TensorData wanted(DType::kI64, Shape{grams.count(), 1});
    for (int64_t k = 0; k < grams.count(); ++k)
      static_cast<int64_t*>(wanted.mutable_data())[k] =
          grams.numbers[static_cast<size_t>(k * grams.length + i)];
    const ValueId same = b.Emit("same", OpCode::kEqual, {words, b.Constant("wanted", std::move(wanted))});
    all = all == kNoValue ? same : b.Emit("all_same", OpCode::kAnd, {all, same});
  }
  return b.Emit("matches", OpCode::kReduceSum, {b.CastTo("found", all, DType::kF32)},
                ReduceAttrs{{2}, false, false});
}

/// The columns in the order of ngram_indexes; others are 0.
ValueId EmitOrdered(OnnxBuilder& b, ValueId counts, const std::vector<int64_t>& columns,
                    const std::vector<int64_t>& places) {
  const int64_t last = *std::max_element(places.begin(), places.end());
  if (*std::min_element(places.begin(), places.end()) < 0 || last >= kMostColumns)
    b.Invalid("attribute 'ngram_indexes' names places outside of 0 to {}", kMostColumns - 1);
  b.CheckRoom((last + 1) * static_cast<int64_t>(sizeof(int64_t)));
  const auto none = static_cast<int64_t>(columns.size());
  std::vector<int64_t> from(static_cast<size_t>(last) + 1, none);
  for (size_t i = 0; i < columns.size(); ++i) {
    int64_t& place = from[static_cast<size_t>(places[static_cast<size_t>(columns[i])])];
    if (place != none)
      OnnxBuilder::Unsupported("counts two n-grams at one place (ngram_indexes); give each its own");
    place = static_cast<int64_t>(i);
  }
  const ValueId padded = PadAxis(b, "and_none", counts, 1, 0, 1);
  return b.Emit("ordered", OpCode::kGather, {padded, b.ConstantInts("columns", from)}, AxisAttrs{1});
}

/// By the places of the output.
ValueId EmitWeighed(OnnxBuilder& b, ValueId counts, const std::vector<int64_t>& places) {
  const Weighing mode = ChooseValue(b, "mode", "", kModes);
  const auto weights = b.FloatList("weights");
  if (weights && weights->size() != places.size())
    b.Invalid("attribute 'weights' has {} numbers, {} were expected", weights->size(), places.size());
  if (mode == Weighing::kCounts) return counts;
  if (mode == Weighing::kPresence)
    counts = b.CastTo("present", b.CastTo("is_present", counts, DType::kBool), DType::kF32);
  if (!weights) return counts;
  // The places have been checked, and the columns were more bytes.
  std::vector<float> factors(static_cast<size_t>(*std::max_element(places.begin(), places.end())) + 1, 1.0f);
  for (size_t i = 0; i < places.size(); ++i) factors[static_cast<size_t>(places[i])] = (*weights)[i];
  return EmitMul(b, "weighed", counts, b.Constant("factors", TensorData::OfFloats(factors)));
}

void BuildTfIdf(OnnxBuilder& b) {
  const int64_t shortest = InRange(b, "min_gram_length", 1, kMostWords);
  const int64_t longest = InRange(b, "max_gram_length", shortest, kMostWords);
  const int64_t skips = InRange(b, "max_skip_count", 0, kMostSkipped);
  const std::vector<Grams> pool = ReadPool(b);
  const std::vector<int64_t> places = RequiredInts(b, "ngram_indexes");
  if (static_cast<int64_t>(places.size()) != pool.back().first + pool.back().count())
    b.Invalid("attribute 'ngram_indexes' has {} numbers, the pool {} n-grams", places.size(),
              pool.back().first + pool.back().count());
  const ValueId given = b.Input(0);
  const int rank = b.RankOf(given);
  if (rank != 1 && rank != 2) b.Invalid("input 0 has rank {}; 1 or 2 was expected", rank);
  if (IsFloat(b.DTypeOf(given)))
    b.Invalid("input 0 is {}; integers were expected", DTypeName(b.DTypeOf(given)));
  ValueId x = b.CastTo("numbers", given, DType::kI64);
  if (rank == 1) x = EmitUnsqueeze(b, "row", x, Ints{0});
  std::vector<ValueId> found;
  std::vector<int64_t> columns;
  for (const Grams& grams : pool) {
    if (grams.length < shortest || grams.length > longest || grams.count() == 0) continue;
    ValueId counts = EmitMatches(b, x, grams, 0);
    for (int64_t skipped = 1; skipped <= skips && grams.length > 1; ++skipped)
      counts = EmitAdd(b, "counts", counts, EmitMatches(b, x, grams, skipped));
    found.push_back(counts);
    for (int64_t k = 0; k < grams.count(); ++k) columns.push_back(grams.first + k);
  }
  if (found.empty()) b.Invalid("the pool has no n-grams of {} to {} elements", shortest, longest);
  const ValueId counts =
      found.size() == 1 ? found[0] : b.Emit("all_counts", OpCode::kConcat, found, AxisAttrs{1});
  const ValueId y = EmitWeighed(b, EmitOrdered(b, counts, columns, places), places);
  if (rank == 2) return b.Output(OpCode::kIdentity, {y});
  b.Output(OpCode::kSqueeze, {y}, AxesAttrs{{0}});
}

constexpr OnnxOp kRows[] = {{"TfIdfVectorizer", 9, kNewestOnnxOpset, BuildTfIdf}};

}  // namespace

std::span<const OnnxOp> OnnxTfIdfOps() { return kRows; }

}  // namespace skiff
