#include "tests/models/tflite_case.h"

#include <algorithm>
#include <cmath>

#include "import/import_model.h"

namespace skiff::testing {
namespace {

/// How far two outputs are apart: of real numbers, the largest difference over the largest number; of
/// integers, the share of those that are more than `units` apart.
double Apart(TensorData got, const TensorData& expected, double units) {
  if (expected.quantization()) got = got.Quantized(expected.quantization());
  const std::vector<double> a = got.ToDoubles();
  const std::vector<double> b = expected.ToDoubles();
  if (a.size() != b.size()) return INFINITY;
  const bool integers = !IsFloat(got.dtype());
  const double unit = got.quantization() ? static_cast<double>(got.quantization()->scale) * units : 0;
  double largest = 0;
  double worst = 0;
  int64_t apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
    if (!(std::abs(a[i] - b[i]) <= unit * 1.01)) ++apart;
  }
  if (integers) return static_cast<double>(apart) / static_cast<double>(a.size());
  return worst == 0 ? 0 : worst / std::max(largest, 1e-30);
}

}  // namespace

ShapeContract AllOnes(const std::string& path) {
  ShapeContract contract;
  const Graph graph = ImportModel(path);
  for (const GraphPort& port : graph.caller_inputs()) {
    for (const Dim& dim : graph.value(port.value).dims) {
      if (!dim.constant())
        contract.dims.emplace(graph.symbols()[static_cast<size_t>(dim.symbol())].name, DimRange{1, 1});
    }
  }
  return contract;
}

bool DrawnByNumpy(const Graph& graph) {
  return std::all_of(graph.caller_inputs().begin(), graph.caller_inputs().end(), [&](const GraphPort& port) {
    const DType dtype = graph.value(port.value).dtype;
    return dtype == DType::kF32 || dtype == DType::kI8 || dtype == DType::kU8;
  });
}

std::map<std::string, TensorData> TfliteInputs(const Graph& graph) {
  return DrawnByNumpy(graph) ? NumpySeededInputs(graph) : RandomInputs(graph, 11);
}

void TfliteVerdict::Add(const TensorData& got, const TensorData& expected, double units, double tolerance,
                        double codes) {
  const double apart = Apart(got, expected, units);
  worst = std::max(worst, apart);
  const bool quantized = got.quantization() || expected.quantization();
  ok &= apart <= (IsFloat(got.dtype()) ? tolerance : quantized ? codes : 0);
}

}  // namespace skiff::testing
