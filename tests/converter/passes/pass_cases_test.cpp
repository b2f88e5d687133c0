// Text in, text out, and both sides computed: see pass_case.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <ostream>
#include <sstream>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "ops/op_codes.h"
#include "passes/passes.h"
#include "tests/converter/passes/pass_case.h"

namespace skiff {

void PrintTo(const PassCase& one, std::ostream* stream) { *stream << one.file << ".txt: " << one.name; }

namespace {

std::string CaseFolder() { return SKIFF_SOURCE_DIR "/tests/converter/passes"; }

void RunPass(Graph& graph, const std::string& name) {
  for (const Pass& pass : Pipeline()) {
    if (name == pass.name) return pass.run(graph);
  }
  FAIL() << "there is no pass '" << name << "'";
}

/// Runs `name` of the case, or the whole pipeline.
void RunPasses(Graph& graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == "pipeline") {
      PipelineOptions options;
      options.verify = true;
      RunPipeline(graph, options);
    } else {
      RunPass(graph, name);
    }
    Verify(graph);
  }
}

/// Values in [-4, 4) for floats: outside and inside the bounds of the usual activations.
TensorData RandomInput(const Value& value, int seed) {
  std::string dims;
  for (const Dim& dim : value.dims) {
    // An open dimension gets a size by its Symbol, so that equal ones are equal.
    const int64_t extent = dim.constant() ? dim.value : 5 + 2 * dim.symbol();
    dims += (dims.empty() ? "" : ", ") + std::to_string(extent);
  }
  const Graph drawn = ParseGraph(
      fmt::format("graph g {{ const c: {}[{}] = seed {} output c }}", DTypeName(value.dtype), dims, seed));
  TensorData data = *drawn.value(drawn.outputs()[0].value).constant;
  if (data.dtype() == DType::kF32) {
    for (int64_t i = 0; i < data.elements(); ++i) static_cast<float*>(data.mutable_data())[i] *= 4.0f;
  }
  return data;
}

struct Computed {
  std::map<std::string, TensorData> outputs;
  std::map<std::string, TensorData> values;  ///< By value name.
};

Computed Compute(const Graph& graph, const std::map<std::string, TensorData>& inputs) {
  Computed result;
  EvaluateOptions options;
  options.observe = [&](ValueId id, const TensorData& data) { result.values[graph.value(id).name] = data; };
  result.outputs = Evaluate(graph, inputs, options);
  for (const auto& [name, data] : inputs) result.values[name] = data;
  return result;
}

/// The elements agree, NaN with NaN; 0 tolerance is bit for bit.
testing::AssertionResult SameNumbers(const TensorData& expected, const TensorData& got, double tolerance) {
  const bool both_quantized = expected.quantization() && got.quantization();  // Then they are real numbers.
  const bool comparable = expected.dtype() == got.dtype() || both_quantized;
  if (!comparable || !(expected.shape() == got.shape())) {
    return testing::AssertionFailure()
           << "expected " << DTypeName(expected.dtype()) << ShapeText(expected.shape()).c_str() << ", got "
           << DTypeName(got.dtype()) << ShapeText(got.shape()).c_str();
  }
  const bool same_type =
      expected.dtype() == got.dtype() && SameQuantization(expected.quantization(), got.quantization());
  if (same_type && (tolerance == 0 || !IsFloat(expected.dtype()))) {
    if (expected.size_bytes() == 0 || std::memcmp(expected.data(), got.data(), expected.size_bytes()) == 0)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the elements are not the same bit for bit";
  }
  const std::vector<double> a = expected.ToDoubles();
  const std::vector<double> b = got.ToDoubles();
  double largest = 0;
  for (double number : a) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= tolerance * largest;
    if (!same)
      return testing::AssertionFailure() << "element " << i << " is " << b[i] << ", expected " << a[i];
  }
  return testing::AssertionSuccess();
}

TensorData Permuted(const TensorData& data, const Ints& perm) {
  if (perm.size == 0) return data;
  AttrStorage attrs;
  attrs.as<TransposeAttrs>() = {perm};
  return EvaluateOp(OpCode::kTranspose, attrs, {&data}, 1, "permuted")[0];
}

/// Whoever says that it holds a source tensor does.
void CheckSources(const Graph& after, const Computed& before, const Computed& computed, double tolerance) {
  for (ValueId id = 0; id < after.value_count(); ++id) {
    const Value& value = after.value(id);
    const auto got = computed.values.find(value.name);
    if (value.source.empty() || value.producer == kNoNode || got == computed.values.end()) continue;
    const auto source = before.values.find(value.source);
    ASSERT_NE(source, before.values.end()) << value.name << " names the source " << value.source;
    EXPECT_TRUE(SameNumbers(Permuted(source->second, value.source_perm), got->second, tolerance))
        << "the value " << value.name << " does not hold its source " << value.source;
  }
}

