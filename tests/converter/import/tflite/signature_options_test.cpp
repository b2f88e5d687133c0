// What options say of files with several signatures, and Symbols of one name in several of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "graph/evaluate.h"
#include "parity/sweep.h"
#include "run/opened_model.h"
#include "run/random_inputs.h"
#include "signatures.h"
#include "tests/converter/import/tflite/signature_cases.h"
#include "tests/support/tiny_models.h"

namespace skiff::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(TfliteSignatureOptions, AreForThoseThatHaveTheName) {
  const auto source = SignatureCase("codec");
  ConvertOptions options;
  options.dims["x#0"] = DimRange(1, 8);
  options.shapes["picture"] = {2, 16};
  options.fixed_inputs["gain"] = 2;
  options.buckets = {{{"x#0", DimRange(4)}}};
  const auto converted = ConvertSource(*source, options);
  skiff::OpenedModel opened(converted->file);
  for (int i = 0; i < opened.model().signature_count(); ++i) {
    const ModelSignature signature(opened.model(), i);
    const bool through = std::string_view(signature.name()) == "through";
    EXPECT_EQ(signature.info().inputs.size(), 1u) << signature.name();
    EXPECT_EQ(signature.data().plans.size(), through ? 1u : 2u) << signature.name();
    EXPECT_EQ(signature.data().plans[0].kind, through ? BucketKind::kExact : BucketKind::kRelaxed);
  }
}

tflite::TensorT& TensorNamed(tflite::ModelT& model, const std::string& name) {
  for (const auto& graph : model.subgraphs)
    for (const auto& tensor : graph->tensors)
      if (tensor->name.find(name) != std::string::npos) return *tensor;
  throw std::runtime_error("there is no tensor " + name);
}

/// As all that a caller says of a port: an input whose integers stand for real numbers is fixed to one of
/// these.
TEST(TfliteSignatureOptions, FixRealNumbersOfQuantizedInputs) {
  const auto source = ChangedSignatureCase("codec", [](tflite::ModelT& model) {
    tflite::TensorT& gain = TensorNamed(model, "gain");
    gain.type = tflite::TensorType::INT8;
    gain.quantization = std::make_unique<tflite::QuantizationT>();
    gain.quantization->scale = {0.5f};
    gain.quantization->zero_point = {-10};
  });
  ConvertOptions options = Only({"through"});
  options.fixed_inputs["gain"] = 2;
  const Graph graph = std::move(ImportSignatures(*source, options).at(0).graph);
  const auto plain = SignatureCase("codec");
  const Graph expected = std::move(ImportSignatures(*plain, options).at(0).graph);
  const NamedTensors inputs = RandomInputs(expected, 1);
  EXPECT_EQ(Evaluate(graph, inputs).at("y").ToDoubles(), Evaluate(expected, inputs).at("y").ToDoubles());
  options.fixed_inputs["gain"] = 500;
  EXPECT_THAT(ConversionError(*source, options),
              HasSubstr("input 'gain' cannot be fixed: 500 is no i8 by its scale"));
}

TEST(TfliteSignatureOptions, KnowAVariableFromAnInput) {
  const auto source = ChangedSignatureCase(
      "codec", [](tflite::ModelT& model) { TensorNamed(model, "gain").is_variable = true; });
  EXPECT_THAT(ConversionError(*source, Only({"through"})), HasSubstr("input 'gain' is a variable as well"));
}

TEST(TfliteSignatureOptions, ThatNoneHasAreErrors) {
  const auto source = SignatureCase("codec");
  ConvertOptions options;
  options.dims["seq"] = 7;
  EXPECT_THAT(
      ConversionError(*source, options),
      AllOf(HasSubstr("--dim seq=7"), HasSubstr("'encode' has 'x#0'"), HasSubstr("'through' has none")));
  options = {};
  options.shapes["image"] = {1};
  EXPECT_THAT(ConversionError(*source, options),
              AllOf(HasSubstr("--shape image=1"), HasSubstr("'picture', 'gain'")));
  options = {};
  options.fixed_inputs["sr"] = 1;
  EXPECT_THAT(ConversionError(*source, options),
              AllOf(HasSubstr("--set sr=1"), HasSubstr("'decode' has 'x'")));
  options = {};
  options.buckets = {{{"seq", DimRange(4)}}};
  EXPECT_THAT(ConversionError(*source, options), HasSubstr("--bucket seq=4"));
  options = {};
  options.labels = {"a", "b", "c"};
  EXPECT_THAT(ConversionError(*source, options), HasSubstr("--labels"));
  // Of the only one that is chosen, the error is as ever.
  options = {};
  options.signatures = {"encode"};
  options.dims["seq"] = 7;
  EXPECT_THAT(ConversionError(*source, options),
              AllOf(HasSubstr("its named dimensions are: 'x#0'"), Not(HasSubstr("decode"))));
}

TEST(TfliteSignatureSymbols, OfOneNameDoNotMixUp) {
  ConvertOptions options;
  options.dims["x#0"] = DimRange(1, 4);
  skiff::OpenedModel opened(ConvertSource(*SignatureCase("codec"), options)->file);
  const Model& model = opened.model();
  ASSERT_EQ(model.symbols().size(), 2u);
  EXPECT_STREQ(model.symbols()[0].name, model.symbols()[1].name);
  for (const char* name : {"encode", "decode"}) {
    const ModelSignature signature = FindSignature(model, name);
    const size_t own = signature.Has(0) ? 0 : 1;
    ASSERT_TRUE(signature.Has(own));
    ASSERT_FALSE(signature.Has(1 - own));
    const auto sweep = SweepSizes(signature);
    EXPECT_THAT(sweep, SizeIs(4));
    for (const std::vector<int64_t>& sizes : sweep) {
      EXPECT_EQ(sizes[1 - own], -1);
      EXPECT_EQ(SizesOf(signature, RandomInputs(signature, sizes, 1)), sizes);
    }
    SymbolSizes call(signature);
    call.Set({{"x#0", 3}}, "--dim");
    EXPECT_EQ(call.sizes[own], 3);
    EXPECT_EQ(call.sizes[1 - own], -1);
    const std::vector<int64_t> other = OtherSizes(signature, call.sizes);
    EXPECT_NE(other[own], 3);
    EXPECT_EQ(other[1 - own], -1);
  }
  const ModelSignature through = FindSignature(model, "through");
  EXPECT_FALSE(through.Has(0) || through.Has(1));
  EXPECT_THAT(SweepSizes(through), SizeIs(1));
  EXPECT_FALSE(SymbolSizes(through).Has("x#0"));
}

}  // namespace
}  // namespace skiff::testing
