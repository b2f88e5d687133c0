package io.skiff;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/**
 * The name, the element type and the shape of an input or output, and what the file says of it. Immutable.
 */
public final class TensorType {
  /** In a shape: an extent that varies. */
  public static final long VARIES = -1;

  private final String name;
  private final DType dtype;
  private final long[] shape;
  private final Symbol[] symbols;
  private final @Nullable Quantization quantization;
  private final @Nullable ImageSpec image;
  private final List<String> labels;

  TensorType(String name, DType dtype, long[] shape, Symbol[] symbols, @Nullable Quantization quantization,
      @Nullable ImageSpec image, List<String> labels) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.symbols = symbols;
    this.quantization = quantization;
    this.image = image;
    this.labels = Collections.unmodifiableList(labels);
  }

  /**
   * What the calls of a {@link Session} know it by.
   *
   * @return the name
   */
  public @NotNull String name() {
    return name;
  }

  /**
   * The type of each element.
   *
   * @return the element type
   */
  public @NotNull DType dtype() {
    return dtype;
  }

  /**
   * How many extents it has.
   *
   * @return the number of axes
   */
  public int rank() {
    return shape.length;
  }

  /**
   * A copy of the extents, outermost first; {@link #VARIES} where a call decides.
   *
   * @return the extents
   */
  public long @NotNull[] shape() {
    return shape.clone();
  }

  /**
   * What a varying extent of an input may be; null where it is fixed, or where only a run knows it
   * (outputs).
   *
   * @param axis 0 for the outermost
   * @return the symbol
   */
  public @Nullable Symbol symbol(int axis) {
    return symbols[axis];
  }

  /**
   * True when no extent varies.
   *
   * @return whether the shape is the same in every call
   */
  public boolean isFixed() {
    for (long extent : shape) {
      if (extent == VARIES)
        return false;
    }
    return true;
  }

  /** Whether extents differ from these only where they vary. */
  boolean admits(long[] extents) {
    boolean same = extents.length == shape.length;
    for (int axis = 0; same && axis < shape.length; ++axis)
      same = shape[axis] == VARIES || shape[axis] == extents[axis];
    return same;
  }

  /**
   * How its integers stand for real numbers; null where they are plain, and for other elements.
   *
   * @return the scales and zero points
   */
  public @Nullable Quantization quantization() {
    return quantization;
  }

  /**
   * How a picture becomes this input; null where the file does not say, and for outputs.
   *
   * @return the settings
   */
  public @Nullable ImageSpec image() {
    return image;
  }

  /**
   * The names of this output's classes, in the order of its last axis; empty where the file has none.
   *
   * @return the labels
   */
  public @NotNull List<@NotNull String> labels() {
    return labels;
  }

  /** {@code "x: f32[batch, 3]"}: a varying extent by its symbol's name, "?" where only a run knows it. */
  @Override
  public @NotNull String toString() {
    List<String> extents = new ArrayList<>();
    for (int axis = 0; axis < shape.length; ++axis) {
      String varying = symbols[axis] == null ? "?" : symbols[axis].name();
      extents.add(shape[axis] == VARIES ? varying : Long.toString(shape[axis]));
    }
    return name + ": " + dtype + extents + (quantization == null ? "" : " {" + quantization + "}");
  }
}
