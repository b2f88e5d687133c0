#include "tests/fuzz/random_program.h"

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "trace/ops.h"

namespace skiff::eager {
namespace {

constexpr int64_t kMostElements = 1500;
/// Products of two whole numbers, and sums of all elements of a tensor, stay exact in f32.
constexpr double kLargestWhole = 4096;
/// Rounding errors are relative to the largest number of a program: this keeps the measure sharp.
constexpr double kLargestReal = 64;

double Largest(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) return 0;
  double largest = 0;
  const float* data = tensor.as<float>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (!(std::fabs(data[i]) <= kLargestWhole)) return std::fabs(data[i]);  // NaN, too.
    largest = std::max(largest, static_cast<double>(std::fabs(data[i])));
  }
  return largest;
}

bool Fits(const Tensor& tensor, bool whole) {
  return tensor.elements() <= kMostElements && tensor.rank() <= 5 &&
         Largest(tensor) <= (whole ? kLargestWhole : kLargestReal);
}

}  // namespace

void RunSteps(const std::vector<Step>& steps, Tensors& values) {
  for (const Step& step : steps) {
    for (Tensor& result : step.run(values)) {
      if (!result.symbolic() && !Fits(result, step.whole))
        Throw(StatusCode::kInvalidArgument, "a result of {} is too large", step.text);
      values.push_back(std::move(result));
    }
  }
}

Tensor Drawer::Elements(DType dtype, const Shape& shape, bool whole) {
  std::vector<float> elements(static_cast<size_t>(shape.elements()));
  for (float& element : elements)
    element = whole ? static_cast<float>(Int(-3, 3)) : static_cast<float>(Int(-2000, 2000)) / 1000.0f;
  return Cast(Tensor::Of(elements, shape), dtype);
}

Ref Drawer::Any(const Scope& scope, const std::function<bool(size_t)>& fits) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    const int last = static_cast<int>(scope.size()) - 1;
    const auto value = static_cast<size_t>(std::max(Int(0, last), Int(0, last)));
    if (fits(value)) return value;
  }
  return std::nullopt;
}

Ref Drawer::AnyOf(const Scope& scope, DType dtype, int least_rank) {
  return Any(scope, [&](size_t value) {
    return scope.At(value).dtype() == dtype && scope.At(value).rank() >= least_rank;
  });
}

Ref Drawer::AnyWhole(const Scope& scope) {
  return Any(scope,
             [&](size_t value) { return scope.whole[value] && scope.At(value).dtype() != DType::kBool; });
}

Ref Drawer::PartnerOf(const Scope& scope, size_t value) {
  return Any(scope, [&](size_t other) {
    if (other == value) return false;
    for (const Tensors& values : scope.values) {
      const Shape large = values[value].shape(), small = values[other].shape();
      if (values[value].dtype() != values[other].dtype() || small.rank() > large.rank()) return false;
      for (int i = 1; i <= small.rank(); ++i) {
        const int64_t extent = small[small.rank() - i];
        if (extent != 1 && extent != large[large.rank() - i]) return false;
      }
    }
    return true;
  });
}

int64_t Drawer::Axis(const Scope& scope, size_t value) { return Int(0, scope.At(value).rank() - 1); }

bool Drawer::Add(Scope& scope, std::string text, bool whole, std::function<Tensors(const Tensors&)> run) {
  std::array<Tensors, kInputSets> results;
  for (size_t set = 0; set < kInputSets; ++set) {
    try {
      results[set] = run(scope.values[set]);
    } catch (const Error&) {
      return false;
    }
    if (!std::all_of(results[set].begin(), results[set].end(),
                     [&](const Tensor& result) { return Fits(result, whole); }))
      return false;
  }
  const size_t first = scope.size();
  for (size_t set = 0; set < kInputSets; ++set)
    scope.values[set].insert(scope.values[set].end(), results[set].begin(), results[set].end());
  scope.whole.resize(first + results[0].size(), whole);
  std::string names;
  for (size_t i = first; i < scope.size(); ++i)
    names += fmt::format("{}v{}: {}", names.empty() ? "" : ", ", i, scope.At(i).TypeText());
  scope.steps.push_back(
      {fmt::format("{:{}}{}{} = {}", "", 2 * scope.depth, names, whole ? " whole" : "", text), whole,
       std::move(run)});
  return true;
}

