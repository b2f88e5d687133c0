/// Signed models: was this file made by the holder of a key? Link skiff_signature for it, which needs
/// libsodium; nothing else of Skiff does.
///
/// Keys and signatures are those of minisign: Ed25519 over the BLAKE2b hash of the file, in a file of its own
/// beside the model (net.skiff.minisig). `skiff sign` makes them, and so does `minisign -S`.
#pragma once

#include "skiff/span.h"
#include "skiff/status.h"

namespace skiff {

/// Whose signatures are believed. An application has it as a constant, not in a file beside the model.
struct PublicKey {
  uint8_t id[8] = {};
  uint8_t key[32] = {};
};

/// From the text of a key: the line "RW..." alone, or the file that has it below a comment. kInvalidArgument:
/// it is none.
Result<PublicKey> ParsePublicKey(const char* text);

/// Whether `signature`, the text of a signature file, is one of `bytes` by this key. kInvalidModel, with the
/// reason, where it is not: bytes that were changed, another key, a signature that is damaged, cut off or has
/// more than 64 KiB.
/// What is in the trusted comment is checked to be the signer's, and not looked at: a name in it is not
/// compared with the file's.
///
/// To use what was checked, open the same bytes: Model::Open(bytes).
Status VerifySignature(Span<const uint8_t> bytes, Span<const char> signature, const PublicKey& key);

/// The same for a file, and the signature beside it (`path` with ".minisig" behind it) or at another place.
/// kIo: one of them cannot be read. Whoever may write to the folder may change the file between this call and
/// Model::Open(path); where that is not the application alone, read the file, then check and open its bytes.
Status VerifySignedFile(const char* path, const PublicKey& key, const char* signature_path = nullptr);

}  // namespace skiff
