// TensorFlow Lite files with several signatures: files of TensorFlow's converter with what LiteRT's signature
// runners give (make_signatures.py), in one .skiff file with one set of variables; and such files with
// something changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "files/npy.h"
#include "graph/error.h"
#include "run/opened_model.h"
#include "signatures.h"
#include "tests/converter/import/tflite/signature_cases.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> NamesOf(const SourceModel& source) {
  std::vector<std::string> names;
  for (const SourceSignature& signature : source.signatures()) names.push_back(signature.name);
  return names;
}

/// The subgraph of a signature.
tflite::SubGraphT& GraphOf(tflite::ModelT& model, const std::string& signature) {
  for (const auto& one : model.signatures) {
    if (one->key == signature) return *model.subgraphs[one->subgraph];
  }
  throw std::runtime_error("there is no signature " + signature);
}

void RemoveCallOnce(tflite::SubGraphT& graph) {
  std::erase_if(graph.operators,
                [](const auto& node) { return node->options.AsCallOnceOptions() != nullptr; });
}

struct Call {
  std::string signature;
  NamedTensors inputs, outputs;
};

std::vector<Call> CallsOf(const std::string& name) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(SignatureCaseFolder(name))) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Call> calls;
  for (const fs::path& folder : folders) {
    Call& call = calls.emplace_back();
    const std::string file = folder.filename().string();
    call.signature = file.substr(file.find('_') + 1);
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string stem = entry.path().stem().string();
      const size_t at = stem.find('_');
      (stem.starts_with("input_") ? call.inputs : call.outputs)[stem.substr(at + 1)] =
          ReadNpy(entry.path().string());
    }
  }
  return calls;
}

void ExpectNear(const TensorData& got, const TensorData& expected, const std::string& name) {
  ASSERT_EQ(got.shape(), expected.shape()) << name;
  const std::vector<double> a = got.ToDoubles();
  const std::vector<double> b = expected.ToDoubles();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5) << name << ", element " << i;
}

class TfliteSignatures : public ::testing::TestWithParam<const char*> {};

TEST_P(TfliteSignatures, ComputeWhatSignatureRunnersDo) {
  const auto source = SignatureCase(GetParam());
  OpenedModel opened(ConvertSource(*source)->file);
  ASSERT_EQ(opened.model().signature_count(), static_cast<int>(source->signatures().size()));
  const std::vector<Call> calls = CallsOf(GetParam());
  ASSERT_GE(calls.size(), 5u);
  for (const Backend backend : {Backend::kReference, Backend::kPlanned}) {
    const std::unique_ptr<Variables> variables = Must([&] { return Variables::Create(opened.model()); });
    std::map<std::string, std::unique_ptr<Session>> sessions;
    for (const Call& call : calls) {
      std::unique_ptr<Session>& session = sessions[call.signature];
      if (!session) {
        SessionOptions options;
        options.signature = call.signature.c_str();
        options.backend = backend;
        options.threads = 1;
        options.variables = variables.get();
        session = CreateSession(opened.model(), options);
      }
      SetInputs(*session, call.inputs);
      Must([&] { return session->Run(); });
      const NamedTensors outputs = Outputs(*session);
      ASSERT_EQ(outputs.size(), call.outputs.size());
      for (const auto& [name, expected] : call.outputs)
        ExpectNear(outputs.at(name), expected, call.signature + "." + name);
    }
    EXPECT_EQ(sessions.size(), source->signatures().size());
  }
}

