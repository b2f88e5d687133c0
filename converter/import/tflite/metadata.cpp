#include "import/tflite/metadata.h"

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "tflite_metadata_generated.h"

namespace skiff {
namespace {

namespace format = tflite::metadata;

constexpr flatbuffers::uoffset_t kMaxDepth = 64;
constexpr flatbuffers::uoffset_t kMaxTables = 100'000;

/// Of a file in the archive.
constexpr uint32_t kMaxNameBytes = 1000;
/// Beside a text.
constexpr uint64_t kNoteBytes = 64;

template <class... Args>
[[noreturn]] void Wrong(fmt::format_string<Args...> format, Args&&... args) {
  Throw(StatusCode::kInvalidModel, format, std::forward<Args>(args)...);
}

/// A number for each channel.
std::vector<float> PerChannel(const flatbuffers::Vector<float>* numbers, uint32_t channels,
                              const char* what) {
  if (SizeOf(numbers) != 1 && SizeOf(numbers) != channels)
    Wrong("the normalisation has {} numbers for the {} of {} channels", SizeOf(numbers), what, channels);
  std::vector<float> result(channels, numbers->Get(0));
  if (numbers->size() == channels) result.assign(numbers->begin(), numbers->end());
  for (const float number : result) {
    if (!std::isfinite(number)) Wrong("the normalisation's {} is {}", what, number);
  }
  return result;
}

class Reader {
 public:
  Reader(const TfliteFile& file, const tflite::SubGraph& graph, TfliteArchive& archive,
         TfliteMetadataLeft& left, TfliteMetadata& result)
      : file_(file), graph_(graph), archive_(archive), left_(left), result_(result) {}

  void Read(const format::SubGraph& metadata) {
    ReadPorts("input", metadata.inputs(), SizeOf(graph_.inputs()), [&](uint32_t i, const format::Port& port) {
      result_.inputs[i].picture = ReadPicture(port, ShapeOf(graph_.inputs()->Get(i)));
      ReadUnits(port.process_units(), result_.inputs[i].stated);
    });
    ReadPorts("output", metadata.outputs(), SizeOf(graph_.outputs()),
              [&](uint32_t i, const format::Port& port) {
                result_.outputs[i].labels = ReadLabels(port, format::FileKind::AXIS_LABELS);
                result_.outputs[i].value_labels = ReadLabels(port, format::FileKind::VALUE_LABELS);
                ReadUnits(port.process_units(), result_.outputs[i].stated);
              });
    for (const Units* units : {metadata.input_units(), metadata.output_units()})
      ReadUnits(units, result_.stated);
  }

 private:
  using Ports = flatbuffers::Vector<flatbuffers::Offset<format::Port>>;
  using Units = flatbuffers::Vector<flatbuffers::Offset<format::ProcessUnit>>;
  using Files = flatbuffers::Vector<flatbuffers::Offset<format::PackedFile>>;

  template <class ReadPort>
  void ReadPorts(const char* kind, const Ports* ports, uint32_t expected, ReadPort read) {
    // None at all is no mistake: the other list may be all that there is to say.
    if (SizeOf(ports) != 0 && SizeOf(ports) != expected) {
      LeaveOut(fmt::format("it describes {} {}s of {}", SizeOf(ports), kind, expected));
      return;
    }
    for (uint32_t i = 0; i < SizeOf(ports); ++i) {
      try {
        read(i, *ports->Get(i));
      } catch (const Error& error) {
        LeaveOut(fmt::format("{} {}: {}", kind, i, error.what()));
      }
    }
  }

  void LeaveOut(std::string sentence) {
    if (--left_.sentences >= 0) result_.left_out.push_back(std::move(sentence));
  }

  /// Of a picture, as the graph's input has it; empty where the tensor is none.
  std::vector<int32_t> ShapeOf(int32_t tensor) const {
    const tflite::Tensor& stated = *graph_.tensors()->Get(static_cast<uint32_t>(tensor));
    const auto* shape = SizeOf(stated.shape_signature()) > 0 ? stated.shape_signature() : stated.shape();
    return SizeOf(shape) != 4 ? std::vector<int32_t>() : std::vector<int32_t>(shape->begin(), shape->end());
  }

  static std::optional<PictureNotes> ReadPicture(const format::Port& port,
                                                 const std::vector<int32_t>& shape) {
    const format::Picture* picture =
        port.content() == nullptr ? nullptr : port.content()->properties_as_Picture();
    if (picture == nullptr || shape.size() != 4) return std::nullopt;
    const auto channels = static_cast<uint32_t>(shape[3]);
    if (channels != 1 && channels != 3 && channels != 4) return std::nullopt;
    const format::Colours colours = picture->colours();
    if ((colours == format::Colours::RGB && channels != 3) ||
        (colours == format::Colours::GREYSCALE && channels != 1))
      Wrong("is said to be a picture in {}, but has {} channels", format::EnumNameColours(colours), channels);
    PictureNotes notes;
    for (uint32_t i = 0; i < SizeOf(port.process_units()); ++i) {
      const format::Normalization* stated = port.process_units()->Get(i)->processing_as_Normalization();
      if (stated == nullptr) continue;
      if (!notes.mean.empty()) Wrong("has more than one normalisation");
      notes.mean = PerChannel(stated->mean(), channels, "means");
      notes.deviation = PerChannel(stated->deviation(), channels, "standard deviations");
      if (std::any_of(notes.deviation.begin(), notes.deviation.end(),
                      [](float deviation) { return !std::isfinite(1 / deviation); }))
        Wrong("the normalisation divides by 0");
    }
    return notes;
  }

