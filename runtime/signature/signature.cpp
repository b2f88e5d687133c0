#include "skiff/signature.h"

#include <sodium.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/platform.h"
#include "signature/minisign.h"
#include "skiff/log.h"

namespace skiff {
namespace {

using minisign::kHashBytes;
using minisign::kSignatureBytes;

constexpr size_t kMostPath = 4096;
/// Of a signature file, whose comments have a few hundred.
constexpr size_t kMostSignature = size_t{64} << 10;

/// The text up to the next line's end, which goes away, too.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool TakePrefix(std::string_view& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return false;
  line.remove_prefix(prefix.size());
  return true;
}

/// Exactly the text of so many bytes: libsodium's decoder takes some bytes beyond ASCII for others.
template <class T>
bool Decode(std::string_view text, T* bytes) {
  char again[minisign::Base64Size(sizeof(T))];
  if (text.size() + 1 != sizeof(again)) return false;
  size_t decoded = 0;
  auto* const first = reinterpret_cast<unsigned char*>(bytes);
  if (sodium_base642bin(first, sizeof(T), text.data(), text.size(), nullptr, &decoded, nullptr,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      decoded != sizeof(T))
    return false;
  sodium_bin2base64(again, sizeof(again), first, sizeof(T), sodium_base64_VARIANT_ORIGINAL);
  return text == again;
}

struct SignatureFile {
  minisign::Signature file;
  std::string_view trusted_comment;
  uint8_t of_comment[kSignatureBytes];  ///< And of the signature of the file.
};

bool Parse(std::string_view text, SignatureFile* parsed) {
  std::string_view untrusted = TakeLine(text);
  if (!TakePrefix(untrusted, minisign::kUntrusted)) return false;
  if (!Decode(TakeLine(text), &parsed->file)) return false;
  parsed->trusted_comment = TakeLine(text);
  if (!TakePrefix(parsed->trusted_comment, minisign::kTrusted)) return false;
  return Decode(TakeLine(text), &parsed->of_comment) && text.empty();
}

/// The second signature is of the first one and the comment, one behind the other.
bool CommentIsSigned(const SignatureFile& parsed, const PublicKey& key) {
  constexpr size_t kMostComment = 8192;  // minisign's own limit.
  if (parsed.trusted_comment.size() > kMostComment) return false;
  uint8_t message[kSignatureBytes + kMostComment];
  std::memcpy(message, parsed.file.signature, kSignatureBytes);
  std::memcpy(message + kSignatureBytes, parsed.trusted_comment.data(), parsed.trusted_comment.size());
  return crypto_sign_verify_detached(parsed.of_comment, message,
                                     kSignatureBytes + parsed.trusted_comment.size(), key.key) == 0;
}

/// A file as long as it is needed.
class Mapped {
 public:
  explicit Mapped(const char* path) : file_(platform::MapFile(path)) {}
  ~Mapped() {
    if (file_.ok()) platform::UnmapFile(file_.value());
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  Status status() const { return file_.status(); }
  Span<const uint8_t> bytes() const { return {file_.value().data, file_.value().size}; }

 private:
  Result<platform::MappedFile> file_;
};

}  // namespace

Result<PublicKey> ParsePublicKey(const char* text) {
  std::string_view rest = text == nullptr ? "" : text;
  std::string_view line = TakeLine(rest);
  if (line.starts_with(minisign::kUntrusted)) line = TakeLine(rest);
  minisign::Public decoded;
  if (!Decode(line, &decoded) || std::memcmp(decoded.mark, minisign::kKeyMark, sizeof(decoded.mark)) != 0 ||
      !TakeLine(rest).empty() || !rest.empty()) {
    return Fail(
        StatusCode::kInvalidArgument,
        "the public key is none: expected a line of 56 characters that begins with RW, as `skiff sign "
        "--new-key` writes it, alone or below a comment");
  }
  PublicKey key;
  std::memcpy(key.id, decoded.id, sizeof(key.id));
  std::memcpy(key.key, decoded.key, sizeof(key.key));
  return key;
}

Status VerifySignature(Span<const uint8_t> bytes, Span<const char> signature, const PublicKey& key) {
  if (sodium_init() < 0) return Fail(StatusCode::kInternal, "libsodium cannot be initialised");
  if (signature.size() > kMostSignature) {
    return Fail(StatusCode::kInvalidModel, "the signature has %zu bytes; at most %zu are read",
                signature.size(), kMostSignature);
  }
  SignatureFile parsed;
  if (!Parse({signature.data(), signature.size()}, &parsed)) {
    return Fail(
        StatusCode::kInvalidModel,
        "the signature is damaged or cut off: expected two comments with a line of base64 below each");
  }
  if (std::memcmp(parsed.file.mark, minisign::kHashedMark, sizeof(parsed.file.mark)) != 0) {
    return Fail(
        StatusCode::kInvalidModel,
        "the signature is of a kind that is not read: expected one of the file's hash, as `skiff sign` and "
        "minisign since version 0.10 make it");
  }
  if (std::memcmp(parsed.file.id, key.id, sizeof(key.id)) != 0)
    return Fail(StatusCode::kInvalidModel, "the signature is by another key than the one that is expected");
  uint8_t hash[kHashBytes];
  crypto_generichash(hash, sizeof(hash), bytes.data(), bytes.size(), nullptr, 0);
  if (crypto_sign_verify_detached(parsed.file.signature, hash, sizeof(hash), key.key) != 0) {
    return Fail(StatusCode::kInvalidModel,
                "the file is not what was signed: it, or its signature, was changed since, or the key is "
                "another one");
  }
  if (!CommentIsSigned(parsed, key))
    return Fail(StatusCode::kInvalidModel, "the signature's trusted comment was changed since it was signed");
  return OkStatus();
}

Status VerifySignedFile(const char* path, const PublicKey& key, const char* signature_path) {
  if (path == nullptr) return Fail(StatusCode::kInvalidArgument, "the path of the signed file is null");
  char beside[kMostPath];
  if (signature_path == nullptr) {
    const int length = std::snprintf(beside, sizeof(beside), "%s%s", path, minisign::kExtension);
    if (length < 0 || static_cast<size_t>(length) >= sizeof(beside))
      return Fail(StatusCode::kIo, "the path of the signed file has more than %zu bytes", sizeof(beside));
    signature_path = beside;
  }
  const Mapped signature(signature_path);
  if (const Status status = signature.status(); !status.ok()) return status;
  const Mapped file(path);
  if (const Status status = file.status(); !status.ok()) return status;
  const Span<const uint8_t> text = signature.bytes();
  return VerifySignature(file.bytes(), {reinterpret_cast<const char*>(text.data()), text.size()}, key);
}

}  // namespace skiff
