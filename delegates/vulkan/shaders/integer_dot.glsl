// Four products of codes and their sum in one instruction of SPV_KHR_integer_dot_product, which this GLSL has no name for.
//
// A sum of (x - zero of x)(w - zero of w) is that of x * w, less the zero of x times the sum of (w - zero of w), which
// lies behind the weights, less the zero of w times the sum of x. All of it is exact modulo 2^32, and the result fits.

spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int SignedDot(uint a, uint b, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4451)
uint UnsignedDot(uint a, uint b, spirv_literal int format);
/// The first operand is signed.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4452)
int MixedDot(uint a, uint b, spirv_literal int format);

/// A device may be fast at some of them only: codes become those of the other sign, with a zero point 128 further.
const bool kFlipsX = (kHints & 2u) != 0u;
const bool kFlipsW = (kHints & 4u) != 0u;
/// Zero points of the weights, as they are multiplied, are not all 0.
const bool kHasZeros = (kHints & 8u) != 0u;
const bool kSignedX = (kX == kI8) != kFlipsX;
const bool kSignedW = (kW == kI8) != kFlipsW;

uint XWordAt(uint first) { return kFlipsX ? WordAt(first) ^ 0x80808080u : WordAt(first); }
uint Multiplied(uint w) { return kFlipsW ? w ^ 0x80808080u : w; }
uvec4 Multiplied(uvec4 w) { return kFlipsW ? w ^ 0x80808080u : w; }
int MovedZero(int zero, uint kind) { return kind == kI8 ? zero + 128 : zero - 128; }
int XZero() { return kFlipsX ? MovedZero(p.x_zero, kX) : p.x_zero; }
int WZeroOf(uint channel) { return kFlipsW ? MovedZero(ZeroOf(channel), kW) : ZeroOf(channel); }

/// Where they begin among `channels` that are neighbours: words, or fours of them with a quarter of the channels.
uint SumsOfWeights(uint channels) { return p.kernel_height * p.kernel_width * ((p.depth + 3) / 4) * channels; }

int Dot(uint x, uint w) {
  int sum;
  if (kSignedX) {
    sum = kSignedW ? SignedDot(x, w, 0) : MixedDot(x, w, 0);
  } else {
    sum = kSignedW ? MixedDot(w, x, 0) : int(UnsignedDot(x, w, 0));
  }
  return sum;
}
int SumOfLanes(uint x) { return Dot(x, 0x01010101u); }
