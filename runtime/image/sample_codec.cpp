#include "image/sample_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/half.h"
#include "image/pixel_rows.h"
#include "skiff/quantize.h"

namespace skiff {
namespace {

template <class Element>
void Scatter(const Element* table, const uint8_t* samples, uint32_t channels, uint32_t pixels, Element* to,
             size_t step) {
  for (uint32_t i = 0; i < pixels; ++i) to[i * step] = table[samples[size_t{i} * channels]];
}

template <class Element>
void ScatterElements(const void* from, uint32_t pixels, Element* to, size_t step) {
  for (uint32_t i = 0; i < pixels; ++i) to[i * step] = static_cast<const Element*>(from)[i];
}

bool IsPlainByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

}  // namespace

Status SampleCodec::Open(const PortInfo& port) {
  const ImageSpec& spec = port.image;
  const Quantization* quantization = port.quantization;
  const int channel_axis = spec.nhwc ? 3 : 1;
  if (quantization != nullptr && !quantization->per_tensor() &&
      (quantization->axis != channel_axis || quantization->block != 0 ||
       quantization->count < int64_t{spec.channels})) {
    return Fail(StatusCode::kInvalidArgument,
                "input '%s' has many scales along axis %d; a picture can have one, or one for each channel, "
                "along axis %d",
                port.name, quantization->axis, channel_axis);
  }
  if (quantization == nullptr && port.dtype != DType::kF32 && port.dtype != DType::kF16 &&
      !IsPlainByte(port.dtype)) {
    return Fail(StatusCode::kInvalidArgument,
                "input '%s' is %s, which pictures do not become; f32, f16, u8, i8 and quantised inputs are "
                "possible",
                port.name, DTypeName(port.dtype));
  }
  dtype_ = port.dtype;
  element_ = static_cast<size_t>(DTypeSize(dtype_));
  channels_ = spec.channels;
  bgr_ = spec.bgr;
  quantized_ = quantization != nullptr;
  for (uint32_t c = 0; c < channels_; ++c) {
    mean_[c] = spec.mean[c];
    scale_[c] = spec.scale[c];
    if (quantized_) {
      codes_[c].scale = quantization->ScaleAt(c);
      codes_[c].zero_point = quantization->ZeroPointAt(c);
    }
    if (!std::isfinite(mean_[c]) || !std::isfinite(scale_[c]))
      return Fail(StatusCode::kInvalidArgument, "input '%s': mean or scale of channel %u is not finite",
                  port.name, c);
    float reals[kSamples];
    for (int sample = 0; sample < kSamples; ++sample)
      reals[sample] = (static_cast<float>(sample) - mean_[c]) * scale_[c];
    SKIFF_RETURN_IF_ERROR(plain_integers() ? MakePlainTable(port, reals, c)
                                           : Encode(reals, kSamples, c, tables_[c]));
  }
  return OkStatus();
}

Status SampleCodec::MakePlainTable(const PortInfo& port, const float* reals, uint32_t channel) {
  constexpr float kNearlyWhole = 1e-3f;
  const float low = dtype_ == DType::kI8 ? -128 : 0;
  const float high = low + 255;
  for (int sample = 0; sample < kSamples; ++sample) {
    const float whole = std::nearbyint(reals[sample]);
    if (std::abs(whole - reals[sample]) > kNearlyWhole || whole < low || whole > high) {
      return Fail(
          StatusCode::kInvalidArgument,
          "input '%s' is %s, plain integers, and sample %d of channel %u becomes %g, which is none of "
          "%g to %g; %s",
          port.name, DTypeName(dtype_), sample, channel, static_cast<double>(reals[sample]),
          static_cast<double>(low), static_cast<double>(high),
          dtype_ == DType::kI8 ? "give mean 128 and scale 1" : "give neither mean nor scale");
    }
    tables_[channel][sample] = static_cast<uint8_t>(static_cast<int>(whole));
  }
  return OkStatus();
}

Status SampleCodec::Encode(const float* reals, size_t count, uint32_t channel, void* to) const {
  if (quantized_) {
    const Shape shape = {static_cast<int64_t>(count)};
    return QuantizeFloats(reals, TensorView(to, dtype_, shape, &codes_[channel]));
  }
  if (dtype_ == DType::kF32) {
    std::memcpy(to, reals, count * sizeof(float));
  } else {
    std::transform(reals, reals + count, static_cast<uint16_t*>(to), FloatToHalf);
  }
  return OkStatus();
}

void SampleCodec::Write(const uint8_t* samples, uint32_t pixels, const Place& to) const {
  for (uint32_t c = 0; c < channels_; ++c) {
    const uint8_t* from = samples + From(c);
    const size_t offset = c * to.channel_step;
    switch (element_) {
      case 1:
        Scatter(tables_[c], from, channels_, pixels, static_cast<uint8_t*>(to.first) + offset, to.pixel_step);
        break;
      case 2:
        Scatter(reinterpret_cast<const uint16_t*>(tables_[c]), from, channels_, pixels,
                static_cast<uint16_t*>(to.first) + offset, to.pixel_step);
        break;
      default:
        Scatter(reinterpret_cast<const uint32_t*>(tables_[c]), from, channels_, pixels,
                static_cast<uint32_t*>(to.first) + offset, to.pixel_step);
    }
  }
}

Status SampleCodec::Write(const float* samples, uint32_t pixels, const Place& to) {
  if (plain_integers()) {
    const size_t count = size_t{pixels} * channels_;
    SKIFF_RETURN_IF_ERROR(AtLeast(count, samples_));
    // Between samples of 0 to 255 lie no others.
    std::transform(samples, samples + count, samples_.data(),
                   [](float sample) { return static_cast<uint8_t>(std::nearbyint(sample)); });
    Write(samples_.data(), pixels, to);
    return OkStatus();
  }
  SKIFF_RETURN_IF_ERROR(AtLeast(pixels, reals_));
  SKIFF_RETURN_IF_ERROR(AtLeast(pixels, elements_));
  for (uint32_t c = 0; c < channels_; ++c) {
    for (uint32_t i = 0; i < pixels; ++i)
      reals_[i] = (samples[size_t{i} * channels_ + From(c)] - mean_[c]) * scale_[c];
    SKIFF_RETURN_IF_ERROR(Encode(reals_.data(), pixels, c, elements_.data()));
    const size_t offset = c * to.channel_step;
    switch (element_) {
      case 1:
        ScatterElements(elements_.data(), pixels, static_cast<uint8_t*>(to.first) + offset, to.pixel_step);
        break;
      case 2:
        ScatterElements(elements_.data(), pixels, static_cast<uint16_t*>(to.first) + offset, to.pixel_step);
        break;
      default:
        ScatterElements(elements_.data(), pixels, static_cast<uint32_t*>(to.first) + offset, to.pixel_step);
    }
  }
  return OkStatus();
}

}  // namespace skiff
