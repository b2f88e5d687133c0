// Generates text with a decoder whose past keys and values are variables: one Run() per character, which
// copies no cache. Greedy: the likeliest character is the next one.
#include <skiff/delegates.h>
#include <skiff/session.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr const char* kUsage =
    "usage: skiff-generate MODEL.skiff [options]\n"
    "  --prompt TEXT    what the text begins with (default: \"The converter \")\n"
    "  --tokens N       how many characters follow (default: 200)\n"
    "  --threads N      default: 1, which a net of this size is fastest with\n"
    "  --backend NAME   xnnpack (default) or reference\n"
    "The text goes to the standard output, times and memory to the standard error.\n";

struct Arguments {
  const char* model = nullptr;
  const char* prompt = "The converter ";
  int tokens = 200;
  int threads = 1;
  bool reference = false;
};

bool Refuse(const char* what, const char* text) {
  std::fprintf(stderr, "skiff-generate: error: %s '%s'\n%s", what, text, kUsage);
  return false;
}

bool ParseCount(const char* text, int* count) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 1 || value > 1000000)
    return Refuse("expected a number from 1 on, got", text);
  *count = static_cast<int>(value);
  return true;
}

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const char* name = argv[i];
    if (std::strncmp(name, "--", 2) != 0) {
      if (arguments->model != nullptr) return Refuse("there is one model; unexpected", name);
      arguments->model = name;
      continue;
    }
    if (++i == argc) return Refuse("a value is missing behind", name);
    const char* value = argv[i];
    if (std::strcmp(name, "--prompt") == 0) {
      if (*value == '\0') return Refuse("the text needs a beginning:", name);
      arguments->prompt = value;
    } else if (std::strcmp(name, "--tokens") == 0) {
      if (!ParseCount(value, &arguments->tokens)) return false;
    } else if (std::strcmp(name, "--threads") == 0) {
      if (!ParseCount(value, &arguments->threads)) return false;
    } else if (std::strcmp(name, "--backend") == 0) {
      arguments->reference = std::strcmp(value, "reference") == 0;
      if (!arguments->reference && std::strcmp(value, "xnnpack") != 0)
        return Refuse("expected xnnpack or reference, got", value);
    } else {
      return Refuse("unknown option", name);
    }
  }
  return arguments->model != nullptr || Refuse("the model is missing", "");
}

/// The net, and what its characters are: the labels of the output are one for each score, a line break
/// spelled \n.
class Generator {
 public:
  explicit Generator(skiff::Session& session) : session_(session) {}

  bool Init() {
    auto token = session_.InputBuffer(session_.FindInput("token"));
    auto position = session_.InputBuffer(session_.FindInput("position"));
    const int scores = session_.FindOutput("scores");
    if (!token.ok() || !position.ok() || scores < 0) return NoDecoder("it lacks token, position or scores");
    const skiff::PortInfo& port = session_.signature().outputs[static_cast<size_t>(scores)];
    const bool integers = token->dtype == skiff::DType::kI64 && position->dtype == skiff::DType::kI64;
    const bool single = token->shape.elements() == 1 && position->shape.elements() == 1;
    if (!integers || !single || port.dtype != skiff::DType::kF32)
      return NoDecoder("its ports have other types");
    if (port.labels.empty() || static_cast<int64_t>(port.labels.size()) != port.shape.elements())
      return NoDecoder("its scores have no labels (skiff convert --labels characters.txt)");
    token_ = token->as<int64_t>();
    position_ = position->as<int64_t>();
    output_ = scores;
    characters_ = port.labels;
    *position_ = 0;
    return true;
  }

  /// -1 where the net does not know it.
  int Find(char character) const {
    for (size_t i = 0; i < characters_.size(); ++i) {
      if (Character(static_cast<int>(i)) == character) return static_cast<int>(i);
    }
    return -1;
  }
  char Character(int token) const {
    const char* label = characters_[static_cast<size_t>(token)];
    return std::strcmp(label, "\\n") == 0 ? '\n' : label[0];
  }

  /// The likeliest token behind this one and all before it; -1 where the run failed.
  int Next(int token) {
    *token_ = token;
    if (!session_.Run().ok()) return -1;
    ++*position_;
    const float* scores = session_.Output(output_)->as<const float>();
    int best = 0;
    for (int i = 1; i < static_cast<int>(characters_.size()); ++i) best = scores[i] > scores[best] ? i : best;
    return best;
  }

 private:
  static bool NoDecoder(const char* why) {
    std::fprintf(stderr, "skiff-generate: error: this is no decoder of characters: %s\n", why);
    return false;
  }

  skiff::Session& session_;
  skiff::Span<const char* const> characters_;
  int64_t* token_ = nullptr;
  int64_t* position_ = nullptr;
  int output_ = 0;
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool Generate(const Arguments& arguments, Generator& generator) {
  int token = 0;
  const double begin = Seconds();
  for (const char* at = arguments.prompt; *at != '\0'; ++at) {
    const int known = generator.Find(*at);
    if (known < 0) return Refuse("the net does not know a character of the prompt, from here on:", at);
    token = generator.Next(known);
    if (token < 0) return false;
  }
  const double first = Seconds();
  std::fputs(arguments.prompt, stdout);
  for (int i = 0; i < arguments.tokens; ++i) {
    std::putchar(generator.Character(token));
    std::fflush(stdout);
    if (i + 1 == arguments.tokens) break;
    token = generator.Next(token);
    if (token < 0) return false;
  }
  const double end = Seconds();
  std::putchar('\n');
  const auto prompt = static_cast<double>(std::strlen(arguments.prompt));
  std::fprintf(stderr, "first character after %.2f ms, a prompt of %.0f\n", (first - begin) * 1e3, prompt);
  if (arguments.tokens > 1)
    std::fprintf(stderr, "%.0f characters per second (%.1f us each)\n",
                 (arguments.tokens - 1) / (end - first), (end - first) / (arguments.tokens - 1) * 1e6);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) return 2;
  auto model = skiff::Model::Open(arguments.model, {skiff::BuiltinDelegates()});
  if (!model.ok()) return 1;
  skiff::SessionOptions options;
  options.threads = arguments.threads;
  options.backend = arguments.reference ? skiff::Backend::kReference : skiff::Backend::kPlanned;
  auto session = skiff::Session::Create(**model, options);
  if (!session.ok()) return 1;
  Generator generator(**session);
  if (!generator.Init() || !Generate(arguments, generator)) return 1;
  const skiff::MemoryUsage memory = session.value()->memory_usage();
  std::fprintf(stderr, "caches %.0f KiB, activations %.0f KiB, workspace %.0f KiB, weights %.0f KiB\n",
               static_cast<double>(memory.variables) / 1024, static_cast<double>(memory.arena) / 1024,
               static_cast<double>(memory.workspace) / 1024,
               static_cast<double>(memory.packed_weights + memory.widened_weights) / 1024);
  return 0;
}
