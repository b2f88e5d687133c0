// Random: numbers of the counter-based generator Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random
// Numbers: As Easy as 1, 2, 3; 2011). Element i is a function of the seed, the stream, the run and i: no
// order of computation and no machine changes it. So the functions behind normal numbers are made of exactly
// rounded steps here; a C library's differ.
#include <algorithm>
#include <bit>
#include <cmath>

#include "eager/kernels.h"
#include "eager/kernels/dispatch.h"

namespace skiff {
namespace {

using namespace eager;

struct Block {
  uint32_t words[4];
};

Block Philox(Block counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter.words[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter.words[2];
    counter = {{static_cast<uint32_t>(b >> 32) ^ counter.words[1] ^ key0, static_cast<uint32_t>(b),
                static_cast<uint32_t>(a >> 32) ^ counter.words[3] ^ key1, static_cast<uint32_t>(a)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// Of a number in (0, 1].
double Logarithm(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double fraction = std::bit_cast<double>((bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1023} << 52));
  if (fraction > 1.4142135623730951) {
    fraction /= 2;
    ++exponent;
  }
  // 2 artanh(s), of |s| < 0.172.
  const double s = (fraction - 1) / (fraction + 1);
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * (s * s) + 1.0 / k;
  return static_cast<double>(exponent) * 0.6931471805599453 + 2 * s * sum;
}

/// The cosine and the sine of `turns`, in [0, 1), whole turns.
void CosineAndSine(double turns, double* cosine, double* sine) {
  const auto quarter = static_cast<int>(std::floor(turns * 4 + 0.5));
  const double angle = (turns - quarter * 0.25) * 6.283185307179586;
  const double square = angle * angle;
  double c = 0;
  double s = 0;
  for (int k = 18; k >= 2; k -= 2) {
    c = (1 - c) * square / (k * (k - 1));
    s = (1 - s) * square / (k * (k + 1));
  }
  c = 1 - c;
  s = (1 - s) * angle;
  const double across[] = {c, -s, -c, s};
  *cosine = across[quarter & 3];
  *sine = across[(quarter + 3) & 3];
}

struct Draws {
  const RandomAttrs& attrs;
  uint64_t run;

  Block At(uint64_t block) const {
    return Philox({{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                    static_cast<uint32_t>(run), static_cast<uint32_t>(attrs.stream)}},
                  static_cast<uint32_t>(attrs.seed),
                  static_cast<uint32_t>(static_cast<uint64_t>(attrs.seed) >> 32));
  }

  /// Elements [4 block, 4 block + 4): a number of as many bits as the dtype holds exactly, so that none
  /// rounds to 1. Of f64 a word has 32 bits, and 21 more are those of a second block.
  void Uniform(uint64_t block, DType dtype, double* numbers) const {
    const Block high = At(block);
    const Block low = dtype == DType::kF64 ? At(block | (uint64_t{1} << 63)) : Block();
    const auto low_end = static_cast<double>(attrs.low);
    const double range = static_cast<double>(attrs.high) - low_end;
    for (int i = 0; i < 4; ++i) {
      double unit = 0;
      if (dtype == DType::kF64) {
        unit = (static_cast<double>(high.words[i]) + static_cast<double>(low.words[i] >> 11) * 0x1p-21) *
               0x1p-32;
      } else {
        const int bits = dtype == DType::kF32 ? 24 : 11;
        unit = std::ldexp(static_cast<double>(high.words[i] >> (32 - bits)), -bits);
      }
      numbers[i] = low_end + unit * range;
    }
  }

  /// Two pairs after Box and Muller.
  void Normal(uint64_t block, double* numbers) const {
    const Block drawn = At(block);
    for (int i = 0; i < 4; i += 2) {
      const double radius = std::sqrt(-2 * Logarithm((static_cast<double>(drawn.words[i]) + 1) * 0x1p-32));
      double cosine = 0;
      double sine = 0;
      CosineAndSine(static_cast<double>(drawn.words[i + 1]) * 0x1p-32, &cosine, &sine);
      const auto mean = static_cast<double>(attrs.mean);
      const auto deviation = static_cast<double>(attrs.deviation);
      numbers[i] = mean + deviation * (radius * cosine);
      numbers[i + 1] = mean + deviation * (radius * sine);
    }
  }
};

}  // namespace

Status KernelRandom(const KernelArgs& args) {
  const TensorView& out = args.outputs[0];
  const auto& attrs = args.As<RandomAttrs>();
  const Draws draws{attrs, args.Has(1) ? static_cast<uint64_t>(*args.inputs[1].as<const int64_t>()) : 0};
  const StoreFn<double> store = Storer<double>(out.dtype);
  if (store == nullptr) return UnsupportedDType(args.op, out.dtype);
  double numbers[4];
  for (int64_t done = 0; done < out.shape.elements(); done += 4) {
    const auto block = static_cast<uint64_t>(done / 4);
    if (attrs.distribution == Distribution::kUniform) {
      draws.Uniform(block, out.dtype, numbers);
    } else {
      draws.Normal(block, numbers);
    }
    store(out.data, done, std::min<int64_t>(4, out.shape.elements() - done), numbers);
  }
  return OkStatus();
}

}  // namespace skiff
