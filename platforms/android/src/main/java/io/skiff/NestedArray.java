package io.skiff;

import java.lang.reflect.Array;
import java.util.Arrays;
import org.jetbrains.annotations.Nullable;

/** A flat array of what an array of arrays holds, and its extents. */
final class NestedArray {
  final Object flat;
  final long[] shape;

  private NestedArray(Object flat, long[] shape) {
    this.flat = flat;
    this.shape = shape;
  }

  /**
   * Null where it is no array of arrays of numbers.
   *
   * @throws IllegalArgumentException when its rows are not equally long
   */
  static @Nullable NestedArray of(Object array) {
    int rank = 0;
    Class<?> type = array.getClass();
    for (; type.isArray(); type = type.getComponentType()) ++rank;
    if (rank < 2 || !type.isPrimitive())
      return null;
    long[] shape = new long[rank];
    Object first = array;
    for (int axis = 0; axis < rank && first != null; ++axis) {
      shape[axis] = Array.getLength(first);
      first = axis + 1 < rank && shape[axis] > 0 ? Array.get(first, 0) : null;
    }
    long count = Elements.count(shape);
    Object flat = Array.newInstance(type, (int) Math.max(0, count));
    if (Elements.kindOf(flat) == null)
      return null;
    if (count < 0)
      throw new IllegalArgumentException("the array " + Arrays.toString(shape) + " has too many elements");
    copy(array, shape, 0, flat, 0);
    return new NestedArray(flat, shape);
  }

  private static int copy(@Nullable Object from, long[] shape, int axis, Object to, int at) {
    if (from == null || Array.getLength(from) != shape[axis])
      throw new IllegalArgumentException("along axis " + axis + " it has "
          + (from == null ? "a null" : Array.getLength(from) + " elements") + " where it had " + shape[axis]
          + " before: rows must be equally long");
    if (axis + 1 == shape.length) {
      System.arraycopy(from, 0, to, at, (int) shape[axis]);
      return at + (int) shape[axis];
    }
    for (int i = 0; i < shape[axis]; ++i) at = copy(Array.get(from, i), shape, axis + 1, to, at);
    return at;
  }
}
