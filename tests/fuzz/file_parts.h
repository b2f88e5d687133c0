/// Takes .skiff files apart and puts changed ones together.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "format/container.h"
#include "model_generated.h"

namespace skiff::testing {

/// A file taken apart: the FlatBuffer part, and the weights behind it.
struct Parts {
  std::vector<uint8_t> flatbuffer;
  std::vector<uint8_t> weights;

  explicit Parts(const std::vector<uint8_t>& file) {
    format::FileHeader header;
    std::memcpy(&header, file.data(), sizeof(header));
    flatbuffer.assign(file.begin() + static_cast<long>(header.model_offset),
                      file.begin() + static_cast<long>(header.model_offset + header.model_size));
    weights.assign(file.begin() + static_cast<long>(header.weights_offset), file.end());
  }

  std::unique_ptr<format::ModelT> Unpack() const { return format::UnPackModel(flatbuffer.data()); }

  std::vector<uint8_t> Assemble(const uint8_t* model, size_t model_size) const {
    format::FileHeader header = {};
    std::memcpy(header.magic, format::kMagic, sizeof(header.magic));
    header.container_version = 1;
    header.model_offset = sizeof(header);
    header.model_size = model_size;
    header.weights_offset = format::AlignUp(sizeof(header) + model_size);
    header.weights_size = weights.size() - format::kAlignment;
    header.file_size = header.weights_offset + weights.size();
    std::vector<uint8_t> file(header.file_size);
    std::memcpy(file.data(), &header, sizeof(header));
    std::memcpy(file.data() + sizeof(header), model, model_size);
    std::memcpy(file.data() + header.weights_offset, weights.data(), weights.size());
    return file;
  }

  std::vector<uint8_t> Assemble(const format::ModelT& model) const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::Model::Pack(builder, &model), format::ModelIdentifier());
    return Assemble(builder.GetBufferPointer(), builder.GetSize());
  }
};

}  // namespace skiff::testing
