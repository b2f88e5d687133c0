/// What a model gets, as the command line says it.
#pragma once

#include "arguments.h"
#include "sizes.h"

/// The number of the port of that name; -1, after a message that lists the names, where there is none.
int PortIndex(skiff::Span<const skiff::PortInfo> ports, const char* name, int name_length);

/// Fills the session's inputs from files, or with a pattern where there are none; `sizes` are then those of
/// the call. False after a message.
bool SetInputs(const Arguments& arguments, Sizes* sizes, skiff::Session& session);
