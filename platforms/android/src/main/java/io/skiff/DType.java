package io.skiff;

import org.jetbrains.annotations.NotNull;

/** The type of a tensor's elements. */
public enum DType {
  /** IEEE 754 single precision: {@code float}. */
  F32(1),
  /** IEEE 754 half precision; Java has no type for it. */
  F16(2),
  /** Signed, one byte: {@code byte}. */
  I8(3),
  /** Unsigned, one byte. */
  U8(4),
  /** Signed, two bytes: {@code short}. */
  I16(5),
  /** Unsigned, two bytes: {@code char}. */
  U16(6),
  /** Signed, four bytes: {@code int}. */
  I32(7),
  /** Unsigned, four bytes. */
  U32(8),
  /** Signed, eight bytes: {@code long}. */
  I64(9),
  /** Unsigned, eight bytes. */
  U64(10),
  /** One byte, 0 or 1. */
  BOOL(11),
  /** IEEE 754 double precision: {@code double}. */
  F64(12),
  /** Two to a byte. Only constants have it: no input and no output. */
  I4(13),
  /** Two to a byte. Only constants have it: no input and no output. */
  U4(14);

  private final int number;
  private final int size;
  private final String text;

  DType(int number) {
    this.number = number;
    this.size = Native.dtypeSize(number);
    this.text = Native.text(Native.dtypeName(number));
  }

  /**
   * Bytes of one element; 0 for those smaller than a byte.
   *
   * @return how many these are
   */
  public int size() {
    return size;
  }

  /** As the native library writes it: {@code "f32"}, for example. */
  @Override
  public @NotNull String toString() {
    return text;
  }

  /** Of an integer type: its name says them. */
  int bits() {
    return Integer.parseInt(text.substring(1));
  }

  /** False for integers and booleans. */
  boolean isReal() {
    return text.charAt(0) == 'f';
  }

  boolean isSigned() {
    return text.charAt(0) == 'i';
  }

  /** Of an integer type, or BOOL. */
  long least() {
    return isSigned() ? -1L << bits() - 1 : 0;
  }

  /** Of an integer type, or BOOL; what a long can hold. */
  long greatest() {
    if (this == BOOL)
      return 1;
    int bits = isSigned() ? bits() - 1 : bits();
    return bits >= 63 ? Long.MAX_VALUE : (1L << bits) - 1;
  }

  int number() {
    return number;
  }

  static DType of(long number) {
    for (DType dtype : values()) {
      if (dtype.number == number)
        return dtype;
    }
    throw new AssertionError("the native library has an element type " + number + " that this class has not");
  }
}
