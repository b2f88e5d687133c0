#include "tests/fuzz/misuse_session.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>

#include "skiff/quantization.h"
#include "skiff/session.h"

namespace skiff::testing {
namespace {

constexpr const char* kNobody = "nobody";
constexpr int64_t kHuge = INT64_MAX / 4;

/// Without data, what is taken after all reads nothing.
void Refuse(Session& session, int index, const ConstTensorView& tensor) {
  static_cast<void>(session.SetInput(index, tensor).ok());
  static_cast<void>(session.BindInput(index, tensor).ok());
}

/// Shapes that are near the port's and not it.
void RefuseShapes(const Model& model, Session& session, int index, const PortInfo& port, const Shape& shape) {
  if (shape.rank() < kMaxRank) {
    Shape deeper = shape;
    deeper.Append(1);
    Refuse(session, index, {nullptr, port.dtype, deeper});
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    Shape other = shape;
    other[axis] = shape[axis] == 1 ? 2 : 1;
    Refuse(session, index, {nullptr, port.dtype, other});
    if (port.symbols[axis] < 0) continue;
    const SymbolInfo& symbol = model.symbols()[static_cast<size_t>(port.symbols[axis])];
    const int64_t above = symbol.max == SymbolInfo::kUnbounded ? kHuge : std::min(symbol.max, kHuge) + 1;
    for (const int64_t extent : {above, symbol.min - 1}) {
      other[axis] = extent;
      Refuse(session, index, {nullptr, port.dtype, other});
    }
  }
}

void RefuseInputs(const Model& model, Session& session, int index) {
  alignas(64) static const uint8_t kBytes[64] = {};
  const PortInfo& port = session.signature().inputs[static_cast<size_t>(index)];
  Shape shape = port.shape;
  Shape huge = port.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] >= 0) continue;
    shape[axis] = 1;
    huge[axis] = kHuge / 64;
  }
  const Quantization halves = {.scale = 0.5F};
  Refuse(session, index, {nullptr, port.dtype == DType::kF32 ? DType::kI64 : DType::kF32, shape});
  Refuse(session, index, {nullptr, port.dtype, shape, &halves});
  Refuse(session, index, {nullptr, port.dtype, huge});
  RefuseShapes(model, session, index, port, shape);
  ConstTensorView strided(kBytes, port.dtype, shape);
  ++strided.row_stride;
  if (!strided.dense()) Refuse(session, index, strided);
  const ConstTensorView misaligned(kBytes + 1, port.dtype, shape);
  if (DTypeSize(port.dtype) > 1) static_cast<void>(session.BindInput(index, misaligned).ok());
  static_cast<void>(session.InputBuffer(index).ok());
}

}  // namespace

void MisuseOptions(Model& model) {
  SessionOptions nobody;
  nobody.signature = kNobody;
  SessionOptions threads;
  threads.threads = INT_MAX;
  SessionOptions target;
  target.target = static_cast<Target>(77);
  for (const SessionOptions& options : {nobody, threads, target})
    static_cast<void>(Session::Create(model, options).ok());
}

void MisuseSession(const Model& model, Session& session) {
  const auto inputs = static_cast<int>(session.signature().inputs.size());
  for (int i = 0; i < inputs; ++i) RefuseInputs(model, session, i);
  for (const int index : {-1, inputs}) {
    Refuse(session, index, {});
    static_cast<void>(session.InputBuffer(index).ok());
    static_cast<void>(session.InputBuffer(index, {1}).ok());
  }
  static_cast<void>(session.SetInput(kNobody, {}).ok());
  static_cast<void>(session.Output(-1).ok());
  static_cast<void>(session.Output(kNobody).ok());
  static_cast<void>(session.Tap(kNobody).ok());
  static_cast<void>(session.Tap(nullptr).ok());
  static_cast<void>(session.variables().Get(kNobody).ok());
  for (const VariableInfo& variable : model.variables()) {
    const TensorView& initial = variable.initial;
    static_cast<void>(session.variables().Set(variable.name, {nullptr, DType::kInvalid, {}}).ok());
    static_cast<void>(session.variables().Set(variable.name, {nullptr, initial.dtype, initial.shape}).ok());
    static_cast<void>(session.variables().Set(nullptr, initial).ok());
  }
}

}  // namespace skiff::testing
