/// Keys and signatures in minisign's files, as `skiff sign` writes them (skiff/signature.h reads them).
#pragma once

#include <string>
#include <string_view>

#include "signature/minisign.h"

namespace skiff::cli {

/// A secret key, wiped when it ends.
class SecretKey {
 public:
  /// A new one, of random bytes.
  SecretKey();
  /// Throws Error: kIo, kInvalidArgument (damaged, no such key), kUnsupported (a password encrypts it).
  explicit SecretKey(const std::string& path);
  ~SecretKey();
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;

  /// Of the file that has the secret key; others must not read it.
  std::string SecretText() const;
  /// The line that verifies what this key signs: "RW...".
  std::string PublicLine() const;
  /// The signature file for these bytes. The same for the same bytes and comment.
  std::string Sign(std::string_view bytes, const std::string& trusted_comment) const;

 private:
  void SetCheck(uint8_t* check) const;

  minisign::Secret secret_ = {};
};

}  // namespace skiff::cli
