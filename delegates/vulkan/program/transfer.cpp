#include "delegates/vulkan/program/transfer.h"

#include <cstring>

#include "core/half.h"
#include "delegates/vulkan/program/program.h"

namespace skiff::vulkan {
namespace {

/// Rows of equal types are copied; others are converted one element at a time.
template <class From, class To, class Convert>
void ConvertRow(const unsigned char* from, unsigned char* to, int64_t count, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    const To converted = convert(value);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(To)), &converted, sizeof(To));
  }
}

using RowFn = void (*)(const unsigned char* from, unsigned char* to, int64_t count);

template <int64_t kBytes>
void CopyRow(const unsigned char* from, unsigned char* to, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count * kBytes));
}
void WidenHalf(const unsigned char* from, unsigned char* to, int64_t count) {
  ConvertRow<uint16_t, float>(from, to, count, HalfToFloat);
}
void NarrowFloat(const unsigned char* from, unsigned char* to, int64_t count) {
  ConvertRow<float, uint16_t>(from, to, count, FloatToHalf);
}
void WidenByte(const unsigned char* from, unsigned char* to, int64_t count) {
  ConvertRow<uint8_t, uint32_t>(from, to, count, [](uint8_t value) { return uint32_t{value}; });
}
void NarrowWord(const unsigned char* from, unsigned char* to, int64_t count) {
  ConvertRow<uint32_t, uint8_t>(from, to, count, [](uint32_t value) { return static_cast<uint8_t>(value); });
}

struct Row {
  DType dtype;
  bool f16;  ///< Storage; integers have one row for both.
  RowFn to_device;
  RowFn from_device;
};

constexpr Row kRows[] = {
    {DType::kF32, false, CopyRow<4>, CopyRow<4>}, {DType::kF32, true, NarrowFloat, WidenHalf},
    {DType::kF16, false, WidenHalf, NarrowFloat}, {DType::kF16, true, CopyRow<2>, CopyRow<2>},
    {DType::kI64, false, CopyRow<8>, CopyRow<8>}, {DType::kU64, false, CopyRow<8>, CopyRow<8>},
    {DType::kI32, false, CopyRow<4>, CopyRow<4>}, {DType::kU32, false, CopyRow<4>, CopyRow<4>},
    {DType::kBool, false, WidenByte, NarrowWord}, {DType::kU8, false, CopyRow<1>, CopyRow<1>},
    {DType::kI8, false, CopyRow<1>, CopyRow<1>},
};

const Row* FindRow(DType dtype, bool f16) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype && row.f16 == (f16 && IsFloat(dtype))) return &row;
  }
  return nullptr;
}

/// visit(host row, device row, elements) for each row; a dense tensor is one row.
template <class Visit>
void ForEachRow(const TensorView& host, uint32_t device_bytes, Visit&& visit) {
  const int64_t elements = host.shape.elements();
  const int64_t length = host.dense() ? elements : host.shape.last();
  const int64_t host_step = host.row_stride * DTypeSize(host.dtype);
  for (int64_t row = 0; row < elements / length; ++row)
    visit(host.as<unsigned char>() + row * host_step, row * length * device_bytes, length);
}

}  // namespace

uint32_t DeviceBytes(DType dtype, bool f16) {
  if (FindRow(dtype, f16) == nullptr) return 0;
  if (IsFloat(dtype)) return f16 ? 2 : 4;
  return dtype == DType::kBool ? 4 : static_cast<uint32_t>(DTypeSize(dtype));
}

// Of what is empty the device need not know the type.
void ToDevice(const TensorView& host, bool f16, unsigned char* device) {
  if (host.shape.elements() == 0) return;
  const RowFn convert = FindRow(host.dtype, f16)->to_device;
  ForEachRow(host, DeviceBytes(host.dtype, f16),
             [&](unsigned char* row, int64_t at, int64_t count) { convert(row, device + at, count); });
}

void FromDevice(const unsigned char* device, bool f16, const TensorView& host) {
  if (host.shape.elements() == 0) return;
  const RowFn convert = FindRow(host.dtype, f16)->from_device;
  ForEachRow(host, DeviceBytes(host.dtype, f16),
             [&](unsigned char* row, int64_t at, int64_t count) { convert(device + at, row, count); });
}

}  // namespace skiff::vulkan
