// Elementary functions to a few units in the last place: what drivers promise for their own is too little.

/// The leading 12 bits, to nearest, so that what is left has 12 as well.
float UpperOf(float v) { return uintBitsToFloat((floatBitsToUint(v) + 0x800u) & 0xfffff000u); }

/// a - q * b, where that is small against a: products of halves are exact, and so are the differences.
float RestOf(float a, float q, float b) {
  float q_upper = UpperOf(q);
  float b_upper = UpperOf(b);
  precise float rest = a - q_upper * b_upper;
  rest = rest - (q - q_upper) * b_upper;
  rest = rest - q_upper * (b - b_upper);
  rest = rest - (q - q_upper) * (b - b_upper);
  return rest;
}

/// The float next to a / b, as CPUs have it (but where two are equally near to 2^-20 of their distance): drivers promise
/// 2.5 units. Where a's bits, or products of them, leave f32, the driver's.
float Quotient(float a, float b) {
  float q = a / b;
  if (!(abs(a) > 1e-20 && abs(a) < 1e35)) return q;
  precise float nearest = q + RestOf(a, q, b) / b;
  return nearest;
}

/// 2^n for n in [-126, 127].
float PowerOfTwo(int n) { return uintBitsToFloat(uint(n + 127) << 23); }

/// e^r - 1 for |r| <= 0.35: Taylor.
float ExpMinusOneNearZero(float r) {
  float p = 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  return p * r * r + r;
}

/// x = n ln 2 + r. The high part of ln 2 has few bits, so that its multiples are exact. `precise` here and below: a
/// compiler that adds the parts of a constant together undoes what they are for.
float ReduceByLn2(float x, out int n) {
  float k = roundEven(x * 1.44269504);
  n = int(k);
  precise float r = x - k * 0.693359375;
  r = r + k * 2.12194440e-4;
  return r;
}

float Exp(float x) {
  if (IsNaN(x)) return x;
  float bounded = clamp(x, -105.0, 89.0);
  int n;
  float r = ReduceByLn2(bounded, n);
  int half_n = n / 2;
  return (ExpMinusOneNearZero(r) + 1.0) * PowerOfTwo(half_n) * PowerOfTwo(n - half_n);
}

float ExpMinusOne(float x) {
  if (IsNaN(x) || x > 88.0) return Exp(x);
  int n;
  float r = ReduceByLn2(max(x, -30.0), n);
  float scale = PowerOfTwo(n);
  return ExpMinusOneNearZero(r) * scale + (scale - 1.0);
}

/// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)], by the series of the area tangent.
float LogNearOne(float f) {
  float s = f / (2.0 + f);
  float z = s * s;
  float p = 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  p = p * z + 2.0 / 3.0;
  // 2 s = f - s f: what is rounded is then small against f.
  return f - s * (f - z * p);
}

float Log(float x) {
  if (IsNaN(x) || x < 0.0) return uintBitsToFloat(0x7fc00000u);
  if (x == 0.0) return -kInfinity;
  if (x == kInfinity) return x;
  int n = 0;
  if (x < 1.17549435e-38) {
    x *= 8388608.0;
    n = -23;
  }
  uint bits = floatBitsToUint(x);
  n += int(bits >> 23) - 127;
  float m = uintBitsToFloat((bits & 0x007fffffu) | 0x3f800000u);
  if (m > 1.41421356) {
    m *= 0.5;
    n += 1;
  }
  float k = float(n);
  precise float low = LogNearOne(m - 1.0) - k * 2.12194440e-4;
  precise float sum = k * 0.693359375 + low;
  return sum;
}

/// log(1 + x) for x in [0, 1].
float LogOnePlus(float x) {
  if (x <= 0.41421356) return LogNearOne(x);
  return Log(1.0 + x);
}

float Tanh(float x) {
  float t = ExpMinusOne(min(2.0 * abs(x), 40.0));
  float y = t / (t + 2.0);
  return IsNaN(x) ? x : (x < 0.0 ? -y : y);
}

float Sigmoid(float x) { return 1.0 / (1.0 + Exp(-x)); }

/// Of x >= 0. Below 1 a series; above, the complement by its continued fraction.
float Erf(float x) {
  float a = abs(x);
  float y;
  if (IsNaN(x)) return x;
  if (a < 1.5) {
    // 2 / sqrt(pi) * sum of (-1)^k x^(2k+1) / (k! (2k+1)), as x e^(-x^2) * sum of 2^k x^(2k) / (2k+1)!!: all
    // terms are positive, so that nothing cancels.
    float z = 2.0 * a * a;
    float sum = 1.0;
    [[unroll]] for (int k = 16; k >= 1; --k) sum = 1.0 + sum * z / float(2 * k + 1);
    y = 1.12837917 * a * Exp(-a * a) * sum;
  } else {
    float f = 0.0;
    [[unroll]] for (int k = 24; k >= 1; --k) f = 0.5 * float(k) / (a + f);
    y = a > 4.0 ? 1.0 : 1.0 - Exp(-a * a) / (a + f) * 0.564189584;
  }
  return x < 0.0 ? -y : y;
}
