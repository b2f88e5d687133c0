#include "skiff/variables.h"

#include <cstring>

#include "core/align.h"
#include "core/extents.h"
#include "core/features.h"
#include "core/fixed_array.h"
#include "core/platform.h"
#include "session/memory_limit.h"

namespace skiff {

struct Variables::Internals {
  const Model* model = nullptr;
  unsigned char* memory = nullptr;
  uint64_t bytes = 0;
  FixedArray<uint64_t> offsets;

  ~Internals() { platform::FreeAligned(memory); }
  /// None where the build leaves variables out.
  Span<const VariableInfo> all() const {
    return BuildHas(Feature::kVariables) ? model->variables() : Span<const VariableInfo>();
  }
  int Find(const char* name) const {
    for (size_t i = 0; name != nullptr && i < all().size(); ++i) {
      if (std::strcmp(all()[i].name, name) == 0) return static_cast<int>(i);
    }
    return -1;
  }
  TensorView View(int index) const {
    TensorView view = all()[static_cast<size_t>(index)].initial;
    view.data = memory + offsets[static_cast<size_t>(index)];
    return view;
  }
};

Variables::Variables(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {}
Variables::~Variables() = default;

Result<std::unique_ptr<Variables>> Variables::Create(const Model& model, uint64_t memory_limit) {
  std::unique_ptr<Internals> made(new (std::nothrow) Internals);
  if (!made) return Fail(StatusCode::kOutOfMemory, "cannot allocate the variables");
  made->model = &model;
  SKIFF_RETURN_IF_ERROR(made->offsets.Allocate(made->all().size()));
  for (size_t i = 0; i < made->offsets.size(); ++i) {
    made->offsets[i] = made->bytes;
    made->bytes = SaturatingAdd(
        made->bytes, AlignUp(static_cast<uint64_t>(made->all()[i].initial.bytes()) + kReadableTail));
  }
  // Several may have one value of the file.
  SKIFF_RETURN_IF_ERROR(
      CheckMemoryLimit(made->bytes, MemoryLimitOf(model, memory_limit), "the memory of the variables"));
  made->memory = static_cast<unsigned char*>(platform::AllocateAligned(made->bytes));
  std::unique_ptr<Variables> variables;
  if (made->memory != nullptr) variables.reset(new (std::nothrow) Variables(std::move(made)));
  if (!variables) return Fail(StatusCode::kOutOfMemory, "cannot allocate the variables");
  std::memset(variables->internals_->memory, 0, variables->internals_->bytes);
  variables->Reset();
  return variables;
}

void Variables::Reset() {
  const Span<const VariableInfo> all = internals_->all();
  for (size_t i = 0; i < all.size(); ++i) {
    const auto bytes = static_cast<size_t>(all[i].initial.bytes());
    if (bytes > 0) std::memcpy(data(static_cast<int>(i)), all[i].initial.data, bytes);
  }
}

Result<TensorView> Variables::Get(const char* name) const {
  const int index = internals_->Find(name);
  if (index < 0) return Fail(StatusCode::kInvalidArgument, "the model has no variable '%s'", name);
  return internals_->View(index);
}

Status Variables::Set(const char* name, const ConstTensorView& value) {
  SKIFF_ASSIGN_OR_RETURN(const TensorView place, Get(name));
  if (value.dtype != place.dtype || !(value.shape == place.shape) || !value.dense()) {
    return Fail(StatusCode::kInvalidArgument, "variable '%s' is %s %s and cannot become %s %s", name,
                DTypeName(place.dtype), ShapeText(place.shape).c_str(), DTypeName(value.dtype),
                ShapeText(value.shape).c_str());
  }
  const auto bytes = static_cast<size_t>(value.bytes());
  if (bytes == 0) return OkStatus();
  if (value.data == nullptr)
    return Fail(StatusCode::kInvalidArgument, "the value for variable '%s' has no data", name);
  std::memcpy(place.data, value.data, bytes);
  return OkStatus();
}

const Model& Variables::model() const { return *internals_->model; }
void* Variables::data(int index) const { return internals_->View(index).data; }
uint64_t Variables::bytes() const { return internals_->bytes; }

}  // namespace skiff
