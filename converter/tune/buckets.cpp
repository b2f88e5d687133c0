#include "tune/buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "convert.h"
#include "core/platform.h"
#include "graph/error.h"
#include "run/opened_model.h"
#include "run/random_inputs.h"

namespace skiff {
namespace {

/// Bounds the conversions: ends of buckets are tried at so many sizes, which share the calls evenly.
constexpr size_t kMaxEnds = 16;
constexpr size_t kMeasuredSizes = 3;
constexpr int kTimedPairs = 15;
constexpr double kPricePerPlan = 0.05;

std::map<std::string, DimRange> Observed(const Graph& source, const ObservedShapes& shapes) {
  std::set<std::string> open;
  for (const GraphPort& port : source.caller_inputs()) {
    for (const Dim& dim : source.value(port.value).dims) {
      dim.VisitSymbols([&](SymbolId id) { open.insert(source.symbols()[static_cast<size_t>(id)].name); });
    }
  }
  if (open.empty())
    Throw(StatusCode::kInvalidArgument,
          "the model has no open dimension: each call has the same shapes, and needs one plan");
  if (shapes.rows.empty())
    Throw(StatusCode::kInvalidArgument, "there are no shapes; those of one call at least were expected");
  std::map<std::string, DimRange> ranges;
  for (const ObservedShapes::Row& row : shapes.rows) {
    if (!(row.count > 0) || !std::isfinite(row.count))
      Throw(StatusCode::kInvalidArgument, "the shapes have {} calls; a positive number was expected",
            row.count);
    for (const std::string& name : open) {
      if (!row.sizes.contains(name))
        Throw(StatusCode::kInvalidArgument, "the shapes say nothing about the model's dimension '{}'", name);
    }
    for (const auto& [name, size] : row.sizes) {
      if (size < 1)
        Throw(StatusCode::kInvalidArgument, "the shapes have a size {} of '{}'; 1 or more was expected", size,
              name);
      if (!open.contains(name))
        Throw(StatusCode::kInvalidArgument, "the shapes have a dimension '{}', which the model has not",
              name);
      const auto [found, fresh] = ranges.try_emplace(name, size, size);
      found->second.min = std::min(found->second.min, size);
      found->second.max = std::max(found->second.max, size);
    }
  }
  for (auto& [name, range] : ranges) {
    if (const auto multiple = shapes.multiples.find(name); multiple != shapes.multiples.end())
      range.multiple = multiple->second;
  }
  return ranges;
}

/// Converts the model for these ranges.
std::unique_ptr<OpenedModel> ConvertFor(const Graph& source, const std::map<std::string, DimRange>& ranges) {
  Graph graph = source;
  ConvertOptions options;
  options.dims = ranges;
  FixShapes(graph, options);
  return std::make_unique<OpenedModel>(ConvertGraph(std::move(graph), options)->file);
}

double RunTime(Session& session) {
  const uint64_t begin = platform::NowNanoseconds();
  Must([&] { return session.Run(); });
  return static_cast<double>(platform::NowNanoseconds() - begin);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Median of relaxed / exact - 1 at one combination of sizes, both in turn.
double TimeLost(const Graph& source, OpenedModel& relaxed, const std::map<std::string, int64_t>& sizes,
                int threads) {
  std::map<std::string, DimRange> exact_ranges;
  for (const auto& [name, size] : sizes) exact_ranges[name] = DimRange(size);
  const std::unique_ptr<OpenedModel> exact = ConvertFor(source, exact_ranges);
  SessionOptions options;
  options.threads = threads;
  const std::unique_ptr<Session> sides[] = {CreateSession(relaxed.model(), options),
                                            CreateSession(exact->model(), options)};
  const NamedTensors inputs = RandomInputs(exact->model(), 1);
  for (const auto& side : sides) {
    SetInputs(*side, inputs);
    RunTime(*side);
  }
  std::vector<double> ratios;
  for (int i = 0; i < kTimedPairs; ++i) {
    const double first = RunTime(*sides[0]);
    ratios.push_back(first / RunTime(*sides[1]) - 1);
  }
  return std::max(0.0, Median(std::move(ratios)));
}

/// Sizes of one Symbol with their share of the calls.
std::map<int64_t, double> Histogram(const ObservedShapes& shapes, const std::string& symbol) {
  std::map<int64_t, double> histogram;
  double all = 0;
  for (const ObservedShapes::Row& row : shapes.rows) all += row.count;
  for (const ObservedShapes::Row& row : shapes.rows) histogram[row.sizes.at(symbol)] += row.count / all;
  return histogram;
}

/// The sizes from one end of a bucket to the next.
struct Part {
  int64_t smallest = 0;
  int64_t largest = 0;
  size_t sizes = 0;
  double calls = 0;  ///< Their share.
};

/// Buckets are made of these: they share the calls evenly.
std::vector<Part> Parts(const std::map<int64_t, double>& histogram) {
  std::vector<Part> parts;
  Part part;
  double seen = 0;
  for (const auto& [size, share] : histogram) {
    seen += share;
    if (part.sizes++ == 0) part.smallest = size;
    part.largest = size;
    part.calls += share;
    const bool last = size == histogram.rbegin()->first;
    if (!last && seen * kMaxEnds < static_cast<double>(parts.size() + 1) - 1e-9) continue;
    parts.push_back(part);
    part = {};
  }
  return parts;
}

/// The buckets with the least cost among those made of `parts`, by dynamic programming over their ends.
class Chooser {
 public:
  Chooser(std::vector<Part> parts, std::vector<uint64_t> arenas, double time_lost, bool others_fixed)
      : parts_(std::move(parts)),
        arenas_(std::move(arenas)),
        time_lost_(time_lost),
        others_fixed_(others_fixed) {}

  /// Exactly `count` plans.
  std::vector<BucketCost> Choose(size_t count) const {
    const size_t n = parts_.size();
    std::vector<std::vector<double>> cost(
        count + 1, std::vector<double>(n + 1, std::numeric_limits<double>::infinity()));
    std::vector<std::vector<size_t>> from(count + 1, std::vector<size_t>(n + 1, 0));
    cost[0][0] = 0;
    for (size_t k = 1; k <= count; ++k) {
      for (size_t end = 1; end <= n; ++end) {
        for (size_t begin = 0; begin < end; ++begin) {
          const double total = cost[k - 1][begin] + CostOf(Make(begin, end));
          if (total < cost[k][end]) {
            cost[k][end] = total;
            from[k][end] = begin;
          }
        }
      }
    }
    std::vector<BucketCost> chosen;
    for (size_t k = count, end = n; k > 0; end = from[k--][end]) chosen.push_back(Make(from[k][end], end));
    std::reverse(chosen.begin(), chosen.end());
    return chosen;
  }

  double CostOf(const std::vector<BucketCost>& buckets) const {
    double cost = 0;
    for (const BucketCost& bucket : buckets) cost += CostOf(bucket);
    return cost;
  }

  size_t most() const { return parts_.size(); }

 private:
  double CostOf(const BucketCost& bucket) const {
    const double arena =
        static_cast<double>(bucket.arena_bytes) / std::max(1.0, static_cast<double>(arenas_.back()));
    return bucket.calls * (arena + bucket.time_lost);
  }

  /// The bucket of parts begin to end - 1.
  BucketCost Make(size_t begin, size_t end) const {
    BucketCost bucket;
    bucket.largest = parts_[end - 1].largest;
    bucket.smallest = begin == 0 ? parts_[0].smallest : parts_[begin - 1].largest + 1;
    size_t sizes = 0;
    for (size_t i = begin; i < end; ++i) {
      sizes += parts_[i].sizes;
      bucket.calls += parts_[i].calls;
    }
    // The plan for the whole contract serves the last bucket.
    bucket.exact = sizes == 1 && others_fixed_ && (end < parts_.size() || begin == 0);
    if (sizes == 1) bucket.smallest = bucket.largest;
    bucket.arena_bytes = arenas_[end - 1];
    bucket.time_lost = bucket.exact ? 0 : time_lost_;
    return bucket;
  }

  std::vector<Part> parts_;
  std::vector<uint64_t> arenas_;
  double time_lost_;
  bool others_fixed_;  ///< No other dimension varies: a bucket of one size is a plan for one shape.
};

}  // namespace

BucketProposal ProposeBuckets(const Graph& source, const ObservedShapes& shapes,
                              const BucketOptions& options) {
  const auto progress = [&](const std::string& step) {
    if (options.progress) options.progress(step);
  };
  BucketProposal best;
  best.contract = Observed(source, shapes);
  progress("convert for all shapes");
  const std::unique_ptr<OpenedModel> whole = ConvertFor(source, best.contract);
  double lost = 0;
  for (size_t i = 0; i < kMeasuredSizes; ++i) {
    progress(fmt::format("measure {} of {}", i + 1, kMeasuredSizes));
    const auto& row = shapes.rows[(2 * i + 1) * shapes.rows.size() / (2 * kMeasuredSizes)];
    lost += TimeLost(source, *whole, row.sizes, options.threads) / static_cast<double>(kMeasuredSizes);
  }
  best.cost_of_one = best.cost = 1 + lost;
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& [symbol, range] : best.contract) {
    const std::vector<Part> parts = Parts(Histogram(shapes, symbol));
    std::vector<uint64_t> arenas;
    for (const Part& part : parts) {
      progress(fmt::format("plan memory for {} up to {}", symbol, part.largest));
      std::map<std::string, DimRange> ranges = best.contract;
      ranges[symbol].max = part.largest;
      arenas.push_back(ConvertFor(source, ranges)->model().plan(0, 0).arena_bytes);
    }
    const bool others_fixed = std::all_of(best.contract.begin(), best.contract.end(), [&](const auto& other) {
      return other.first == symbol || other.second.min == other.second.max;
    });
    const Chooser chooser(parts, arenas, lost, others_fixed);
    for (size_t count = 1; count <= std::min(options.max_plans, chooser.most()); ++count) {
      const std::vector<BucketCost> buckets = chooser.Choose(count);
      const double cost = chooser.CostOf(buckets);
      const double priced = cost + kPricePerPlan * static_cast<double>(count - 1);
      if (priced >= lowest - 1e-12) continue;
      lowest = priced;
      best.symbol = symbol;
      best.buckets = buckets;
      best.cost = cost;
    }
  }
  return best;
}

}  // namespace skiff
