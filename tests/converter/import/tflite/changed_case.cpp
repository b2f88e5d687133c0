#include "tests/converter/import/tflite/changed_case.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "import/tflite/import_tflite.h"

namespace skiff {

Bytes ReadCase(const char* name) {
  std::ifstream stream(
      std::string(SKIFF_SOURCE_DIR) + "/tests/converter/import/tflite/cases/" + name + "/model.tflite",
      std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Bytes Changed(const char* name, const std::function<void(tflite::ModelT&)>& change) {
  const Bytes bytes = ReadCase(name);
  const std::unique_ptr<tflite::ModelT> model(tflite::GetModel(bytes.data())->UnPack());
  change(*model);
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, model.get()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void ExpectError(const Bytes& bytes, StatusCode code, const ::testing::Matcher<std::string>& message,
                 const FixedInputs& fixed) {
  try {
    ImportTfliteBytes(bytes.data(), bytes.size(), fixed);
    FAIL() << "it was imported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), message);
  }
}

}  // namespace skiff