/// The printed graph, with constants of the first graph's seeds written as these.
std::string TextWithSeeds(const Graph& graph, const std::string& before_text) {
  std::string text = PrintGraph(graph);
  const std::string printed = PrintGraph(ParseGraph(before_text));
  std::stringstream lines(before_text);
  for (std::string line; std::getline(lines, line);) {
    const size_t seed = line.find("= seed ");
    if (seed == std::string::npos) continue;
    const std::string declaration = line.substr(0, seed);
    const size_t data = printed.find(declaration + "= data ");
    if (data == std::string::npos) continue;  // Small enough to print its elements.
    const size_t hash_at = data + declaration.size() + 2;
    const std::string hash = printed.substr(hash_at, printed.find('\n', hash_at) - hash_at);
    for (size_t at = text.find(hash); at != std::string::npos; at = text.find(hash)) {
      text.replace(at, hash.size(), line.substr(seed + 2));
    }
  }
  return text;
}

std::vector<std::string> NotesOf(const Graph& graph) {
  std::vector<std::string> notes;
  for (const SourceNode& source : graph.sources()) {
    for (const auto& note : source.notes) notes.push_back(source.name + ": " + *note);
  }
  return notes;
}

class PassCases : public testing::TestWithParam<PassCase> {};

TEST_P(PassCases, KeepTheNumbersAndMakeTheGraph) {
  const PassCase& one = GetParam();
  Graph before = ParseGraph(one.before);
  if (!one.error.empty()) {
    try {
      InferShapes(before);
      RunPasses(before, one.passes);
      FAIL() << "no Error was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(one.error), std::string::npos) << error.what();
    }
    return;
  }
  InferShapes(before);
  Verify(before);
  Graph after = before;
  RunPasses(after, one.passes);
  for (ValueId id = 0; id < after.value_count(); ++id) {
    const Value& value = after.value(id);
    EXPECT_TRUE(value.uses.empty() || (value.dtype != DType::kInvalid && value.has_shape))
        << value.name << " has no type";
  }
  EXPECT_EQ(TextWithSeeds(after, one.before), one.after);
  const std::vector<std::string> notes = NotesOf(after);
  for (const std::string& note : one.notes) {
    EXPECT_NE(std::find(notes.begin(), notes.end(), note), notes.end())
        << "missing: " << note << "\nthere are:\n"
        << fmt::format("{}", fmt::join(notes, "\n"));
  }
  std::map<std::string, TensorData> inputs;
  for (const GraphPort& port : before.inputs()) {
    inputs[port.name] = RandomInput(before.value(port.value), static_cast<int>(inputs.size()) + 101);
  }
  const Computed expected = Compute(before, inputs);
  const Computed got = Compute(after, inputs);
  ASSERT_EQ(expected.outputs.size(), got.outputs.size());
  for (const auto& [name, data] : expected.outputs) {
    EXPECT_TRUE(SameNumbers(data, got.outputs.at(name), one.tolerance)) << "output " << name;
  }
  CheckSources(after, expected, got, one.tolerance);
}

std::string CaseName(const testing::TestParamInfo<PassCase>& info) {
  std::string name = info.param.file + "_" + info.param.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Text, PassCases, testing::ValuesIn(ReadPassCases(CaseFolder())), CaseName);

/// Rewrites the expectations with what the passes make, for whoever asks for it.
TEST(PassCaseFiles, Update) {
  const char* wanted = std::getenv("SKIFF_UPDATE_CASES");
  if (wanted == nullptr) GTEST_SKIP() << "SKIFF_UPDATE_CASES is not set";
  for (const auto& entry : std::filesystem::directory_iterator(CaseFolder())) {
    if (entry.path().extension() != ".txt" || entry.path().stem() != wanted) continue;
    std::vector<PassCase> cases = ReadPassFile(entry.path());
    for (PassCase& one : cases) {
      if (!one.error.empty()) continue;
      Graph graph = ParseGraph(one.before);
      InferShapes(graph);
      RunPasses(graph, one.passes);
      one.after = TextWithSeeds(graph, one.before);
    }
    WritePassFile(entry.path(), cases);
  }
}

}  // namespace
}  // namespace skiff
