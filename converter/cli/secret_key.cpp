#include "cli/secret_key.h"

#include <sodium.h>

#include <cstring>
#include <vector>

#include "files/tensor_files.h"
#include "graph/error.h"

namespace skiff::cli {
namespace {

constexpr char kCheckMark[2] = {'B', '2'};

template <class Bytes>
bool Is(const Bytes& mark, const char (&expected)[2]) {
  return std::memcmp(mark, expected, sizeof(expected)) == 0;
}

void Initialize() {
  if (sodium_init() < 0) Throw(StatusCode::kInternal, "libsodium cannot be initialised");
}

template <class T>
std::string Base64(const T& bytes) {
  char text[minisign::Base64Size(sizeof(bytes))];
  sodium_bin2base64(text, sizeof(text), reinterpret_cast<const unsigned char*>(&bytes), sizeof(bytes),
                    sodium_base64_VARIANT_ORIGINAL);
  return text;
}

}  // namespace

SecretKey::SecretKey() {
  Initialize();
  std::memcpy(secret_.mark, minisign::kKeyMark, sizeof(secret_.mark));
  std::memcpy(secret_.check_mark, kCheckMark, sizeof(secret_.check_mark));
  randombytes_buf(secret_.id, sizeof(secret_.id));
  uint8_t public_key[sizeof(minisign::Public::key)];
  crypto_sign_keypair(public_key, secret_.key);
  SetCheck(secret_.check);
}

SecretKey::SecretKey(const std::string& path) {
  Initialize();
  std::string text = ReadFile(path, kMostKeyBytes);
  std::string_view line = text;
  if (line.starts_with(minisign::kUntrusted))
    line.remove_prefix(std::min(line.find('\n'), line.size() - 1) + 1);
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  size_t decoded = 0;
  const bool whole =
      sodium_base642bin(reinterpret_cast<unsigned char*>(&secret_), sizeof(secret_), line.data(), line.size(),
                        nullptr, &decoded, nullptr, sodium_base64_VARIANT_ORIGINAL) == 0 &&
      decoded == sizeof(secret_);
  sodium_memzero(text.data(), text.size());
  if (!whole || !Is(secret_.mark, minisign::kKeyMark) || !Is(secret_.check_mark, kCheckMark))
    Throw(StatusCode::kInvalidArgument, "{}: is no secret key; `skiff sign --new-key NAME` makes one", path);
  if (secret_.derivation[0] != 0) {
    Throw(StatusCode::kUnsupported,
          "{}: is encrypted with a password, which Skiff does not ask for; sign with `minisign -S -s {} -m "
          "MODEL`, "
          "whose signatures `skiff verify` and the runtime accept",
          path, path);
  }
  uint8_t check[sizeof(secret_.check)];
  SetCheck(check);
  if (sodium_memcmp(check, secret_.check, sizeof(check)) != 0)
    Throw(StatusCode::kInvalidArgument, "{}: the secret key is damaged", path);
}

SecretKey::~SecretKey() { sodium_memzero(&secret_, sizeof(secret_)); }

void SecretKey::SetCheck(uint8_t* check) const {
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, sizeof(secret_.check));
  crypto_generichash_update(&state, reinterpret_cast<const uint8_t*>(secret_.mark), sizeof(secret_.mark));
  crypto_generichash_update(&state, secret_.id, sizeof(secret_.id));
  crypto_generichash_update(&state, secret_.key, sizeof(secret_.key));
  crypto_generichash_final(&state, check, sizeof(secret_.check));
}

std::string SecretKey::SecretText() const {
  return fmt::format("{}secret key of skiff, without a password\n{}\n", minisign::kUntrusted,
                     Base64(secret_));
}

std::string SecretKey::PublicLine() const {
  minisign::Public key = {};
  std::memcpy(key.mark, minisign::kKeyMark, sizeof(key.mark));
  std::memcpy(key.id, secret_.id, sizeof(key.id));
  crypto_sign_ed25519_sk_to_pk(key.key, secret_.key);
  return Base64(key);
}

std::string SecretKey::Sign(std::string_view bytes, const std::string& trusted_comment) const {
  uint8_t hash[minisign::kHashBytes];
  crypto_generichash(hash, sizeof(hash), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                     nullptr, 0);
  minisign::Signature signature = {};
  std::memcpy(signature.mark, minisign::kHashedMark, sizeof(signature.mark));
  std::memcpy(signature.id, secret_.id, sizeof(signature.id));
  crypto_sign_detached(signature.signature, nullptr, hash, sizeof(hash), secret_.key);

  std::vector<uint8_t> signed_too(signature.signature, signature.signature + sizeof(signature.signature));
  signed_too.insert(signed_too.end(), trusted_comment.begin(), trusted_comment.end());
  uint8_t of_comment[minisign::kSignatureBytes];
  crypto_sign_detached(of_comment, nullptr, signed_too.data(), signed_too.size(), secret_.key);
  return fmt::format("{}signature by skiff\n{}\n{}{}\n{}\n", minisign::kUntrusted, Base64(signature),
                     minisign::kTrusted, trusted_comment, Base64(of_comment));
}

}  // namespace skiff::cli
