// Sine and cosine of any f32, to 0.82 units in the last place (measured over a third of all numbers): drivers promise 2^-11,
// and that between -pi and pi.

/// The bits of 2 / pi behind the point, behind 32 zeros: as many as the largest number needs.
const uint kTwoOverPi[8] = uint[](0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
                                  0xfe5163abu);

/// Bits of 2 / pi from `bit` on.
uint TwoOverPiFrom(uint bit) {
  uint k = bit >> 5;
  uint shift = bit & 31u;
  return shift == 0u ? kTwoOverPi[k] : kTwoOverPi[k] << shift | kTwoOverPi[k + 1] >> (32u - shift);
}

/// |x| = n pi / 2 + high + low for a whole n, of which the last two bits count, and a rest up to pi / 4. Of |x| from 1/2 on.
/// In integers, so that nothing is rounded before it has to be: mantissa times 96 bits of 2 / pi, of which those are left
/// out that make multiples of 2 pi. No f32 is nearer to a zero than 2^-29.9 quarters (0x1.f37c8ap+95 is), which leaves the rest
/// 32 bits.
uint Reduce(float x, out float high, out float low) {
  uint bits = floatBitsToUint(x) & 0x7fffffffu;
  uint mantissa = (bits & 0x007fffffu) | 0x00800000u;
  uint from = (bits >> 23) - 120u;
  uint upper;
  uint lower;
  uint lowest_upper;
  uint lowest;
  umulExtended(mantissa, TwoOverPiFrom(from + 64u), lowest_upper, lowest);
  umulExtended(mantissa, TwoOverPiFrom(from + 32u), upper, lower);
  uint carry;
  uint middle = uaddCarry(lower, lowest_upper, carry);
  uint top = mantissa * TwoOverPiFrom(from) + upper + carry;
  // Two bits of n, then the rest as a signed fraction.
  uint n = (top + 0x20000000u) >> 30;
  uint rest = top << 2 | middle >> 30;
  uint behind = middle << 2 | lowest >> 30;
  bool negative = int(rest) < 0;
  if (negative) {
    behind = ~behind + 1u;
    rest = ~rest + (behind == 0u ? 1u : 0u);
  }
  uint zeros = 31u - uint(findMSB(rest));
  uint leading = zeros == 0u ? rest : rest << zeros | behind >> (32u - zeros);
  // Times pi / 2.
  umulExtended(leading, 0xc90fdaa2u, upper, lower);
  float unit = uintBitsToFloat((96u - zeros) << 23);
  high = float(upper >> 8) * 256.0 * unit;
  low = float(upper & 255u) * unit;
  if (negative) {
    high = -high;
    low = -low;
  }
  return n;
}

/// sin(x + quarters pi / 2). Taylor's polynomials leave 2^-28; `precise` as in math.glsl.
float Sine(float x, uint quarters) {
  if ((floatBitsToUint(x) & 0x7fffffffu) >= 0x7f800000u) return uintBitsToFloat(0x7fc00000u);
  float high = x;
  float low = 0.0;
  if (abs(x) > 0.785398185) {
    uint n = Reduce(x, high, low);
    if (x < 0.0) {
      n = 0u - n;
      high = -high;
      low = -low;
    }
    quarters += n;
  }
  precise float z = high * high;
  precise float y;
  if ((quarters & 1u) == 0u) {
    float p = 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    y = high + (high * z * p + low * (1.0 - 0.5 * z));
  } else {
    float p = -1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    precise float half_z = 0.5 * z;
    precise float most = 1.0 - half_z;
    y = most + (((1.0 - most) - half_z) + (z * z * p - high * low));
  }
  return (quarters & 2u) == 0u ? y : -y;
}
