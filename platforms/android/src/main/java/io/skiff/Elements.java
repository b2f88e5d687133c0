package io.skiff;

import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jetbrains.annotations.Nullable;

/** Elements between Java's arrays and the memory of tensors, which are direct buffers or not. */
final class Elements {
  /** Java's arrays of numbers. */
  enum Kind {
    FLOATS(float[].class),
    DOUBLES(double[].class),
    BYTES(byte[].class),
    SHORTS(short[].class),
    INTS(int[].class),
    LONGS(long[].class);

    private final Class<?> type;
    /** Of one element. */
    private final int bytes;

    Kind(Class<?> type) {
      this.type = type;
      this.bytes = sizeOf(type.getComponentType());
    }

    private static int sizeOf(Class<?> element) {
      if (element == byte.class)
        return 1;
      if (element == short.class)
        return 2;
      return element == float.class || element == int.class ? 4 : 8;
    }

    boolean isOfIntegers() {
      return this != FLOATS && this != DOUBLES;
    }

    /** {@code "float[]"}. */
    @Override
    public String toString() {
      return type.getSimpleName();
    }

    /** {@code "a float[]"}, {@code "an int[]"}. */
    String withArticle() {
      return ("aeiou".indexOf(toString().charAt(0)) < 0 ? "a " : "an ") + this;
    }

    /** {@code "toFloatArray()"}. */
    String getter() {
      String element = type.getComponentType().getName();
      return "to" + Character.toUpperCase(element.charAt(0)) + element.substring(1) + "Array()";
    }

    /** Of such arrays an input of this type takes; of integers any that fit. */
    boolean fills(DType dtype, @Nullable Quantization quantization) {
      if (this == BYTES || this == SHORTS)
        return !dtype.isReal() && dtype.size() == bytes;
      return isOfIntegers() ? !dtype.isReal() : receives(dtype, quantization);
    }

    /** That such an array can hold every element of this type. */
    boolean receives(DType dtype, @Nullable Quantization quantization) {
      if (this == FLOATS)
        return dtype == DType.F32 || dtype == DType.F16 || quantization != null;
      if (this == DOUBLES)
        return dtype == DType.F64;
      if (dtype.isReal())
        return false;
      if (this == BYTES || this == SHORTS)
        return dtype.size() == bytes;
      return dtype.size() < bytes || dtype.size() == bytes && (dtype.isSigned() || this == LONGS);
    }
  }

  private Elements() {}

  /** Null where it is no such array. */
  static @Nullable Kind kindOf(Object array) {
    for (Kind kind : Kind.values()) {
      if (kind.type.isInstance(array))
        return kind;
    }
    return null;
  }

  /** In the order of memory, from its first byte on, whatever the buffer's position. */
  static ByteBuffer all(ByteBuffer memory) {
    ByteBuffer all = memory.duplicate();
    all.clear();
    return all.order(ByteOrder.nativeOrder());
  }

  /** The product of the extents, or -1 where it is negative or more than an array can hold. */
  static long count(long[] shape) {
    long count = 1;
    for (long extent : shape) {
      if (extent < 0)
        return -1;
      if (extent == 0)
        count = 0;
      if (count > 0 && extent > Integer.MAX_VALUE / count)
        return -1;
      count *= extent;
    }
    return count;
  }

  /** @throws IllegalArgumentException when the input does not take such an array, or not its elements */
  static void check(Object array, TensorType type) {
    Kind kind = kindOf(array);
    if (!kind.fills(type.dtype(), type.quantization()))
      throw new IllegalArgumentException(
          type + " takes no " + kind + "; give " + list(type.dtype(), type.quantization(), true));
    if (!kind.isOfIntegers() || kind == Kind.BYTES && type.dtype() != DType.BOOL || kind == Kind.SHORTS)
      return;
    long low = type.dtype().least();
    long high = type.dtype().greatest();
    for (int i = 0; i < Array.getLength(array); ++i) {
      long element = integer(array, kind, i);
      if (element < low || element > high)
        throw new IllegalArgumentException("element " + i + " of the " + kind + " is " + element + "; " + type
            + " holds " + low + " to " + high);
    }
  }

  /** All elements of a checked array into the input's memory, which is as large. */
  static void write(Object array, TensorType type, long[] shape, ByteBuffer memory) {
    ByteBuffer to = all(memory);
    Kind kind = kindOf(array);
    DType dtype = type.dtype();
    if (kind == Kind.DOUBLES) {
      to.asDoubleBuffer().put((double[]) array);
    } else if (kind == Kind.FLOATS) {
      writeReals((float[]) array, dtype, type.quantization(), shape, to);
    } else if (kind == Kind.BYTES) {
      to.put((byte[]) array);
    } else if (kind == Kind.SHORTS) {
      to.asShortBuffer().put((short[]) array);
    } else if (kind == Kind.INTS && dtype.size() == 4) {
      to.asIntBuffer().put((int[]) array);
    } else if (kind == Kind.LONGS && dtype.size() == 8) {
      to.asLongBuffer().put((long[]) array);
    } else {
      for (int i = 0; i < Array.getLength(array); ++i) putInteger(to, dtype, i, integer(array, kind, i));
    }
  }

