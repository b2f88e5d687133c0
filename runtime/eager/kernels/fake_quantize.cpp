// FakeQuantize: the real numbers that codes of 8 bits stand for, when each row chooses its scale.
#include <cmath>
#include <type_traits>

#include "core/row_codes.h"
#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"
#include "ops/shape_rules.h"

namespace skiff {
namespace {

using namespace eager;

template <class T>
void RoundRow(const T* x, int64_t n, bool symmetric, T* y) {
  // In the arithmetic of the dtype, as kernels of codes do: in a wider one other numbers would lie half way.
  using Lane = std::conditional_t<std::is_same_v<T, double>, double, float>;
  Lane low = 0;
  Lane high = 0;
  bool known = true;
  for (int64_t i = 0; i < n; ++i) {
    const auto lane = Load<Lane>(x[i]);
    known = known && !std::isnan(lane);
    low = lane < low ? lane : low;
    high = lane > high ? lane : high;
  }
  const Lane nan = std::numeric_limits<Lane>::quiet_NaN();
  const RowCodes<Lane> codes = RowCodesFor(known ? low : nan, known ? high : nan, symmetric);
  for (int64_t i = 0; i < n; ++i) {
    const Lane code = std::nearbyint(Load<Lane>(x[i]) / codes.scale) + codes.zero_point;
    const Lane limited = code < codes.low ? codes.low : code > codes.high ? codes.high : code;
    y[i] = Store<T>((limited - codes.zero_point) * codes.scale);
  }
}

}  // namespace

Status KernelFakeQuantize(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const auto& attrs = args.As<FakeQuantizeAttrs>();
  const int64_t length = RowOfCodes(attrs, x.shape);
  const int64_t total = x.shape.elements();
  return VisitFloat(args.op, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t done = 0; done < total; done += length)
      RoundRow(x.as<const T>() + done, length, attrs.symmetric, args.outputs[0].as<T>() + done);
    return OkStatus();
  });
}

}  // namespace skiff
