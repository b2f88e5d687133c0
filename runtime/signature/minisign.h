/// How minisign writes keys and signatures: what lies in the lines of base64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff::minisign {

inline constexpr const char* kUntrusted = "untrusted comment: ";
inline constexpr const char* kTrusted = "trusted comment: ";
inline constexpr const char* kExtension = ".minisig";

inline constexpr size_t kHashBytes = 64;       ///< BLAKE2b of the file: what is signed.
inline constexpr size_t kSignatureBytes = 64;  ///< Ed25519.

/// The algorithms' marks.
inline constexpr char kKeyMark[2] = {'E', 'd'};
inline constexpr char kHashedMark[2] = {'E', 'D'};  ///< A signature of the file's hash.

struct Public {
  char mark[2];
  uint8_t id[8];
  uint8_t key[32];
};
static_assert(sizeof(Public) == 42);

struct Signature {
  char mark[2];
  uint8_t id[8];
  uint8_t signature[kSignatureBytes];
};
static_assert(sizeof(Signature) == 74);

/// Of a key without a password; `check` is the hash of the mark, the id and the key.
struct Secret {
  char mark[2];
  char derivation[2];  ///< "Sc" where a password encrypts the rest.
  char check_mark[2];
  uint8_t salt[32];
  uint8_t limits[16];
  uint8_t id[8];
  uint8_t key[64];
  uint8_t check[32];
};
static_assert(sizeof(Secret) == 158);

/// The characters of n bytes, and the NUL.
constexpr size_t Base64Size(size_t bytes) { return (bytes + 2) / 3 * 4 + 1; }

}  // namespace skiff::minisign
