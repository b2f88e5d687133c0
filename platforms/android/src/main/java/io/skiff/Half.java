package io.skiff;

/** IEEE 754 half precision, for which Java 8 has no type: 16 bits in a short. */
final class Half {
  private static final int INFINITY = 0x7c00;
  private static final int MANTISSA_BITS = 10;
  /** The bits of a float's mantissa that a half has not. */
  private static final int DROPPED = 13;
  /** Of 2^-24, the least half above 0. */
  private static final float LEAST = 0x1p-24f;

  private Half() {}

  /** Exact: each half is a float. */
  static float toFloat(short half) {
    int magnitude = half & 0x7fff;
    int sign = (half & 0x8000) << 16;
    if (magnitude >= INFINITY)
      return Float.intBitsToFloat(sign | 0x7f800000 | (magnitude & 0x3ff) << DROPPED);
    if (magnitude < 1 << MANTISSA_BITS)
      return Float.intBitsToFloat(sign | Float.floatToRawIntBits(magnitude * LEAST));
    return Float.intBitsToFloat(sign | ((magnitude << DROPPED) + (127 - 15 << 23)));
  }

  /** The nearest half, the even one of two; infinity from 65520 on. */
  static short ofFloat(float value) {
    int bits = Float.floatToRawIntBits(value);
    int sign = bits >>> 16 & 0x8000;
    float magnitude = Float.intBitsToFloat(bits & 0x7fffffff);
    if (Float.isNaN(value))
      return (short) (sign | INFINITY | 0x200 | bits >>> DROPPED & 0x1ff);
    if (magnitude >= 65520)
      return (short) (sign | INFINITY);
    // Below the least normal number halves are equally far apart. The quotient is exact.
    if (magnitude < 0x1p-14f)
      return (short) (sign | (int) Math.rint(magnitude / LEAST));
    int exact = Float.floatToRawIntBits(magnitude) - (127 - 15 << 23);
    int odd = exact >>> DROPPED & 1;
    return (short) (sign | exact + (1 << DROPPED - 1) - 1 + odd >>> DROPPED);
  }
}