  /// The first file is the default one; the others are translations.
  std::vector<std::string> ReadLabels(const format::Port& port, format::FileKind kind) {
    for (uint32_t i = 0; i < SizeOf(port.files()); ++i) {
      const format::PackedFile& packed = *port.files()->Get(i);
      if (packed.kind() != kind) continue;
      return ReadLines(packed);
    }
    return {};
  }

  std::vector<std::string> ReadLines(const format::PackedFile& packed) {
    if (SizeOf(packed.name()) > kMaxNameBytes)
      Wrong("the name of a file of labels has {} bytes; at most {} are looked for", packed.name()->size(),
            kMaxNameBytes);
    const std::string name = TextOf(packed.name());
    const TfliteMetadataLeft all;
    if (--left_.files < 0)
      Wrong("'{}': there are more than {} files of labels, those of all signatures together", name,
            all.files);
    const std::string& text = ContentOf(name);
    left_.labels -= std::count(text.begin(), text.end(), '\n');
    if (left_.labels < 0)
      Wrong("'{}': there are more than {} labels, those of all signatures together", name, all.labels);
    return LabelsFromText(text);
  }

  /// The bytes count each time, as what is made of them is a copy.
  const std::string& ContentOf(const std::string& name) {
    const auto [at, first] = archive_.files.try_emplace(name);
    TfliteArchive::File& file = at->second;
    if (!first) {
      Take(file.content.size());
    } else {
      if (!archive_.opened) archive_.opened.emplace(file_.bytes());
      try {
        file.content = archive_.opened->Read(name, left_.bytes);
      } catch (const Error& error) {
        file.defect = error.what();
      }
    }
    if (!file.defect.empty()) Wrong("{}", file.defect);
    return file.content;
  }

  void Take(uint64_t bytes) {
    if (bytes > left_.bytes)
      Wrong("its labels and texts take more than {} bytes", TfliteMetadataLeft().bytes);
    left_.bytes -= bytes;
  }

  void ReadUnits(const Units* units, StatedNotes& stated) {
    for (uint32_t i = 0; i < SizeOf(units); ++i) {
      const format::ProcessUnit& unit = *units->Get(i);
      if (const auto* score = unit.processing_as_ScoreThreshold()) {
        if (!std::isfinite(score->threshold()))
          Wrong("the threshold of its scores is {}", score->threshold());
        Note(stated, "score_threshold", fmt::format("{}", score->threshold()));
      } else if (const auto* bert = unit.processing_as_BertTokenizer()) {
        AddTokenizer("bert", bert->vocabulary(), stated);
      } else if (const auto* pieces = unit.processing_as_SentencePieceTokenizer()) {
        LeaveOut("the model of its SentencePiece tokenizer, which the program needs");
        AddTokenizer("sentencepiece", pieces->vocabulary(), stated);
      } else if (const auto* regex = unit.processing_as_RegexTokenizer()) {
        AddTokenizer("regex", regex->vocabulary(), stated);
        Note(stated, "tokenizer_delimiters", TextOf(regex->delimiters()));
      }
    }
  }

  /// Ports and units may share a long text.
  void Note(StatedNotes& stated, const char* key, std::string text) {
    Take(kNoteBytes + text.size());
    stated.emplace_back(key, std::move(text));
  }

  void AddTokenizer(const char* kind, const Files* vocabulary, StatedNotes& stated) {
    Note(stated, "tokenizer", kind);
    if (SizeOf(vocabulary) == 0) return;
    stated.emplace_back("vocabulary", fmt::format("{}", fmt::join(ReadLines(*vocabulary->Get(0)), "\n")));
  }

  const TfliteFile& file_;
  const tflite::SubGraph& graph_;
  TfliteArchive& archive_;
  TfliteMetadataLeft& left_;
  TfliteMetadata& result_;
};

/// Empty where the file has none.
Span<const uint8_t> MetadataBytes(const TfliteFile& file) {
  const auto* entries = file.model().metadata();
  for (uint32_t i = 0; i < SizeOf(entries); ++i) {
    const flatbuffers::String* name = entries->Get(i)->name();
    if (name == nullptr || name->string_view() != "TFLITE_METADATA") continue;
    const Span<const uint8_t> bytes = file.Buffer(entries->Get(i)->buffer());
    if (bytes.empty()) Wrong("it is an empty or absent buffer");
    return bytes;
  }
  return {};
}

}  // namespace

void TfliteMetadataReader::Open() {
  opened_ = true;
  try {
    // A copy: the buffer need not be aligned in the file.
    const Span<const uint8_t> lying = MetadataBytes(file_);
    bytes_.assign(lying.begin(), lying.end());
    flatbuffers::Verifier verifier(bytes_.data(), bytes_.size(), kMaxDepth, kMaxTables);
    if (!bytes_.empty() && !format::VerifyMetadataBuffer(verifier))
      Wrong("it is truncated or damaged: its {} bytes are no such FlatBuffer", bytes_.size());
  } catch (const Error& error) {
    defect_ = error.what();
  }
}

TfliteMetadata TfliteMetadataReader::Read(uint32_t subgraph) {
  if (!opened_) Open();
  const tflite::SubGraph& graph = file_.subgraph(subgraph);
  TfliteMetadata result;
  result.inputs.resize(SizeOf(graph.inputs()));
  result.outputs.resize(SizeOf(graph.outputs()));
  if (!defect_.empty()) result.left_out.push_back(defect_);
  if (!defect_.empty() || bytes_.empty()) return result;
  const auto* graphs = format::GetMetadata(bytes_.data())->subgraphs();
  if (subgraph >= SizeOf(graphs)) return result;
  try {
    Reader(file_, graph, archive_, left_, result).Read(*graphs->Get(subgraph));
  } catch (const Error& error) {
    result.left_out.emplace_back(error.what());
  }
  return result;
}

}  // namespace skiff