bool Drawer::AddOne(Scope& scope, std::string text, bool whole, std::function<Tensor(const Tensors&)> run) {
  return Add(scope, std::move(text), whole,
             [run = std::move(run)](const Tensors& values) { return Tensors{run(values)}; });
}

void RandomProgram::DrawInputs(Drawer& draw) {
  const int size = draw.Int(1, 5);
  const std::array<int64_t, kInputSets> sizes = {size, (size + draw.Int(0, 3)) % 5 + 1};
  const auto add = [&](DType dtype, Shape shape, bool whole) {
    const bool varies = open_ && shape.rank() > 0 && draw.Chance(70);
    const int axis = varies && !draw.Chance(70) ? draw.Int(0, shape.rank() - 1) : 0;
    std::string dims;
    for (int i = 0; i < shape.rank(); ++i)
      dims += (i == 0 ? "" : ", ") + (varies && i == axis ? "n" : std::to_string(shape[i]));
    signature_.push_back(fmt::format("{}[{}]", DTypeName(dtype), dims));
    for (size_t set = 0; set < kInputSets; ++set) {
      if (varies) shape[axis] = sizes[set];
      inputs_[set].push_back(draw.Elements(dtype, shape, whole));
    }
    exact_inputs_.push_back(whole);
  };
  const auto any_shape = [&](int rank) {
    std::vector<int64_t> extents;
    for (int i = 0; i < rank; ++i) extents.push_back(draw.Int(1, 5));
    return Shape(extents.data(), rank);
  };
  add(DType::kF32, any_shape(draw.Int(0, 3)), true);
  add(DType::kF32, any_shape(draw.Int(1, 4)), false);
  add(DType::kI32, any_shape(draw.Int(0, 2)), true);
  if (draw.Chance(50)) add(DType::kF32, {1, draw.Int(3, 6), draw.Int(3, 6), draw.Int(1, 4)}, draw.Chance(50));
  if (draw.Chance(20)) add(DType::kI64, any_shape(draw.Int(0, 2)), true);
}

RandomProgram::RandomProgram(uint32_t seed) {
  Drawer draw(seed);
  open_ = draw.Chance(40);
  DrawInputs(draw);
  Scope scope;
  scope.values = inputs_;
  scope.whole = exact_inputs_;
  const int wanted = draw.Int(3, 12);
  for (int attempt = 0; attempt < 4 * wanted && static_cast<int>(scope.steps.size()) < wanted; ++attempt)
    DrawStep(draw, scope);
  steps_ = scope.steps;
  // The last value, and others; what is behind none of them is dead code.
  for (size_t value = scope.size(); value-- > inputs_[0].size() && outputs_.size() < 4;) {
    if (outputs_.empty() || draw.Chance(40)) outputs_.push_back(value);
  }
  if (outputs_.empty()) outputs_.push_back(0);
  for (const size_t output : outputs_) exact_.push_back(scope.whole[output]);
  for (size_t set = 0; set < kInputSets; ++set) {
    for (size_t value = 0; value < scope.size(); ++value) {
      if (!scope.whole[value]) scale_[set] = std::max(scale_[set], Largest(scope.values[set][value]));
    }
  }
}

Tensors RandomProgram::operator()(const Tensors& inputs) const {
  Tensors values = inputs;
  RunSteps(steps_, values);
  Tensors results;
  for (const size_t output : outputs_) results.push_back(values[output]);
  return results;
}

bool RandomProgram::Has(const std::string& step) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& each) { return each.text.find("= " + step) != std::string::npos; });
}

std::string RandomProgram::Text() const {
  std::string text;
  for (size_t i = 0; i < signature_.size(); ++i) {
    text += fmt::format("v{}: input {}{}, with {} and {}\n", i, signature_[i],
                        exact_inputs_[i] ? " whole" : "", inputs_[0][i].TypeText(), inputs_[1][i].TypeText());
  }
  for (const Step& step : steps_) text += step.text + "\n";
  return text + fmt::format("return v{}\n", fmt::join(outputs_, ", v"));
}

}  // namespace skiff::eager
