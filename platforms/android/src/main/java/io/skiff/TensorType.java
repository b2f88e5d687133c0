package io.skiff;

import java.util.Arrays;
import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/** The name, the element type and the shape of an input or output. Immutable. */
public final class TensorType {
  /** In a shape: an extent that varies. */
  public static final long VARIES = -1;

  private final String name;
  private final DType dtype;
  private final long[] shape;
  private final Symbol[] symbols;

  TensorType(String name, DType dtype, long[] shape, Symbol[] symbols) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.symbols = symbols;
  }

  /** What the calls of a {@link Session} know it by. */
  public @NotNull String name() {
    return name;
  }

  /** The type of each element. */
  public @NotNull DType dtype() {
    return dtype;
  }

  /** How many extents it has. */
  public int rank() {
    return shape.length;
  }

  /** A copy of the extents, outermost first; {@link #VARIES} where a call decides. */
  public long @NotNull[] shape() {
    return shape.clone();
  }

  /**
   * What a varying extent of an input may be; null where it is fixed, or where only a run knows it
   * (outputs).
   */
  public @Nullable Symbol symbol(int axis) {
    return symbols[axis];
  }

  /** True when no extent varies. */
  public boolean isFixed() {
    for (long extent : shape) {
      if (extent == VARIES)
        return false;
    }
    return true;
  }

  @Override
  public @NotNull String toString() {
    return name + ": " + dtype + Arrays.toString(shape);
  }
}
