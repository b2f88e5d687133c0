// What the metadata of TensorFlow Lite files becomes, and that damaged metadata stops no conversion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <limits>
#include <map>

#include "convert.h"
#include "graph/error.h"
#include "import/tflite/archive.h"
#include "import/tflite/import_tflite.h"
#include "import/tflite/schema.h"
#include "tests/support/temp_folder.h"
#include "tflite_metadata_generated.h"
#include "write_options.h"

namespace skiff {
namespace {

namespace md = tflite::metadata;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::TempFolder;

/// A picture [1, 2, 4, channels] becomes [1, 8 * channels].
struct TestNet {
  tflite::TensorType type = tflite::TensorType::FLOAT32;
  int channels = 3;
  float scale = 0;  ///< 0: not quantised.
  int zero_point = 0;
  std::vector<int> signature = {};  ///< Of the picture; may be another shape.
};

std::unique_ptr<md::PackedFileT> Packed(const char* name, md::FileKind kind) {
  auto file = std::make_unique<md::PackedFileT>();
  file->name = name;
  file->kind = kind;
  return file;
}

/// An RGB picture, and a list of labels.
md::MetadataT Described(const std::vector<float>& mean, const std::vector<float>& deviation) {
  md::NormalizationT normalization;
  normalization.mean = mean;
  normalization.deviation = deviation;
  auto unit = std::make_unique<md::ProcessUnitT>();
  unit->processing.Set(std::move(normalization));
  md::PictureT picture;
  picture.colours = md::Colours::RGB;
  auto input = std::make_unique<md::PortT>();
  input->content = std::make_unique<md::ContentT>();
  input->content->properties.Set(picture);
  if (!mean.empty()) input->process_units.push_back(std::move(unit));
  auto output = std::make_unique<md::PortT>();
  output->files.push_back(Packed("labels.txt", md::FileKind::AXIS_LABELS));
  auto graph = std::make_unique<md::SubGraphT>();
  graph->inputs.push_back(std::move(input));
  graph->outputs.push_back(std::move(output));
  md::MetadataT metadata;
  metadata.subgraphs.push_back(std::move(graph));
  return metadata;
}

std::vector<uint8_t> BytesOf(const md::MetadataT& metadata) {
  flatbuffers::FlatBufferBuilder builder;
  md::FinishMetadataBuffer(builder, md::Metadata::Pack(builder, &metadata));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

std::string NetWith(const TestNet& net, const std::vector<uint8_t>& metadata, uint32_t metadata_buffer = 1) {
  tflite::ModelT model;
  model.version = 3;
  for (int i = 0; i < 2; ++i) model.buffers.push_back(std::make_unique<tflite::BufferT>());
  model.buffers[1]->data = metadata;
  model.metadata.push_back(std::make_unique<tflite::MetadataT>());
  model.metadata[0]->name = "TFLITE_METADATA";
  model.metadata[0]->buffer = metadata_buffer;
  auto code = std::make_unique<tflite::OperatorCodeT>();
  code->builtin = tflite::BuiltinOperator::RESHAPE;
  code->old_builtin = static_cast<int8_t>(tflite::BuiltinOperator::RESHAPE);
  model.operator_codes.push_back(std::move(code));
  auto graph = std::make_unique<tflite::SubGraphT>();
  for (const auto& shape : {std::vector<int>{1, 2, 4, net.channels}, std::vector<int>{1, 8 * net.channels}}) {
    auto tensor = std::make_unique<tflite::TensorT>();
    tensor->name = shape.size() == 4 ? "picture" : "scores";
    tensor->shape = shape;
    if (shape.size() == 4) tensor->shape_signature = net.signature;
    tensor->type = net.type;
    if (net.scale > 0) {
      tensor->quantization = std::make_unique<tflite::QuantizationT>();
      tensor->quantization->scale = {net.scale};
      tensor->quantization->zero_point = {net.zero_point};
    }
    graph->tensors.push_back(std::move(tensor));
  }
  auto node = std::make_unique<tflite::OperatorT>();
  node->inputs = {0};
  node->outputs = {1};
  tflite::ReshapeOptionsT options;
  options.new_shape = {1, 8 * net.channels};
  node->options.Set(std::move(options));
  graph->operators.push_back(std::move(node));
  graph->inputs = {0};
  graph->outputs = {1};
  model.subgraphs.push_back(std::move(graph));
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, &model));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

/// The bytes with an archive of one file behind them.
std::string WithArchive(const std::string& bytes, const std::string& content,
                        const char* name = "labels.txt") {
  const TempFolder folder;
  const std::string path = folder.Write("model.tflite", bytes);
  zipFile archive = zipOpen(path.c_str(), APPEND_STATUS_CREATEAFTER);
  const zip_fileinfo info{};
  EXPECT_EQ(zipOpenNewFileInZip(archive, name, &info, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 6),
            ZIP_OK);
  EXPECT_EQ(zipWriteInFileInZip(archive, content.data(), static_cast<unsigned>(content.size())), ZIP_OK);
  EXPECT_EQ(zipCloseFileInZip(archive), ZIP_OK);
  EXPECT_EQ(zipClose(archive, nullptr), ZIP_OK);
  return testing::ReadWhole(path);
}

std::string Lines(size_t count) {
  std::string lines;
  for (size_t i = 0; i < count; ++i) lines += "label " + std::to_string(i) + "\r\n";
  return lines;
}

/// Imported and converted: what a file says of its ports, and what was left out.
struct Outcome {
  std::vector<std::string> left_out;
  PortSettings written;
  std::vector<std::pair<std::string, std::string>> metadata;
};
Outcome Convert(const std::string& bytes, const ConvertOptions& options = {}) {
  const auto converted = ConvertGraph(ImportTfliteBytes(bytes.data(), bytes.size()), options);
  return {converted->graph.left_out, PortSettingsFor({&converted->graph}, options)[0],
          StatedMetadata({&converted->graph})};
}

TEST(TfliteMetadata, NormalisationAndLabels) {
  const auto outcome =
      Convert(WithArchive(NetWith({}, BytesOf(Described({127.5f}, {127.5f}))), Lines(24) + "\n\n"));
  EXPECT_THAT(outcome.left_out, IsEmpty());
  const ImageSettings& image = outcome.written.images.at("picture");
  EXPECT_EQ(image.width, 4u);
  EXPECT_EQ(image.height, 2u);
  EXPECT_TRUE(image.nhwc);
  EXPECT_FALSE(image.bgr);
  EXPECT_THAT(image.mean, ElementsAre(127.5f, 127.5f, 127.5f));
  EXPECT_THAT(image.scale, ElementsAre(1 / 127.5f, 1 / 127.5f, 1 / 127.5f));
  const auto& labels = outcome.written.labels.at("scores");
  ASSERT_EQ(labels.size(), 24u);
  EXPECT_EQ(labels[23], "label 23");
}

TEST(TfliteMetadata, NumbersForEachChannel) {
  const auto outcome = Convert(WithArchive(NetWith({}, BytesOf(Described({1, 2, 3}, {4}))), Lines(24)));
  EXPECT_THAT(outcome.left_out, IsEmpty());
  EXPECT_THAT(outcome.written.images.at("picture").mean, ElementsAre(1, 2, 3));
  EXPECT_THAT(outcome.written.images.at("picture").scale, ElementsAre(0.25f, 0.25f, 0.25f));
}

TEST(TfliteMetadata, Greyscale) {
  md::MetadataT metadata = Described({0}, {255});
  metadata.subgraphs[0]->inputs[0]->content->properties.AsPicture()->colours = md::Colours::GREYSCALE;
  TestNet net;
  net.channels = 1;
  const auto outcome = Convert(WithArchive(NetWith(net, BytesOf(metadata)), Lines(8)));
  EXPECT_THAT(outcome.left_out, IsEmpty());
  EXPECT_THAT(outcome.written.images.at("picture").mean, ElementsAre(0));
}

/// The real numbers are those of the normalisation, whatever integers stand for them; without one, bytes are
/// the samples, and nothing is known of other inputs.
TEST(TfliteMetadata, QuantisedPictures) {
  const TestNet bytes{tflite::TensorType::UINT8, 3, 0.0078125f, 128};
  const auto stated = Convert(WithArchive(NetWith(bytes, BytesOf(Described({127.5f}, {127.5f}))), Lines(24)));
  EXPECT_THAT(stated.written.images.at("picture").mean, ElementsAre(127.5f, 127.5f, 127.5f));
  const auto plain = Convert(WithArchive(NetWith(bytes, BytesOf(Described({}, {}))), Lines(24)));
  EXPECT_THAT(plain.written.images.at("picture").mean, ElementsAre(128, 128, 128));
  EXPECT_THAT(plain.written.images.at("picture").scale, ElementsAre(0.0078125f, 0.0078125f, 0.0078125f));
  for (const TestNet& net : {TestNet{tflite::TensorType::INT8, 3, 0.0078125f, 0},
                             TestNet{tflite::TensorType::UINT8, 3, 0, 0}, TestNet{}}) {
    const auto unknown = Convert(WithArchive(NetWith(net, BytesOf(Described({}, {}))), Lines(24)));
    EXPECT_THAT(unknown.written.images, IsEmpty());
    EXPECT_THAT(unknown.left_out, IsEmpty());
  }
}

/// The picture is the one that the graph has as its input.
TEST(TfliteMetadata, PicturesOfTwoShapes) {
  const TestNet net{tflite::TensorType::UINT8, 3, 0.0078125f, 128, {1, 2, 2, 6}};
  const auto outcome = Convert(WithArchive(NetWith(net, BytesOf(Described({}, {}))), Lines(24)));
  EXPECT_THAT(outcome.written.images, IsEmpty());
}

TEST(TfliteMetadata, TheUsersOptionsWin) {
  ConvertOptions options;
  options.image = ImageSettings{4, 2, {1, 2, 3}, {4, 5, 6}, true};
  options.labels.assign(24, "mine");
  const auto outcome =
      Convert(WithArchive(NetWith({}, BytesOf(Described({127.5f}, {127.5f}))), Lines(24)), options);
  EXPECT_THAT(outcome.written.images.at("picture").mean, ElementsAre(1, 2, 3));
  EXPECT_TRUE(outcome.written.images.at("picture").bgr);
  EXPECT_EQ(outcome.written.labels.at("scores")[0], "mine");
}

TEST(TfliteMetadata, LabelsMayBeginWithAByteOrderMark) {
  EXPECT_THAT(LabelsFromText("\xEF\xBB\xBF"
                             "cat\r\ndog\n\n"),
              ElementsAre("cat", "dog"));
}

TEST(TfliteMetadata, LabelsOfAnotherCountAreNotWritten) {
  for (const size_t count : {0, 1, 23, 25}) {
    const auto outcome = Convert(WithArchive(NetWith({}, BytesOf(Described({0}, {1}))), Lines(count)));
    EXPECT_THAT(outcome.written.labels, IsEmpty()) << count;
    if (count == 0) {
      EXPECT_THAT(outcome.left_out, IsEmpty());
    } else {
      EXPECT_THAT(
          outcome.left_out,
          ElementsAre(HasSubstr("left out " + std::to_string(count) + (count == 1 ? " label" : " labels") +
                                " of output 'scores': its last axis has 24 elements")));
    }
  }
  ConvertOptions options;
  options.labels.assign(24, "mine");
  const auto outcome = Convert(WithArchive(NetWith({}, BytesOf(Described({0}, {1}))), Lines(23)), options);
  EXPECT_THAT(outcome.left_out, IsEmpty()) << "the user gave others";
}

/// A unit of the output, and of the input.
template <class Unit>
void AddUnit(std::vector<std::unique_ptr<md::ProcessUnitT>>& units, Unit unit) {
  units.push_back(std::make_unique<md::ProcessUnitT>());
  units.back()->processing.Set(std::move(unit));
}

TEST(TfliteMetadata, ThresholdsAndVocabulariesAreKept) {
  md::MetadataT metadata = Described({0}, {1});
  md::SubGraphT& graph = *metadata.subgraphs[0];
  md::ScoreThresholdT threshold;
  threshold.threshold = 0.25f;
  AddUnit(graph.outputs[0]->process_units, threshold);
  md::RegexTokenizerT regex;
  regex.delimiters = "[^\\w\\']+";
  regex.vocabulary.push_back(Packed("labels.txt", md::FileKind::VOCABULARY));
  AddUnit(graph.inputs[0]->process_units, std::move(regex));
  md::BertTokenizerT bert;
  bert.vocabulary.push_back(Packed("labels.txt", md::FileKind::VOCABULARY));
  AddUnit(graph.input_units, std::move(bert));
  const auto outcome = Convert(WithArchive(NetWith({}, BytesOf(metadata)), "one\r\ntwo\n\n"));
  const std::map<std::string, std::string> written(outcome.metadata.begin(), outcome.metadata.end());
  const std::map<std::string, std::string> expected = {
      {"score_threshold:scores", "0.25"},
      {"tokenizer:picture", "regex"},
      {"tokenizer_delimiters:picture", "[^\\w\\']+"},
      {"vocabulary:picture", "one\ntwo"},
      {"tokenizer", "bert"},
      {"vocabulary", "one\ntwo"},
  };
  EXPECT_EQ(written, expected);
}

TEST(TfliteMetadata, DamagedThresholdsAndTokenizersAreLeftOut) {
  md::MetadataT metadata = Described({0}, {1});
  md::SubGraphT& graph = *metadata.subgraphs[0];
  md::ScoreThresholdT threshold;
  threshold.threshold = std::numeric_limits<float>::quiet_NaN();
  AddUnit(graph.outputs[0]->process_units, threshold);
  AddUnit(graph.inputs[0]->process_units, md::SentencePieceTokenizerT());
  const auto outcome = Convert(WithArchive(NetWith({}, BytesOf(metadata)), Lines(24)));
  EXPECT_THAT(outcome.left_out,
              ElementsAre(HasSubstr("SentencePiece"), HasSubstr("the threshold of its scores is nan")));
  EXPECT_THAT(outcome.metadata,
              ElementsAre(std::pair<std::string, std::string>("tokenizer:picture", "sentencepiece")));
}

/// What numbers stand for says nothing of the axis.
TEST(TfliteMetadata, LabelsOfValuesAreNotWritten) {
  md::MetadataT metadata = Described({0}, {1});
  metadata.subgraphs[0]->outputs[0]->files[0]->kind = md::FileKind::VALUE_LABELS;
  const std::string bytes = WithArchive(NetWith({}, BytesOf(metadata)), "label 0\nlabel 1\n");
  EXPECT_THAT(Convert(bytes).written.labels, IsEmpty());
  EXPECT_THAT(Convert(bytes).metadata,
              ElementsAre(std::pair<std::string, std::string>("value_labels:scores", "label 0\nlabel 1")));
  const Graph graph = ImportTfliteBytes(bytes.data(), bytes.size());
  EXPECT_EQ(graph.outputs()[0].notes.value_labels.size(), 2u);
}

void ExpectLeftOut(const std::string& bytes, const std::string& why) {
  const auto outcome = Convert(bytes);
  ASSERT_EQ(outcome.left_out.size(), 1u) << why;
  EXPECT_THAT(outcome.left_out[0], HasSubstr(why));
}

TEST(TfliteMetadata, DamagedMetadataIsLeftOut) {
  const std::vector<uint8_t> whole = BytesOf(Described({127.5f}, {127.5f}));
  for (const size_t size : {size_t{3}, size_t{12}, whole.size() / 2, whole.size() - 4}) {
    ExpectLeftOut(NetWith({}, {whole.begin(), whole.begin() + static_cast<int64_t>(size)}),
                  "truncated or damaged");
  }
  ExpectLeftOut(NetWith({}, {}), "an empty or absent buffer");
  ExpectLeftOut(NetWith({}, whole, 7), "an empty or absent buffer");
  std::vector<uint8_t> other = whole;
  other[7] = '9';
  ExpectLeftOut(NetWith({}, other), "truncated or damaged");
  EXPECT_THAT(Convert(NetWith({}, BytesOf(md::MetadataT()))).left_out, IsEmpty());
}

TEST(TfliteMetadata, ContradictionsAreLeftOut) {
  const auto net_of = [](const md::MetadataT& metadata) {
    return WithArchive(NetWith({}, BytesOf(metadata)), Lines(24));
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ExpectLeftOut(net_of(Described({1, 2}, {1})), "input 0: the normalisation has 2 numbers");
  ExpectLeftOut(net_of(Described({1}, {})), "input 0: the normalisation has 0 numbers");
  ExpectLeftOut(net_of(Described({1}, {0})), "divides by 0");
  ExpectLeftOut(net_of(Described({kNan}, {1})), "is nan");
  ExpectLeftOut(net_of(Described({1}, {1, 1, kInfinity})), "is inf");
  md::MetadataT grey = Described({1}, {1});
  grey.subgraphs[0]->inputs[0]->content->properties.AsPicture()->colours = md::Colours::GREYSCALE;
  ExpectLeftOut(net_of(grey), "a picture in GREYSCALE, but has 3 channels");
  md::MetadataT more = Described({1}, {1});
  more.subgraphs[0]->inputs.push_back(std::make_unique<md::PortT>());
  ExpectLeftOut(net_of(more), "it describes 2 inputs of 1");
  EXPECT_EQ(Convert(net_of(more)).written.labels.size(), 1u) << "the outputs' metadata stays";
}

TEST(TfliteMetadata, DamagedArchivesAreLeftOut) {
  const std::string net = NetWith({}, BytesOf(Described({1}, {1})));
  const std::string whole = WithArchive(net, Lines(24));
  const size_t central = whole.rfind("PK\x01\x02");
  ASSERT_NE(central, std::string::npos);
  ExpectLeftOut(net, "'labels.txt': the file does not end with an archive");
  ExpectLeftOut(WithArchive(net, Lines(24), "other.txt"), "the archive has no such file");
  ExpectLeftOut(whole.substr(0, whole.size() - 8), "'labels.txt'");
  // The sizes that the directory claims: unpacked (offset 24) and packed (20).
  for (const size_t offset : {size_t{20}, size_t{24}}) {
    for (const char byte : {'\0', '\x01'}) {
      std::string bytes = whole;
      bytes[central + offset] = byte;
      bytes[central + offset + 1] = byte;
      ExpectLeftOut(bytes, "is damaged in the archive");
    }
  }
  std::string huge = whole;
  huge.replace(central + 24, 4, "\xf0\xff\xff\xff");
  ExpectLeftOut(huge, "at most 16777216 are unpacked");
  std::string content = whole;
  content[net.size() + 45] = static_cast<char>(content[net.size() + 45] ^ 0x15);
  ExpectLeftOut(content, "is damaged in the archive");
  for (size_t at = central; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xff);
    EXPECT_LE(Convert(bytes).left_out.size(), 1u) << at;
  }
}

TEST(TfliteMetadata, WhatUnpacksToTooMuchIsLeftOut) {
  const std::string net = NetWith({}, BytesOf(Described({1}, {1})));
  ExpectLeftOut(WithArchive(net, std::string((16 << 20) + 1, 'a')), "at most 16777216 are unpacked");
  ExpectLeftOut(WithArchive(net, std::string(2'000'000, '\n')), "more than 1000000 labels");
}

/// The same files for each signature: what they become is bounded, not what lies in the archive.
TEST(TfliteMetadata, LimitsHoldForAllSignaturesTogether) {
  std::string net = NetWith({}, BytesOf(Described({1}, {1})));
  const std::unique_ptr<tflite::ModelT> model(tflite::GetModel(net.data())->UnPack());
  for (int i = 0; i < 5; ++i) model->signatures.push_back(std::make_unique<tflite::SignatureT>());
  flatbuffers::FlatBufferBuilder builder;
  tflite::FinishModelBuffer(builder, tflite::Model::Pack(builder, model.get()));
  net.assign(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  const auto left_out = [&](const std::string& labels) {
    const std::string bytes = WithArchive(net, labels);
    const auto source = OpenTfliteBytes(bytes.data(), bytes.size());
    std::vector<size_t> counts;
    std::string last;
    for (size_t i = 0; i < source->signatures().size(); ++i) {
      const Graph graph = source->Import(i, {});
      counts.push_back(graph.left_out.size());
      if (!graph.left_out.empty()) last = graph.left_out[0];
    }
    EXPECT_THAT(counts, ElementsAre(0, 0, 0, 1, 1));
    return last;
  };
  EXPECT_THAT(left_out(std::string(300'000, '\n')),
              HasSubstr("more than 1000000 labels, those of all signatures together"));
  EXPECT_THAT(left_out(std::string(5 << 20, 'a')),
              HasSubstr("its labels and texts take more than 16777216 bytes"));
}

/// A file is unpacked once; what is made of it each time is a copy, and counts.
TEST(TfliteMetadata, UsesOfOneFileAreCounted) {
  const auto vocabularies = [](int count) {
    md::MetadataT metadata = Described({0}, {1});
    for (int i = 0; i < count; ++i) {
      md::BertTokenizerT bert;
      bert.vocabulary.push_back(Packed("labels.txt", md::FileKind::VOCABULARY));
      AddUnit(metadata.subgraphs[0]->inputs[0]->process_units, std::move(bert));
    }
    return NetWith({}, BytesOf(metadata));
  };
  const std::string content(5 << 20, 'a');
  const auto outcome = Convert(WithArchive(vocabularies(3), content));
  EXPECT_THAT(outcome.metadata, Contains(Pair("vocabulary:picture", content)));
  EXPECT_THAT(outcome.left_out,
              ElementsAre(HasSubstr("output 0: its labels and texts take more than 16777216 bytes")));
  EXPECT_THAT(Convert(WithArchive(vocabularies(1), "", "other.txt")).left_out,
              ElementsAre(HasSubstr("input 0: 'labels.txt': the archive has no such file"),
                          HasSubstr("output 0: 'labels.txt': the archive has no such file")));
}

std::string WhyNot(const Archive& archive, const std::string& name, uint64_t& left) {
  try {
    archive.Read(name, left);
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

TEST(Archives, DamagedFilesCountAsWhatTheyWouldUnpackTo) {
  std::string bytes = WithArchive("", std::string(1000, 'a'), "one");
  const size_t checksum = bytes.rfind("PK\x01\x02") + 16;
  bytes[checksum] = static_cast<char>(bytes[checksum] ^ 1);
  const Archive archive({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  EXPECT_THAT(archive.Names(), ElementsAre("one"));
  uint64_t left = 1500;
  EXPECT_THAT(WhyNot(archive, "one", left), HasSubstr("'one': is damaged in the archive"));
  EXPECT_EQ(left, 500u);
  EXPECT_THAT(WhyNot(archive, "one", left), HasSubstr("has 1000 bytes; at most 500 are unpacked"));
  EXPECT_THAT(WhyNot(archive, "two", left), HasSubstr("'two': the archive has no such file"));
}

/// Files before the damage are found.
TEST(Archives, ListsThatAreDamagedEndThere) {
  const std::string one = WithArchive("", "1", "one");
  const size_t central = one.rfind("PK\x01\x02");
  const size_t end = one.rfind("PK\x05\x06");
  std::string bytes = one.substr(0, end) + "damage" + std::string(44, '\0') + one.substr(end);
  const size_t moved = bytes.rfind("PK\x05\x06");
  for (const size_t count : {size_t{8}, size_t{10}}) bytes[moved + count] = 2;
  bytes[moved + 12] = static_cast<char>(moved - central);  // How long the list is.
  const Archive archive({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  uint64_t left = 10;
  EXPECT_EQ(archive.Read("one", left), "1");
  EXPECT_EQ(left, 9u);
  EXPECT_THAT(WhyNot(archive, "two", left), HasSubstr("'two': the archive's list of files is damaged"));
  EXPECT_THROW(archive.Names(), Error);
}

/// Many units may refer to one text.
TEST(TfliteMetadata, TextsThatUnitsShareAreLeftOut) {
  md::MetadataT metadata = Described({0}, {1});
  md::RegexTokenizerT regex;
  regex.delimiters = std::string(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) AddUnit(metadata.subgraphs[0]->inputs[0]->process_units, regex);
  ExpectLeftOut(WithArchive(NetWith({}, BytesOf(metadata)), Lines(24)),
                "input 0: its labels and texts take more than 16777216 bytes");
}

}  // namespace
}  // namespace skiff
