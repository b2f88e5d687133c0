/// Attributes into the file: the counterpart of runtime/format/attr_decoder.h.
#pragma once

#include <vector>

#include "model_generated.h"
#include "ops/op.h"

namespace skiff {

/// One Attr per field whose value is not the default.
std::vector<flatbuffers::Offset<format::Attr>> EncodeAttrs(flatbuffers::FlatBufferBuilder& builder, OpCode op,
                                                           const AttrStorage& attrs);

/// How many these are.
size_t CountEncodedAttrs(OpCode op, const AttrStorage& attrs);

}  // namespace skiff
