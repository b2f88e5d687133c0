// skiff sign, skiff verify
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/command_files.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/secret_key.h"
#include "cli/tool.h"
#include "core/error_capture.h"
#include "emit/write_file.h"
#include "files/tensor_files.h"
#include "graph/error.h"
#include "run/opened_model.h"
#include "skiff/signature.h"

namespace skiff::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSignFooter =
    "The signature is a small file beside the model, which stays as it is: whoever does not ask for it needs "
    "nothing. Applications ask with VerifySignedFile() of <skiff/signature.h>. Keys and signatures are those "
    "of "
    "minisign, which can do the same: 'minisign -V -p NAME.pub -m net.skiff'. The secret key has no "
    "password: keep "
    "it where nobody else reads.\n"
    "Example:\n"
    "  skiff sign --new-key release            # once: release.key, release.pub\n"
    "  skiff sign net.skiff --key release.key  # net.skiff.minisig\n"
    "  skiff verify net.skiff --public-key release.pub";
constexpr const char* kVerifyFooter =
    "Exit code 0: the file is what the holder of the key signed. 1: it is not, or cannot be read.\n"
    "Example:\n"
    "  skiff verify net.skiff --public-key release.pub\n"
    "  skiff verify net.skiff --public-key RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

struct SignArguments {
  std::string model;
  std::string key;
  std::string output;
  std::string new_key;
};

/// Never in the place of another file: a lost key cannot be made again.
void WriteNew(const std::string& path, const std::string& text, mode_t mode) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) Throw(StatusCode::kIo, "{}: cannot be made: {}", path, std::strerror(errno));
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(file) != 0 || !written) {
    unlink(path.c_str());
    Throw(StatusCode::kIo, "{}: cannot be written (is the disk full?)", path);
  }
}

void MakeKey(const std::string& name) {
  std::error_code error;
  for (const char* extension : {".key", ".pub"}) {
    if (fs::exists(name + extension, error)) {
      Throw(StatusCode::kIo,
            "{}{}: is there already, and a key that is replaced is lost; choose another name", name,
            extension);
    }
  }
  const SecretKey key;
  WriteNew(name + ".key", key.SecretText(), 0600);
  WriteNew(name + ".pub", fmt::format("{}public key of skiff\n{}\n", minisign::kUntrusted, key.PublicLine()),
           0644);
  Print("{}\n", key.PublicLine());
}

void Sign(const SignArguments& arguments) {
  if (arguments.model.empty() == arguments.new_key.empty())
    throw CLI::ValidationError("either a MODEL and --key, or --new-key NAME is expected");
  if (!arguments.new_key.empty()) return MakeKey(arguments.new_key);
  if (arguments.key.empty()) throw CLI::ValidationError("--key FILE is expected, the secret key");
  CommandFiles files;
  files.Reads("the model", arguments.model);
  files.Reads("the file of --key", arguments.key);
  const std::string output = files.Writes(
      "-o", arguments.output.empty() ? arguments.model + minisign::kExtension : arguments.output);
  const SecretKey key(arguments.key);
  // What does not open is not worth a signature.
  static_cast<void>(OpenedModel(arguments.model));
  const std::string text =
      key.Sign(ReadFile(arguments.model), "file:" + OneLine(fs::path(arguments.model).filename().string()));
  WriteFileAtomically(output, {text.begin(), text.end()});
}

struct VerifyArguments {
  std::string model;
  std::string public_key;
  std::string signature;
};

void Verify(const VerifyArguments& arguments) {
  const ErrorCapture capture;
  std::error_code error;  // A line may be too long for a path.
  const bool in_file = fs::exists(arguments.public_key, error);
  const std::string text = in_file ? ReadFile(arguments.public_key, kMostKeyBytes) : arguments.public_key;
  const Result<PublicKey> key = ParsePublicKey(text.c_str());
  if (!key.ok()) Throw(key.status().code(), "--public-key {}: {}", arguments.public_key, capture.message());
  const Status status = VerifySignedFile(arguments.model.c_str(), key.value(),
                                         arguments.signature.empty() ? nullptr : arguments.signature.c_str());
  if (!status.ok()) Throw(status.code(), "{}: {}", arguments.model, capture.message());
  Print("{}: signed by the holder of this key\n", arguments.model);
}

}  // namespace

void AddSign(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("sign", "Sign a model, or make a key to sign with");
  auto arguments = std::make_shared<SignArguments>();
  command->add_option("model", arguments->model, "The .skiff file")->type_name("MODEL");
  CLI::Option* key = command->add_option("--key", arguments->key, "The secret key, NAME.key of --new-key")
                         ->type_name("FILE");
  CLI::Option* output =
      command
          ->add_option("-o,--output", arguments->output, "Where the signature goes (default: MODEL.minisig)")
          ->type_name("FILE");
  command
      ->add_option("--new-key", arguments->new_key,
                   "Make a key: NAME.key, which is secret, and NAME.pub; print the line of the public one")
      ->type_name("NAME")
      ->excludes(key)
      ->excludes(output);
  command->footer(kSignFooter);
  command->callback([arguments] { Sign(*arguments); });
}

void AddVerify(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("verify", "Check the signature of a model");
  auto arguments = std::make_shared<VerifyArguments>();
  command->add_option("model", arguments->model, "The .skiff file")->required()->type_name("MODEL");
  command->add_option("--public-key", arguments->public_key, "Whose signature: NAME.pub, or the line in it")
      ->required()
      ->type_name("KEY");
  command->add_option("--signature", arguments->signature, "Where the signature is (default: MODEL.minisig)")
      ->type_name("FILE");
  command->footer(kVerifyFooter);
  command->callback([arguments] { Verify(*arguments); });
}

}  // namespace skiff::cli
