// Nets of one or a few TensorFlow Lite operators (make_cases.py), with what LiteRT's reference kernels give:
// imported and computed eagerly, and converted and run on each backend of the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "files/npy.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "import/tflite/import_tflite.h"
#include "run/opened_model.h"
#include "tests/converter/import/tflite/exceptions.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;

/// Of the largest element: sums of LiteRT's float kernels are f32, some of thousands of products.
constexpr double kF32 = 2e-5;
/// An f16 is rounded to 11 bits, here once by LiteRT and once by Skiff.
constexpr double kF16 = 2e-3;

fs::path CasesFolder() { return fs::path(SKIFF_SOURCE_DIR) / "tests/converter/import/tflite/cases"; }

std::vector<std::string> AllCases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(CasesFolder()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// An array of plain numbers in the type of a tensor, whose integers may stand for real numbers.
TensorData InType(const TensorData& data, const Value& value) {
  return value.quantization ? data.Quantized(value.quantization) : data;
}

/// Empty when the elements are what was expected, else a sentence. Quantised integers may
/// be one apart, because LiteRT rounds by fixed-point arithmetic.
std::string Difference(const TensorData& got, const TensorData& expected) {
  if (got.dtype() != expected.dtype()) return std::string("it is ") + DTypeName(got.dtype());
  if (!(got.shape() == expected.shape()))
    return fmt::format("its shape is {}, not {}", fmt::join(got.shape(), "x"),
                       fmt::join(expected.shape(), "x"));
  const TensorData plain_got(got.dtype(), got.shape(), got.data());
  const std::vector<double> a = plain_got.ToDoubles();
  const std::vector<double> b = expected.ToDoubles();
  double largest = 0;
  for (const double number : b)
    largest = std::isfinite(number) ? std::max(largest, std::abs(number)) : largest;
  double allowed = got.quantization() ? 1 : 0;
  if (IsFloat(got.dtype())) allowed = (got.dtype() == DType::kF16 ? kF16 : kF32) * std::max(largest, 1e-3);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same && !(std::abs(a[i] - b[i]) <= allowed))
      return fmt::format("element {} is {}, not {} (allowed {})", i, a[i], b[i], allowed);
  }
  return "";
}

struct Case {
  explicit Case(const std::string& name)
      : folder(CasesFolder() / name), graph(ImportTflite((folder / "model.tflite").string())) {
    for (size_t i = 0; i < graph.caller_inputs().size(); ++i) {
      const GraphPort& port = graph.caller_inputs()[i];
      inputs[port.name] = InType(Array("input", i), graph.value(port.value));
    }
    for (size_t i = 0; i < graph.caller_outputs().size(); ++i) expected.push_back(Array("output", i));
  }
  TensorData Array(const char* kind, size_t i) const {
    return ReadNpy((folder / fmt::format("{}_{}.npy", kind, i)).string());
  }
  void Check(const std::map<std::string, TensorData>& outputs, const char* by) const {
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string& name = graph.caller_outputs()[i].name;
      EXPECT_EQ(Difference(outputs.at(name), expected[i]), "")
          << by << ": output " << i << " '" << name << "'";
    }
  }

  fs::path folder;
  Graph graph;
  std::map<std::string, TensorData> inputs;
  std::vector<TensorData> expected;
};

class TfliteCase : public ::testing::TestWithParam<std::string> {};

TEST_P(TfliteCase, ComputesWhatTheReferenceKernelsDo) {
  if (const char* reason = WhyTfliteCaseIsRefused(GetParam())) {
    try {
      const Case test(GetParam());
      FAIL() << "is imported; it is listed as: " << reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kUnsupported) << error.what();
    }
    return;
  }
  const Case test(GetParam());
  const auto eager = Evaluate(test.graph, test.inputs);
  test.Check(eager, "eager");
  const auto converted = ConvertGraph(test.graph);
  skiff::OpenedModel opened(converted->file);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    SessionOptions options;
    options.backend = backend;
    options.threads = 1;
    const auto session = CreateSession(opened.model(), options);
    SetInputs(*session, test.inputs);
    Must([&] { return session->Run(); });
    test.Check(Outputs(*session), backend == Backend::kReference ? "reference" : "xnnpack");
  }
}

INSTANTIATE_TEST_SUITE_P(Tflite, TfliteCase, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param; });

TEST(TfliteCases, EveryExceptionIsOfACase) {
  EXPECT_EQ(UnusedTfliteExceptions(AllCases()), std::vector<std::string>{});
}

}  // namespace
}  // namespace skiff::testing
