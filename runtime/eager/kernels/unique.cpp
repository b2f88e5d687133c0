// Unique.
#include <algorithm>
#include <cstring>

#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

/// NaN is larger than all numbers, and equal to NaN.
template <class Lane>
int Compare(Lane a, Lane b) {
  if (a < b) return -1;
  if (b < a) return 1;
  if constexpr (std::is_floating_point_v<Lane>) return int{a != a} - int{b != b};
  return 0;
}

/// How x falls into slices along an axis. Single elements are slices of a vector.
struct Slices {
  int64_t outer = 1;
  int64_t count = 0;
  int64_t inner = 1;
};

/// What a slice is like is asked of x each time: there is no memory to keep it in.
template <class Lane>
struct Order {
  LoadFn<Lane> load;
  const void* data;
  Slices slices;

  Lane At(int64_t slice, int64_t o, int64_t i) const {
    Lane lane;
    load(data, (o * slices.count + slice) * slices.inner + i, 0, 1, &lane);
    return lane;
  }
  int operator()(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < slices.outer; ++o) {
      for (int64_t i = 0; i < slices.inner; ++i) {
        if (const int order = Compare(At(a, o, i), At(b, o, i)); order != 0) return order;
      }
    }
    return 0;
  }
};

/// Numbers the groups of equal slices in the order of their values. `first` and `of` have an element for each
/// slice. Returns how many groups there are.
template <class Lane>
int64_t GroupByValue(const Order<Lane>& compare, int64_t count, int64_t* first, int64_t* of) {
  for (int64_t i = 0; i < count; ++i) first[i] = i;
  std::sort(first, first + count, [&](int64_t a, int64_t b) {
    const int order = compare(a, b);
    return order < 0 || (order == 0 && a < b);
  });
  int64_t groups = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slice = first[i];
    // The group's first slice lies at first[groups - 1], which is not behind i.
    if (groups == 0 || compare(first[groups - 1], slice) != 0) first[groups++] = slice;
    of[slice] = groups - 1;
  }
  return groups;
}

/// Numbers the groups anew, in the order of their first slices.
void OrderByOccurrence(int64_t count, int64_t* first, int64_t* of) {
  int64_t next = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t& group = first[of[i]];
    if (group == i) group = -1 - next++;  // The group's new number, which is no slice.
    of[i] = -1 - group;
  }
}

/// Where each group occurs first, and how often; zeros behind the groups.
void Count(int64_t count, const int64_t* of, int64_t* first, int64_t* counts) {
  std::fill(first, first + count, 0);
  std::fill(counts, counts + count, 0);
  for (int64_t i = 0; i < count; ++i) {
    if (counts[of[i]]++ == 0) first[of[i]] = i;
  }
}

/// The groups' first slices, beside each other along the axis; zeros behind them.
void Gather(const TensorView& x, const Slices& slices, int64_t groups, const int64_t* first,
            const TensorView& out) {
  const size_t bytes = static_cast<size_t>(slices.inner * DTypeSize(x.dtype));
  const auto* from = x.as<const unsigned char>();
  auto* to = out.as<unsigned char>();
  for (int64_t o = 0; o < slices.outer; ++o) {
    for (int64_t g = 0; g < slices.count; ++g, to += bytes) {
      if (g < groups) {
        std::memcpy(to, from + static_cast<size_t>(o * slices.count + first[g]) * bytes, bytes);
      } else {
        std::memset(to, 0, bytes);
      }
    }
  }
}

}  // namespace

Status KernelUnique(const KernelArgs& args) {
  const auto& attrs = args.As<UniqueAttrs>();
  const TensorView& x = args.inputs[0];
  Slices slices{1, x.shape.elements(), 1};
  if (attrs.slices) {
    const int axis = NormalizeAxis(attrs.axis, x.shape.rank());
    slices = {x.shape.ElementsBetween(0, axis), x.shape[axis],
              x.shape.ElementsBetween(axis + 1, x.shape.rank())};
    if (x.bytes() == 0) slices.outer = 0;  // Slices without elements are equal.
  }
  auto* first = args.outputs[1].as<int64_t>();
  auto* of = args.outputs[2].as<int64_t>();
  return VisitLane(args.op, x.dtype, [&](auto tag) {
    using Lane = decltype(tag);
    const Order<Lane> compare{Loader<Lane>(x.dtype), x.data, slices};
    const int64_t groups = GroupByValue(compare, slices.count, first, of);
    if (!attrs.sorted) OrderByOccurrence(slices.count, first, of);
    Count(slices.count, of, first, args.outputs[3].as<int64_t>());
    if (x.bytes() > 0) Gather(x, slices, groups, first, args.outputs[0]);
    *args.outputs[4].as<int64_t>() = groups;
    return OkStatus();
  });
}

}  // namespace skiff