INSTANTIATE_TEST_SUITE_P(Tflite, TfliteSignatures, ::testing::Values("total", "codec"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TfliteSignatureImport, AreOfferedInTheOrderOfTheFile) {
  const auto source = SignatureCase("total");
  std::vector<std::string> keys;
  const auto model = UnpackedSignatureCase("total");
  for (const auto& signature : model->signatures) keys.push_back(signature->key);
  EXPECT_EQ(NamesOf(*source), keys);
  for (const SourceSignature& signature : source->signatures())
    EXPECT_THAT(signature.inputs, SizeIs(signature.name == "get" ? 0 : 1)) << signature.name;
}

TEST(TfliteSignatureImport, ShareOneVariableAndWeights) {
  const auto source = SignatureCase("total");
  OpenedModel total(ConvertSource(*source)->file);
  ASSERT_EQ(total.model().variables().size(), 1u);
  const TensorView first = total.model().variables()[0].initial;
  const float expected[] = {1, 2, 3};
  ASSERT_EQ(first.bytes(), static_cast<int64_t>(sizeof(expected)));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(first.as<const float>()[i], expected[i]);

  // The weights of both layers are in the file once, though each has two users.
  const auto codec = SignatureCase("codec");
  const ConvertOptions through = Only({"through"});
  const uint64_t of_one =
      OpenedModel(ConvertSource(*SignatureCase("codec"), through)->file).model().weights_bytes();
  EXPECT_EQ(OpenedModel(ConvertSource(*codec)->file).model().weights_bytes(), of_one);
}

TEST(TfliteSignatureImport, ConstantsAreInMemoryOnce) {
  const auto source = SignatureCase("codec");
  std::map<const void*, int> users;
  for (const NamedGraph& named : ImportSignatures(*source, {})) {
    for (ValueId id = 0; id < named.graph.value_count(); ++id) {
      const Value& value = named.graph.value(id);
      if (value.constant && value.constant->elements() == 128) ++users[value.constant->data()];
    }
  }
  EXPECT_THAT(users, SizeIs(2));
  for (const auto& [data, count] : users) EXPECT_EQ(count, 2);
}

TEST(TfliteSignatureImport, SomeCanBeChosen) {
  const auto source = SignatureCase("total");
  OpenedModel opened(ConvertSource(*source, Only({"reset", "get"}))->file);
  ASSERT_EQ(opened.model().signature_count(), 2);
  EXPECT_STREQ(opened.model().signature(0).name, "reset");
  EXPECT_STREQ(opened.model().signature(1).name, "get");
  EXPECT_THAT(ConversionError(*source, Only({"got"})), AllOf(HasSubstr("--signature got"), HasSubstr("'add'"),
                                                             HasSubstr("'get'"), HasSubstr("'reset'")));
  EXPECT_THAT(ConversionError(*source, Only({"get", "get"})), HasSubstr("already given"));
}

TEST(TfliteSignatureImport, TheOnlyOneIsMain) {
  const auto one = [](tflite::ModelT& model) { model.signatures.resize(1); };
  const std::string name = NamesOf(*SignatureCase("total"))[0];
  OpenedModel opened(ConvertSource(*ChangedSignatureCase("total", one))->file);
  EXPECT_STREQ(opened.model().signature(0).name, "main");
  OpenedModel named(ConvertSource(*ChangedSignatureCase("total", one), Only({name}))->file);
  EXPECT_EQ(named.model().signature(0).name, name);
  const auto none = ChangedSignatureCase("total", [](tflite::ModelT& model) { model.signatures.clear(); });
  EXPECT_THAT(NamesOf(*none), ElementsAre("main"));
}

TEST(TfliteSignatureImport, NamesAreMadeUnique) {
  const auto source = ChangedSignatureCase("total", [](tflite::ModelT& model) {
    for (const auto& signature : model.signatures) signature->key = "same";
    model.signatures[2]->key = "";
  });
  EXPECT_THAT(NamesOf(*source), ElementsAre("same", "same_2", "main"));
}

TEST(TfliteSignatureImport, TooManyAreRefused) {
  try {
    ChangedSignatureCase("total", [](tflite::ModelT& model) {
      while (model.signatures.size() <= 1000)
        model.signatures.push_back(std::make_unique<tflite::SignatureT>(*model.signatures[0]));
    });
    FAIL() << "it was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("1001 signatures; at most 1000"));
  }
}

TEST(TfliteSignatureImport, OneInitialisesForTheOthers) {
  // Whether the others are converted or not.
  for (const std::vector<std::string>& chosen :
       {std::vector<std::string>{}, std::vector<std::string>{"get"}}) {
    const auto source = ChangedSignatureCase("total", [](tflite::ModelT& model) {
      RemoveCallOnce(GraphOf(model, "get"));
      RemoveCallOnce(GraphOf(model, "add"));
    });
    const auto converted = ConvertSource(*source, Only(chosen));
    for (const auto& signature : converted->signatures) {
      ASSERT_THAT(signature->graph.variables, SizeIs(1));
      EXPECT_THAT(signature->graph.variables[0].first.ToDoubles(), ElementsAre(1, 2, 3));
      EXPECT_THAT(signature->graph.left_out, IsEmpty());
    }
  }
}

TEST(TfliteSignatureImport, WhatOneAssignsIsZeroBefore) {
  const auto source = ChangedSignatureCase("total", [](tflite::ModelT& model) {
    for (const char* name : {"add", "get", "reset"}) RemoveCallOnce(GraphOf(model, name));
  });
  const auto converted = ConvertSource(*source, Only({"get", "reset"}));
  for (const auto& signature : converted->signatures) {
    EXPECT_THAT(signature->graph.variables[0].first.ToDoubles(), ElementsAre(0, 0, 0));
    EXPECT_THAT(signature->graph.left_out, ElementsAre(HasSubstr("nothing initialises the variable")));
  }
}

TEST(TfliteSignatureImport, ContainersKeepVariablesApart) {
  const auto source = ChangedSignatureCase("total", [](tflite::ModelT& model) {
    for (const auto& node : GraphOf(model, "reset").operators) {
      if (auto* handle = node->options.AsVarHandleOptions()) handle->container = "other";
    }
    RemoveCallOnce(GraphOf(model, "reset"));
  });
  const auto converted = ConvertSource(*source);
  OpenedModel opened(converted->file);
  EXPECT_EQ(opened.model().variables().size(), 2u);
}

TEST(TfliteSignatureImport, TwoBeginningsAreRefused) {
  const auto source = ChangedSignatureCase("total", [](tflite::ModelT& model) {
    // A copy of what runs once, whose constant is another one.
    tflite::SubGraphT& get = GraphOf(model, "get");
    for (const auto& node : get.operators) {
      auto* once = node->options.AsCallOnceOptions();
      if (once == nullptr) continue;
      model.subgraphs.push_back(
          std::make_unique<tflite::SubGraphT>(*model.subgraphs[static_cast<size_t>(once->init_subgraph)]));
      once->init_subgraph = static_cast<int32_t>(model.subgraphs.size() - 1);
      auto buffer = std::make_unique<tflite::BufferT>();
      buffer->data.assign(12, 1);
      model.buffers.push_back(std::move(buffer));
      for (const auto& tensor : model.subgraphs.back()->tensors) {
        if (tensor->type == tflite::TensorType::FLOAT32)
          tensor->buffer = static_cast<uint32_t>(model.buffers.size() - 1);
      }
    }
  });
  EXPECT_THAT(
      ConversionError(*source),
      AllOf(HasSubstr("signature 'get'"), HasSubstr("begins with other elements"), HasSubstr("--signature")));
  EXPECT_EQ(ConversionError(*source, Only({"get"})), "");
}

TEST(TfliteSignatureImport, AnAssignmentAloneNeedsNoOutput) {
  const auto source = ChangedSignatureCase("total", [](tflite::ModelT& model) {
    GraphOf(model, "reset").outputs.clear();
    for (const auto& signature : model.signatures) {
      if (signature->key == "reset") signature->outputs.clear();
    }
  });
  OpenedModel opened(ConvertSource(*source)->file);
  SessionOptions options;
  options.signature = "reset";
  const auto session = CreateSession(opened.model(), options);
  const std::vector<float> to = {4, 5, 6};
  SetInputs(*session, {{"to", TensorData::OfFloats(to)}});
  Must([&] { return session->Run(); });
  const TensorView got = Must([&] { return session->variables().Get(opened.model().variables()[0].name); });
  for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(got.as<const float>()[i], to[i]);
}

TEST(TfliteSignatureImport, ErrorsNameTheSignatureAndTheWayOut) {
  const auto source = ChangedSignatureCase("codec", [](tflite::ModelT& model) {
    auto code = std::make_unique<tflite::OperatorCodeT>();
    code->builtin = tflite::BuiltinOperator::CUSTOM;
    code->old_builtin = static_cast<int8_t>(tflite::BuiltinOperator::CUSTOM);
    code->custom = "Sharpen";
    model.operator_codes.push_back(std::move(code));
    GraphOf(model, "decode").operators[0]->code = static_cast<uint32_t>(model.operator_codes.size() - 1);
  });
  EXPECT_THAT(ConversionError(*source),
              AllOf(HasSubstr("signature 'decode'"), HasSubstr("Sharpen"), HasSubstr("--signature NAME")));
  EXPECT_EQ(ConversionError(*source, Only({"encode", "through"})), "");
}

}  // namespace
}  // namespace skiff::testing
