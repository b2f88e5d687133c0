/// Elements between the host's layout and the device's: floats change to the storage type, bool is widened,
/// rows with gaps become dense.
#pragma once

#include "skiff/tensor.h"

namespace skiff::vulkan {

/// `device` has shape.elements() elements of DeviceBytes(dtype, f16).
void ToDevice(const TensorView& host, bool f16, unsigned char* device);
void FromDevice(const unsigned char* device, bool f16, const TensorView& host);

}  // namespace skiff::vulkan
