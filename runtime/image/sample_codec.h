/// From samples of 0..255 to the elements of an input.
#pragma once

#include "core/fixed_array.h"
#include "skiff/model.h"

namespace skiff {

class SampleCodec {
 public:
  /// Elements of one picture's row: `first` is channel 0 of its first pixel; steps in elements.
  struct Place {
    void* first = nullptr;
    size_t pixel_step = 0;
    size_t channel_step = 0;
  };

  /// For an input whose image settings fit its shape. kInvalidArgument where its elements cannot hold what
  /// the settings make of samples, with the reason.
  Status Open(const PortInfo& port);
  /// Channels interleaved, red first.
  void Write(const uint8_t* samples, uint32_t pixels, const Place& to) const;
  /// Samples between the whole numbers. Plain integers have them rounded first, half to even.
  Status Write(const float* samples, uint32_t pixels, const Place& to);

 private:
  static constexpr int kSamples = 256;
  bool plain_integers() const { return !IsFloat(dtype_) && !quantized_; }
  /// Which channel of a picture becomes the input's.
  uint32_t From(uint32_t channel) const { return bgr_ && channel < 3 ? 2 - channel : channel; }
  /// Real numbers of one channel, one after the other.
  Status Encode(const float* reals, size_t count, uint32_t channel, void* to) const;
  Status MakePlainTable(const PortInfo& port, const float* reals, uint32_t channel);

  DType dtype_ = DType::kInvalid;
  uint32_t channels_ = 0;
  size_t element_ = 0;  ///< Bytes.
  bool bgr_ = false;
  bool quantized_ = false;
  float mean_[4] = {};
  float scale_[4] = {};
  Quantization codes_[4];
  alignas(4) uint8_t tables_[4][kSamples * 4] = {};  ///< The element of each sample.
  FixedArray<float> reals_;
  FixedArray<uint32_t> elements_;
  FixedArray<uint8_t> samples_;
};

}  // namespace skiff
