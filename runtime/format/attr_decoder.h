/// Attributes out of the file. The encoder is converter/emit/attr_encoder.h.
#pragma once

#include "model_generated.h"
#include "ops/op.h"

namespace skiff {

/// Overwrites the defaults in `attrs` by what the file has. False for an unknown or repeated tag, a value of
/// the wrong kind or count, or an enumeration out of range.
bool DecodeAttrs(OpCode op, const flatbuffers::Vector<flatbuffers::Offset<format::Attr>>* from,
                 AttrStorage& attrs);

}  // namespace skiff
