// Trilu.
#include "eager/kernels.h"
#include "eager/kernels/copy.h"

namespace skiff {
namespace {

using namespace eager;

int64_t Within(int64_t number, int64_t low, int64_t high) {
  return number < low ? low : (number > high ? high : number);
}

}  // namespace

Status KernelTrilu(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const bool upper = args.As<TriluAttrs>().upper;
  const int64_t columns = x.shape.last();
  const int64_t rows = x.shape[x.shape.rank() - 2];
  const int64_t matrices = x.shape.ElementsBetween(0, x.shape.rank() - 2);
  // A diagonal further out than the matrix changes nothing more, and could overflow.
  const int64_t shift = args.Has(1) ? Within(IntegerAt(args.inputs[1], 0), -rows, columns) : 0;
  if (x.shape.elements() == 0) return OkStatus();
  return VisitSize(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    const T* from = x.as<const T>();
    T* to = args.outputs[0].as<T>();
    for (int64_t row = 0; row < matrices * rows; ++row, from += columns, to += columns) {
      const int64_t diagonal = row % rows + shift;
      // Kept are the columns [begin, end).
      const int64_t begin = upper ? Within(diagonal, 0, columns) : 0;
      const int64_t end = upper ? columns : Within(diagonal + 1, 0, columns);
      FillRun(to, begin, T(0));
      CopyBytes(to + begin, from + begin, (end - begin) * kSize);
      FillRun(to + end, columns - end, T(0));
    }
    return OkStatus();
  });
}

}  // namespace skiff
