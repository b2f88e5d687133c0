/// What a model gets, as the command line says it.
#pragma once

#include "arguments.h"

/// The number of the port of that name; -1, after a message that lists the names, where there is none.
int PortIndex(skiff::Span<const skiff::PortInfo> ports, const char* name, int name_length);

/// Fills the session's inputs from files, or with a pattern where there are none. False after a message.
bool SetInputs(const Arguments& arguments, const skiff::Model& model, skiff::Session& session);