  private static void writeReals(
      float[] from, DType dtype, @Nullable Quantization quantization, long[] shape, ByteBuffer to) {
    if (dtype == DType.F32) {
      to.asFloatBuffer().put(from);
    } else if (dtype == DType.F16) {
      for (int i = 0; i < from.length; ++i) to.putShort(2 * i, Half.ofFloat(from[i]));
    } else {
      for (int i = 0; i < from.length; ++i)
        putInteger(to, dtype, i, quantization.toInteger(from[i], quantization.scaleOf(i, shape)));
    }
  }

  /**
   * All elements into the beginning of an array.
   *
   * @param name of the tensor, with its type and shape
   * @throws IllegalArgumentException when the array cannot hold such elements, or not so many
   */
  static void read(ByteBuffer memory, String name, DType dtype, @Nullable Quantization quantization,
      long[] shape, Object array) {
    Kind kind = kindOf(array);
    if (!kind.receives(dtype, quantization))
      throw new IllegalArgumentException(
          name + " does not fit into " + kind.withArticle() + "; take " + list(dtype, quantization, false));
    ByteBuffer from = all(memory);
    int count = (int) count(shape);
    if (Array.getLength(array) < count)
      throw new IllegalArgumentException(
          name + " has " + count + " elements, and the " + kind + " " + Array.getLength(array));
    if (kind == Kind.DOUBLES) {
      from.asDoubleBuffer().get((double[]) array, 0, count);
    } else if (kind == Kind.FLOATS && dtype == DType.F32) {
      from.asFloatBuffer().get((float[]) array, 0, count);
    } else if (kind == Kind.FLOATS) {
      for (int i = 0; i < count; ++i) ((float[]) array)[i] = real(from, dtype, quantization, shape, i);
    } else if (kind == Kind.BYTES) {
      from.get((byte[]) array, 0, count);
    } else if (kind == Kind.SHORTS) {
      from.asShortBuffer().get((short[]) array, 0, count);
    } else if (kind == Kind.INTS) {
      for (int i = 0; i < count; ++i) ((int[]) array)[i] = (int) integer(from, dtype, i);
    } else {
      for (int i = 0; i < count; ++i) ((long[]) array)[i] = integer(from, dtype, i);
    }
  }

  /** One element as people read it. */
  static String text(
      ByteBuffer memory, DType dtype, @Nullable Quantization quantization, long[] shape, int i) {
    if (dtype == DType.F64)
      return Double.toString(memory.getDouble(8 * i));
    if (dtype == DType.F32 || dtype == DType.F16 || quantization != null)
      return Float.toString(real(memory, dtype, quantization, shape, i));
    long element = integer(memory, dtype, i);
    // Long.toUnsignedString() is of Android 8.
    return dtype == DType.U64 ? new BigInteger(Long.toHexString(element), 16).toString()
                              : Long.toString(element);
  }

  private static float real(
      ByteBuffer from, DType dtype, @Nullable Quantization quantization, long[] shape, int i) {
    if (dtype == DType.F32)
      return from.getFloat(4 * i);
    if (dtype == DType.F16)
      return Half.toFloat(from.getShort(2 * i));
    return quantization.toReal((int) integer(from, dtype, i), quantization.scaleOf(i, shape));
  }

  private static long integer(Object array, Kind kind, int i) {
    if (kind == Kind.BYTES)
      return ((byte[]) array)[i];
    return kind == Kind.INTS ? ((int[]) array)[i] : ((long[]) array)[i];
  }

  private static long integer(ByteBuffer from, DType dtype, int i) {
    boolean signed = dtype.isSigned();
    switch (dtype.size()) {
      case 1:
        return signed ? from.get(i) : from.get(i) & 0xff;
      case 2:
        return signed ? from.getShort(2 * i) : from.getShort(2 * i) & 0xffff;
      case 4:
        return signed ? from.getInt(4 * i) : from.getInt(4 * i) & 0xffffffffL;
      default:
        return from.getLong(8 * i);
    }
  }

  private static void putInteger(ByteBuffer to, DType dtype, int i, long element) {
    switch (dtype.size()) {
      case 1:
        to.put(i, (byte) element);
        break;
      case 2:
        to.putShort(2 * i, (short) element);
        break;
      case 4:
        to.putInt(4 * i, (int) element);
        break;
      default:
        to.putLong(8 * i, element);
    }
  }

  private static String list(DType dtype, @Nullable Quantization quantization, boolean input) {
    StringBuilder list = new StringBuilder();
    for (Kind kind : Kind.values()) {
      if (input ? !kind.fills(dtype, quantization) : !kind.receives(dtype, quantization))
        continue;
      list.append(list.length() == 0 ? "" : " or ").append(kind);
      if (!input)
        list.append(" (").append(kind.getter()).append(')');
    }
    return list.toString();
  }
}
