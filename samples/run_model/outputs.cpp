#include "outputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>

#include "files.h"
#include "skiff/labels.h"
#include "skiff/quantize.h"

namespace {

constexpr int kTopOfLabels = 5;
constexpr int kMostTop = 1000;
constexpr int64_t kFirstValues = 6;

void Write(JsonWriter& json, const char* key, double value, bool real) {
  if (real || !std::isfinite(value)) {
    json.Real(key, value);
  } else {
    json.Integer(key, static_cast<int64_t>(value));
  }
}

/// Of 64 bits a double does not hold all.
void Write(JsonWriter& json, const char* key, const skiff::TensorView& tensor, const Numbers& numbers,
           int64_t i) {
  if (numbers.real()) return json.Real(key, numbers[i]);
  if (tensor.dtype == skiff::DType::kI64) return json.Integer(key, tensor.as<int64_t>()[i]);
  if (tensor.dtype == skiff::DType::kU64) return json.Unsigned(key, tensor.as<uint64_t>()[i]);
  json.Integer(key, static_cast<int64_t>(numbers[i]));
}

/// Calls use(row, rows, rank, class) for the best classes of each row of scores: along the first axis, none
/// but that and the classes' being longer than 1. Nothing for other outputs. False after a message.
template <class Use>
bool ForEachClass(const skiff::PortInfo& port, const skiff::TensorView& tensor, int top, const Use& use) {
  const int64_t classes = skiff::ClassesOf(tensor.shape);
  const bool labelled = !port.labels.empty() && static_cast<int64_t>(port.labels.size()) == classes;
  if (tensor.shape.elements() == 0 || !(labelled || (top >= 0 && classes > 1))) return true;
  const int64_t rows = tensor.shape.elements() / classes;
  if (rows != 1 && rows != tensor.shape[0]) return true;
  const auto wanted = static_cast<size_t>(top < 0 ? kTopOfLabels : top);
  skiff::ClassScore best[kMostTop];
  for (int64_t row = 0; row < rows; ++row) {
    const auto found = skiff::BestClasses(port, tensor, {best, wanted}, skiff::ScoreKind::kAsTheyAre, row);
    if (!found.ok()) return false;
    for (size_t i = 0; i < found.value(); ++i) use(row, rows, i, best[i]);
  }
  return true;
}

}  // namespace

bool Numbers::Init(const skiff::PortInfo& port, const skiff::TensorView& tensor) {
  tensor_ = &tensor;
  if (tensor.quantization == nullptr) return true;
  reals_.reset(new (std::nothrow) float[static_cast<size_t>(tensor.shape.elements())]);
  if (!reals_) {
    std::fprintf(stderr, "skiff-run: error: no memory for the numbers of output '%s'\n", port.name);
    return false;
  }
  return skiff::DequantizeToFloats(tensor, reals_.get()).ok();
}

double Numbers::operator[](int64_t i) const {
  return reals_ ? static_cast<double>(reals_[static_cast<size_t>(i)]) : Element(*tensor_, i);
}

bool Numbers::real() const {
  return reals_ != nullptr || tensor_->dtype == skiff::DType::kF32 || tensor_->dtype == skiff::DType::kF16 ||
         tensor_->dtype == skiff::DType::kF64;
}

bool PrintClasses(const skiff::PortInfo& port, const skiff::TensorView& tensor, int top) {
  return ForEachClass(
      port, tensor, top, [](int64_t row, int64_t rows, size_t i, const skiff::ClassScore& one) {
        if (i == 0 && rows > 1) std::printf("  row %lld:\n", static_cast<long long>(row));
        std::printf("  %zu. ", i + 1);
        if (*one.label == '\0') {
          std::printf("class %lld  (score %.6g)\n", static_cast<long long>(one.index), one.score);
        } else {
          std::printf("%s  (score %.6g, class %lld)\n", one.label, one.score,
                      static_cast<long long>(one.index));
        }
      });
}

bool WriteOutput(JsonWriter& json, const skiff::PortInfo& port, const skiff::TensorView& tensor, int top,
                 const char* file) {
  Numbers numbers;
  if (!numbers.Init(port, tensor)) return false;
  const int64_t count = tensor.shape.elements();
  int64_t not_finite = 0;
  double sum = 0;
  int64_t min = 0;
  int64_t max = 0;
  const auto is_below = [&](int64_t a, int64_t b) {
    if (tensor.dtype == skiff::DType::kI64) return tensor.as<int64_t>()[a] < tensor.as<int64_t>()[b];
    if (tensor.dtype == skiff::DType::kU64) return tensor.as<uint64_t>()[a] < tensor.as<uint64_t>()[b];
    return numbers[a] < numbers[b];
  };
  for (int64_t i = 0; i < count; ++i) {
    const double value = numbers[i];
    not_finite += std::isfinite(value) ? 0 : 1;
    sum += value;
    if (is_below(i, min) || std::isnan(numbers[min])) min = i;
    if (is_below(max, i) || std::isnan(numbers[max])) max = i;
  }
  json.Begin(nullptr, '{');
  json.Text("name", port.name);
  json.Text("dtype", skiff::DTypeName(tensor.dtype));
  json.Begin("shape", '[');
  for (const int64_t extent : tensor.shape) json.Integer(nullptr, extent);
  json.End(']');
  json.Integer("elements", count);
  json.Integer("not_finite", not_finite);
  if (count > 0) {
    Write(json, "min", tensor, numbers, min);
    Write(json, "max", tensor, numbers, max);
    json.Real("mean", sum / static_cast<double>(count));
  }
  json.Begin("first_values", '[');
  for (int64_t i = 0; i < std::min(count, kFirstValues); ++i) Write(json, nullptr, tensor, numbers, i);
  json.End(']');
  bool any = false;
  const bool ok = ForEachClass(port, tensor, top, [&](int64_t row, int64_t rows, size_t, const auto& one) {
    if (!any) json.Begin("top", '[');
    any = true;
    json.Begin(nullptr, '{');
    json.Integer("class", one.index);
    Write(json, "score", one.score, numbers.real());
    if (*one.label != '\0') json.Text("label", one.label);
    if (rows > 1) json.Integer("row", row);
    json.End('}');
  });
  if (any) json.End(']');
  if (file != nullptr) json.Text("file", file);
  json.End('}');
  return ok;
}
