/// A verified model: what the FlatBuffer says, decoded once into plain structs whose every index, offset and
/// size has been checked. Strings and extents point into the copied FlatBuffer part, constants into the
/// mapped weights or, where these are narrower than kernels read them, to widened ones.
#pragma once

#include "format/wide_weights.h"
#include "plan/plan_data.h"
#include "skiff/quantization.h"

namespace skiff {

struct SignatureData {
  const char* name = "";
  FixedArray<PortInfo> inputs;
  FixedArray<PortInfo> outputs;
  FixedArray<FixedArray<const char*>> labels;  ///< One list per output.
  FixedArray<PlanData> plans;

  /// The ports of the caller come first; those of variables follow.
  size_t input_count = 0;
  size_t output_count = 0;
  Span<const PortInfo> caller_inputs() const { return {inputs.data(), input_count}; }
  Span<const PortInfo> caller_outputs() const { return {outputs.data(), output_count}; }
};

struct MetadataEntry {
  const char* key = "";
  const char* value = "";
};

struct ModelData {
  FixedArray<uint64_t> flatbuffer;  ///< The copy; words, so that it is aligned.
  FixedArray<SignatureData> signatures;
  FixedArray<SymbolInfo> symbols;
  FixedArray<VariableInfo> variables;
  FixedArray<Quantization> quantizations;
  WideWeights wide_weights;
  FixedArray<MetadataEntry> metadata;
  uint32_t format_version = 0;
  const char* producer = "";
  uint64_t file_bytes = 0;
  uint64_t model_bytes = 0;
  uint64_t weights_bytes = 0;
  uint64_t weights_id = 0;  ///< Over the hashes of all weights.
  uint32_t features = 0;    ///< FeatureBit() of those that it needs.
};

/// Verifies and decodes a whole .skiff file that lies at `file`; constants will point into it, so it must
/// outlive the result. Every failure is kInvalidModel (or kUnsupported for a newer format, kOutOfMemory) with
/// a sentence in the log that begins with `name`.
/// Nodes point to the custom operators, which must outlive the result as well.
Status ReadModel(const char* name, Span<const uint8_t> file, Span<const CustomOperator> custom_operators,
                 ModelData* model);

}  // namespace skiff
