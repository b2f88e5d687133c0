#include "emit/blob_table.h"

#include "emit/plan_draft.h"
#include "format/container.h"

namespace skiff {

int32_t BlobTable::Add(const TensorView& view, const ContentHash& hash, const std::optional<WideForm>& form) {
  const auto size = static_cast<uint64_t>(view.bytes());
  const Key key(hash.low, hash.high, size);
  const auto [begin, end] = index_.equal_range(key);
  for (auto known = begin; known != end; ++known) {
    std::optional<WideForm>& own = forms_[static_cast<size_t>(known->second)];
    if (form && own && !(*form == *own)) continue;
    if (form) own = form;
    return known->second;
  }
  const auto index = static_cast<int32_t>(blobs_.size());
  index_.emplace(key, index);
  blobs_.emplace_back(bytes_, size, hash.low, hash.high);
  forms_.push_back(form);
  data_.push_back(static_cast<const uint8_t*>(view.data));
  bytes_ = format::AlignUp(bytes_ + size);
  return index;
}

int32_t BlobTable::AddCopy(const TensorData& data, const std::optional<WideForm>& form) {
  copies_.push_back(data);
  return Add(data.view(), HashOf(data), form);
}

}  // namespace skiff
