/// Calls with arguments that a Session has to refuse.
#pragma once

#include "skiff/model.h"
#include "skiff/session.h"

namespace skiff::testing {

/// Sessions of options that no model allows.
void MisuseOptions(Model& model);

/// Inputs, outputs, buffers and variables of names, types, shapes and memory that are not this Session's.
/// Some of its inputs may be set to empty tensors afterwards.
void MisuseSession(const Model& model, Session& session);

}  // namespace skiff::testing
