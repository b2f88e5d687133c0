package io.skiff;

import java.util.Arrays;
import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/**
 * How the integers of an input or output stand for real numbers: real = scale * (integer - zero point). One
 * scale for all elements; or, along {@link #axis()}, one for each index (block 0) or one for each run of
 * {@link #block()} neighbours, separately at every index of the other axes. Immutable.
 *
 * <pre>{@code
 * Quantization quantization = signature.input("image").quantization();
 * ByteBuffer input = session.inputBuffer("image");
 * for (float value : values) input.put((byte) quantization.toInteger(value));
 * }</pre>
 */
public final class Quantization {
  /** The axis where all elements have the same scale. */
  public static final int PER_TENSOR = -1;
  /** What Native.portQuantization() gives before the zero points: the axis and the block. */
  static final int HEAD = 2;

  private final long[] numbers;
  private final float[] scales;
  private final long low;
  private final long high;

  Quantization(DType dtype, long[] numbers, float[] scales) {
    this.numbers = numbers;
    this.scales = scales;
    long values = 1L << dtype.bits();
    low = dtype.isSigned() ? -values / 2 : 0;
    high = low + values - 1;
  }

  /**
   * {@link #PER_TENSOR}: one scale for all elements.
   *
   * @return the axis
   */
  public int axis() {
    return (int) numbers[0];
  }

  /**
   * How many neighbours along the axis share a scale; 0: each index has its own.
   *
   * @return the length of a block
   */
  public long block() {
    return numbers[1];
  }

  /**
   * A copy: one of all elements, or those along the axis. Scales of blocks are row-major.
   *
   * @return the scales
   */
  public float @NotNull[] scales() {
    return scales.clone();
  }

  /**
   * As many as there are scales.
   *
   * @return the zero points
   */
  public int @NotNull[] zeroPoints() {
    int[] zeroPoints = new int[scales.length];
    for (int i = 0; i < zeroPoints.length; ++i) zeroPoints[i] = (int) numbers[HEAD + i];
    return zeroPoints;
  }

  /**
   * Of all elements.
   *
   * @return the scale
   * @throws IllegalStateException where there is an axis
   */
  public float scale() {
    return scales[only()];
  }

  /**
   * The integer that stands for 0. Of all elements.
   *
   * @return the zero point
   * @throws IllegalStateException where there is an axis
   */
  public int zeroPoint() {
    return (int) numbers[HEAD + only()];
  }

  /**
   * What an integer stands for. Unsigned ones come as they are meant: {@code bytes.get() & 0xff} of {@link
   * DType#U8}.
   *
   * @param integer as the tensor holds it
   * @return the real number
   * @throws IllegalStateException where there is an axis
   */
  public float toReal(int integer) {
    return toReal(integer, only());
  }

  /**
   * The same by one of the {@link #scales()}.
   *
   * @param integer as the tensor holds it
   * @param scale which of them
   * @return the real number
   */
  public float toReal(int integer, int scale) {
    return (float) ((double) scales[scale] * (integer - numbers[HEAD + scale]));
  }

  /**
   * The integer that stands for a number as it is or nearly: rounded half to even, and the least or the
   * greatest one where the number is beyond. NaN gives the zero point.
   *
   * @param real any number
   * @return the integer
   * @throws IllegalStateException where there is an axis
   */
  public int toInteger(float real) {
    return toInteger(real, only());
  }

  /**
   * The same by one of the {@link #scales()}.
   *
   * @param real any number
   * @param scale which of them
   * @return the integer
   */
  public int toInteger(float real, int scale) {
    long zeroPoint = numbers[HEAD + scale];
    if (Float.isNaN(real))
      return (int) zeroPoint;
    double integer = Math.rint((double) real / scales[scale]) + zeroPoint;
    return (int) Math.max(low, Math.min(high, integer));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    if (!(other instanceof Quantization))
      return false;
    Quantization same = (Quantization) other;
    return low == same.low && high == same.high && Arrays.equals(numbers, same.numbers)
        && Arrays.equals(scales, same.scales);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(numbers) + Arrays.hashCode(scales);
  }

  @Override
  public @NotNull String toString() {
    if (axis() == PER_TENSOR)
      return "scale " + scale() + ", zero point " + zeroPoint();
    return scales.length + " scales along axis " + axis();
  }

  /** Which of the {@link #scales()} an element of a tensor has, counted row-major. */
  int scaleOf(int element, long[] shape) {
    if (axis() == PER_TENSOR)
      return 0;
    long inner = 1;
    for (int i = axis() + 1; i < shape.length; ++i) inner *= shape[i];
    long extent = shape[axis()];
    long along = element / inner % extent;
    if (block() == 0)
      return (int) along;
    long blocks = (extent + block() - 1) / block();
    long outer = element / inner / extent;
    return (int) ((outer * blocks + along / block()) * inner + element % inner);
  }

  private int only() {
    if (axis() == PER_TENSOR)
      return 0;
    throw new IllegalStateException("there are " + this + ", not one; see scales()");
  }
}
