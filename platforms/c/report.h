/// What every function of the C API does with errors, and how it finds ports.
#pragma once

#include <cstdio>
#include <optional>

#include "core/error_capture.h"
#include "platforms/c/arguments.h"

namespace skiff {

/// Makes a call whose failure's sentence goes to the caller's buffer, where there is one.
template <class Call>
SkiffStatus Report(char* message, size_t message_size, const Call& call) {
  std::optional<ErrorCapture> capture;
  const bool captures = message != nullptr && message_size > 0;
  if (captures) {
    message[0] = '\0';
    capture.emplace();
  }
  const Status status = call();
  if (captures && !status.ok()) {
    const bool said = capture->message()[0] != '\0';
    std::snprintf(message, message_size, "%s", said ? capture->message() : StatusCodeName(status.code()));
  }
  return static_cast<SkiffStatus>(status.code());
}

/// The inputs or outputs of a signature; none when there is no such signature.
inline Span<const PortInfo> Ports(const SkiffModel* model, int32_t signature,
                                  Span<const PortInfo> SignatureInfo::*side) {
  if (signature < 0 || signature >= skiff_model_signature_count(model)) return {};
  return Cpp(model)->signature(signature).*side;
}

/// Null when there is no such port.
inline const PortInfo* PortAt(Span<const PortInfo> ports, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < ports.size() ? &ports[static_cast<size_t>(index)]
                                                                 : nullptr;
}

/// The port, or kInvalidArgument that says which model, signature or port there is not.
Status FindPort(const SkiffModel* model, int32_t signature, int32_t index,
                Span<const PortInfo> SignatureInfo::*side, const PortInfo** port);

}  // namespace skiff
