// What real TensorFlow Lite files say of their pictures and labels, and that a classifier recognises a
// picture with nothing but that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "files/image.h"
#include "files/tensor_files.h"
#include "tests/models/model_cases.h"
#include "tests/models/models_list.h"
#include "write_options.h"

namespace skiff::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;

struct Stated {
  const char* file;
  bool picture;
  float mean;
  float deviation;
  size_t labels;  ///< Of the first output's last axis.
  const char* last_label = "";
  size_t left_out = 0;
  size_t metadata = 0;
};

constexpr Stated kStated[] = {
    {"mobilenet_v2_10_224_uint8/mobilenet_v2_1.0_224_uint8.tflite", true, 127.5f, 127.5f, 1001,
     "toilet tissue, toilet paper, bathroom tissue"},
    {"mobilenet_v2_10_224_int8_perchannel/mobilenet_v2_1.0_224_int8_uint8io.tflite", true, 127.5f, 127.5f,
     1001, "toilet tissue, toilet paper, bathroom tissue"},
    {"mobilenet_v1_025_224/mobilenet_v1_0.25_224_uint8.tflite", true, 127.5f, 127.5f, 1001, "toilet tissue"},
    {"mobilenet_v1_025_224/mobilenet_v1_0.25_224_fp32.tflite", false, 0, 0, 0},
    {"deeplabv3_257_fp32/deeplabv3_257_fp32.tflite", true, 127.5f, 127.5f, 21, "tv"},
    {"ssd_mobilenet_v1_coco_uint8/ssd_mobilenet_v1_coco_uint8.tflite", true, 127.5f, 127.5f, 0, "", 0, 1},
    {"magenta_style_transfer_int8/style_prediction_int8.tflite", true, 0, 255, 0},
    {"magenta_style_transfer_int8/style_transfer_int8.tflite", true, 0, 255, 0},
    {"yamnet_int8/yamnet_int8_waveform.tflite", false, 0, 0, 521, "Field recording"},
    // It gives its vocabulary for the labels.
    {"text_sentiment_tflite/text_class.tflite", false, 0, 0, 0, "", 1},
    // Its tokenizer, what parts its words, and their list.
    {"text_sentiment_tflite/nl_classifier_regex_tokenizer.tflite", false, 0, 0, 2, "Positive", 0, 3},
};

class TfliteModelMetadata : public ::testing::TestWithParam<Stated> {};

TEST_P(TfliteModelMetadata, IsWritten) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  const ModelCase model((ModelsFolder() / GetParam().file).string(), ShapeContract());
  const Graph& graph = model.converted().graph;
  EXPECT_EQ(graph.left_out.size(), GetParam().left_out);
  const PortSettings written = PortSettingsFor({&graph}, {})[0];
  const auto image = written.images.find(graph.inputs()[0].name);
  ASSERT_EQ(image != written.images.end(), GetParam().picture);
  EXPECT_EQ(StatedMetadata({&graph}).size(), GetParam().metadata);
  if (GetParam().picture) {
    EXPECT_THAT(image->second.mean, Each(GetParam().mean));
    EXPECT_THAT(image->second.scale, Each(1 / GetParam().deviation));
  }
  const auto labels = written.labels.find(graph.outputs()[0].name);
  ASSERT_EQ(labels == written.labels.end() ? 0 : labels->second.size(), GetParam().labels);
  if (GetParam().labels > 0) {
    EXPECT_EQ(labels->second.back(), GetParam().last_label);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteModelMetadata, ::testing::ValuesIn(kStated));

/// A file of 24 bits a pixel, rows from the bottom, each of whole words: what the pictures beside the model
/// are.
Picture ReadBmp(const std::string& path) {
  const std::string bytes = ReadFile(path);
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
  };
  const uint32_t width = number(18);
  const uint32_t height = number(22);
  const size_t row = (size_t{width} * 3 + 3) / 4 * 4;
  Picture picture{width, height, 3, {}, 1};
  for (uint32_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      const char* pixel = bytes.data() + number(10) + (height - 1 - y) * row + x * 3;
      for (const int c : {2, 1, 0}) picture.samples.push_back(static_cast<uint8_t>(pixel[c]));
    }
  }
  return picture;
}

TEST(TfliteClassifier, RecognisesAPictureByItsMetadata) {
  if (!fs::exists(ModelsFolder()))
    GTEST_SKIP() << "the folder of trained models is absent: " << ModelsFolder();
  const fs::path folder = ModelsFolder() / "mobilenet_v2_10_224_uint8";
  ModelCase model((folder / "mobilenet_v2_1.0_224_uint8.tflite").string(), ShapeContract());
  const std::unique_ptr<Session> session = model.Open(Backend::kPlanned);
  const PortInfo& input = session->signature().inputs[0];
  const PortInfo& output = session->signature().outputs[0];
  ASSERT_EQ(output.labels.size(), 1001u);
  for (const auto& [file, expected] : {std::pair("cat.bmp", 286), std::pair("sunflower.bmp", 986)}) {
    const auto outputs =
        RunSession(*session, {{input.name, PreprocessPicture(ReadBmp((folder / file).string()), input)}});
    const std::vector<double> scores = outputs.at(output.name).ToDoubles();
    EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), expected) << file;
  }
  EXPECT_STREQ(output.labels[286], "Egyptian cat");
}

}  // namespace
}  // namespace skiff::testing
