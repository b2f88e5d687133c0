#include "skiff/labels.h"

#include <algorithm>
#include <cmath>

#include "core/extents.h"
#include "core/half.h"
#include "skiff/log.h"

namespace skiff {
namespace {

template <class Element>
double At(const void* elements, int64_t i) {
  return static_cast<double>(static_cast<const Element*>(elements)[i]);
}

double HalfAt(const void* elements, int64_t i) {
  return static_cast<double>(HalfToFloat(static_cast<const uint16_t*>(elements)[i]));
}

struct Reader {
  DType dtype;
  double (*at)(const void* elements, int64_t i);
};
constexpr Reader kReaders[] = {
    {DType::kF32, At<float>},    {DType::kF16, HalfAt},       {DType::kF64, At<double>},
    {DType::kI8, At<int8_t>},    {DType::kU8, At<uint8_t>},   {DType::kI16, At<int16_t>},
    {DType::kU16, At<uint16_t>}, {DType::kI32, At<int32_t>},  {DType::kU32, At<uint32_t>},
    {DType::kI64, At<int64_t>},  {DType::kU64, At<uint64_t>},
};

}  // namespace

int64_t ClassesOf(const Shape& scores) {
  int axis = scores.rank() - 1;
  while (axis > 1 && scores[axis] == 1) --axis;
  return axis < 0 ? 0 : scores[axis];
}

Result<size_t> BestClasses(const PortInfo& port, const ConstTensorView& scores, Span<ClassScore> best,
                           ScoreKind kind, int64_t row) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& known) { return known.dtype == scores.dtype; });
  const int64_t classes = ClassesOf(scores.shape);
  const bool usable = reader != std::end(kReaders) && WhyNoTensor(scores.dtype, scores.shape) == nullptr &&
                      classes > 0 && scores.shape.elements() > 0 && scores.data != nullptr && scores.dense();
  if (!usable) {
    return Fail(StatusCode::kInvalidArgument,
                "output '%s': %s %s holds no scores of classes; expected numbers, row after row", port.name,
                DTypeName(scores.dtype), ShapeText(scores.shape).c_str());
  }
  const int64_t rows = scores.shape.elements() / classes;
  if (row < 0 || row >= rows) {
    return Fail(StatusCode::kInvalidArgument, "output '%s': there is no row %lld of scores; %s has %lld",
                port.name, static_cast<long long>(row), ShapeText(scores.shape).c_str(),
                static_cast<long long>(rows));
  }
  const Quantization* quantization = scores.quantization != nullptr ? scores.quantization : port.quantization;
  // The caller's shape may be another than the port's.
  const char* defect =
      quantization == nullptr ? nullptr : QuantizationDefect(*quantization, scores.dtype, scores.shape);
  if (defect != nullptr) {
    return Fail(StatusCode::kInvalidArgument, "output '%s': its scales are not those of %s %s: %s", port.name,
                DTypeName(scores.dtype), ShapeText(scores.shape).c_str(), defect);
  }
  const ScaleIndex scale_of(quantization == nullptr ? Quantization() : *quantization, scores.shape);
  const auto score_at = [&](int64_t i) {
    const double value = reader->at(scores.data, row * classes + i);
    if (quantization == nullptr) return value;
    const int64_t at = scale_of(row * classes + i);
    return (value - quantization->ZeroPointAt(at)) * static_cast<double>(quantization->ScaleAt(at));
  };
  // Sorted from the first on; few are wanted of many.
  size_t count = 0;
  for (int64_t i = 0; i < classes; ++i) {
    const double score = score_at(i);
    const auto worse = [&](const ClassScore& other) {
      return score > other.score || (std::isnan(other.score) && !std::isnan(score));
    };
    size_t place = count;
    while (place > 0 && worse(best[place - 1])) --place;
    if (place == best.size()) continue;
    count = std::min(count + 1, best.size());
    for (size_t k = count - 1; k > place; --k) best[k] = best[k - 1];
    const auto labels = static_cast<int64_t>(port.labels.size());
    best[place] = {i, i < labels ? port.labels[static_cast<size_t>(i)] : "", score};
  }
  if (kind == ScoreKind::kSoftmax && count > 0) {
    const double highest = best[0].score;
    double sum = 0;
    for (int64_t i = 0; i < classes; ++i) sum += std::exp(score_at(i) - highest);
    for (size_t k = 0; k < count; ++k) best[k].score = std::exp(best[k].score - highest) / sum;
  }
  return count;
}

}  // namespace skiff
