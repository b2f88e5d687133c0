package io.skiff;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** What an input is about to get, checked: the native library trusts in sizes. */
final class InputValue {
  final int index;
  final TensorType type;
  /** Empty for Pixels: their input says it. */
  final long[] shape;
  /**
   * An array of numbers, a direct ByteBuffer read from its first byte on, Pixels, or a Tensor with memory of
   * its own.
   */
  final Object value;

  private InputValue(int index, TensorType type, long[] shape, Object value) {
    this.index = index;
    this.type = type;
    this.shape = shape;
    this.value = value;
  }

  /** @throws IllegalArgumentException when the input does not take it */
  static InputValue ofArray(Signature signature, String name, Object array, long[] shape) {
    int index = signature.inputIndex(name);
    TensorType type = signature.inputs().get(index);
    if (array == null)
      throw Arguments.isNull("data", "an array with the elements of " + type);
    checkGiven(type, shape);
    int length = Array.getLength(array);
    String what = "the " + Elements.kindOf(array) + " for " + type;
    long[] extents = shape.length == 0 ? shapeOf(type, length, what) : shape.clone();
    if (extents.length != type.rank())
      throw new IllegalArgumentException(
          "the shape " + Arrays.toString(extents) + " has not the rank of " + type);
    if (Elements.count(extents) != length)
      throw new IllegalArgumentException(what + " has " + length + " elements; " + Arrays.toString(extents)
          + (Elements.count(extents) < 0 ? " is no shape" : " takes " + Elements.count(extents)));
    Elements.check(array, type);
    return new InputValue(index, type, extents, array);
  }

  /** @throws IllegalArgumentException when the input does not take it */
  static InputValue ofBuffer(Signature signature, String name, ByteBuffer data, long[] shape) {
    int index = signature.inputIndex(name);
    TensorType type = signature.inputs().get(index);
    if (data == null)
      throw Arguments.isNull("data", "a direct ByteBuffer with the elements of " + type);
    checkGiven(type, shape);
    if (!data.isDirect()) {
      throw new IllegalArgumentException(
          "the buffer for " + type + " is not direct; see ByteBuffer.allocateDirect()");
    }
    if (type.dtype().size() > 1 && data.order() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("the buffer for " + type + " is " + data.order()
          + "; say order(ByteOrder.nativeOrder()) before writing to it");
    }
    long[] extents = extents(type, shape);
    long bytes = bytes(type, extents);
    if (data.remaining() != bytes) {
      throw new IllegalArgumentException("the buffer for " + type + " has " + data.remaining()
          + " bytes from its position to its limit; " + Arrays.toString(extents) + " takes " + bytes);
    }
    // Whatever becomes of the buffer's position, what was checked is what is read.
    return new InputValue(index, type, extents, data.slice());
  }

  /** @throws IllegalArgumentException when the input does not take it */
  static InputValue ofTensor(Signature signature, String name, Tensor tensor) {
    int index = signature.inputIndex(name);
    TensorType type = signature.inputs().get(index);
    if (tensor == null)
      throw Arguments.isNull("tensor", "a Tensor with the elements of " + type);
    if (tensor.dtype() != type.dtype() || !type.admits(tensor.shape()))
      throw new IllegalArgumentException(type + " takes no " + tensor.description());
    // Its memory may be this session's, which the new shape moves.
    return new InputValue(index, type, tensor.shape(), tensor.copy());
  }

  /** @throws IllegalArgumentException when the signature has no such input */
  static InputValue ofPixels(Signature signature, String name, Pixels pixels) {
    int index = signature.inputIndex(name);
    TensorType type = signature.inputs().get(index);
    if (pixels == null)
      throw Arguments.isNull("picture", "Pixels for " + type);
    return new InputValue(index, type, new long[0], pixels);
  }

  /**
   * One value for each input, in the signature's order.
   *
   * @throws IllegalArgumentException names all inputs that are missing, unknown or wrong
   */
  static List<InputValue> ofMap(Signature signature, Map<String, ?> inputs) {
    if (inputs == null)
      throw Arguments.isNull("inputs", "a Map with a value for each of " + signature.inputs());
    List<InputValue> values = new ArrayList<>();
    List<String> missing = new ArrayList<>();
    List<Object> unknown = new ArrayList<>(inputs.keySet());
    List<String> wrong = new ArrayList<>();
    for (TensorType type : signature.inputs()) {
      unknown.remove(type.name());
      if (!inputs.containsKey(type.name())) {
        missing.add(type.toString());
        continue;
      }
      try {
        values.add(ofAny(signature, type, inputs.get(type.name())));
      } catch (IllegalArgumentException e) {
        wrong.add(e.getMessage());
      }
    }
    if (!missing.isEmpty())
      wrong.add("there is no value for " + missing);
    if (!unknown.isEmpty())
      wrong.add("there are no inputs " + unknown + "; the signature has " + signature.inputs());
    if (wrong.isEmpty())
      return values;
    StringBuilder sentences = new StringBuilder();
    for (String sentence : wrong) sentences.append(sentences.length() == 0 ? "" : "; and ").append(sentence);
    throw new IllegalArgumentException(sentences.toString());
  }

  private static InputValue ofAny(Signature signature, TensorType type, Object value) {
    String name = type.name();
    if (value instanceof Pixels)
      return ofPixels(signature, name, (Pixels) value);
    if (value instanceof Tensor)
      return ofTensor(signature, name, (Tensor) value);
    if (value instanceof ByteBuffer) {
      ByteBuffer data = (ByteBuffer) value;
      int size = type.dtype().size();
      if (data.remaining() % size != 0)
        throw new IllegalArgumentException("the buffer for " + type + " has " + data.remaining()
            + " bytes, which is no multiple of " + size);
      return ofBuffer(
          signature, name, data, shapeOf(type, data.remaining() / size, "the buffer for " + type));
    }
    if (value != null && Elements.kindOf(value) != null)
      return ofArray(signature, name, value, new long[0]);
    NestedArray nested = null;
    try {
      nested = value == null ? null : NestedArray.of(value);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("the array for " + type + ": " + e.getMessage());
    }
    if (nested != null)
      return ofArray(signature, name, nested.flat, nested.shape);
    throw new IllegalArgumentException(type + " takes no "
        + (value == null ? "null" : value.getClass().getSimpleName())
        + ", but an array of numbers, one of such arrays, a direct ByteBuffer, Pixels or a Tensor");
  }

  /** Whether the native session takes it, as far as the file says so; else that is the one to say why. */
  boolean fits() {
    if (value instanceof Pixels)
      return type.image() != null;
    boolean fits = type.admits(shape);
    for (int axis = 0; fits && axis < shape.length; ++axis) {
      Symbol symbol = type.symbol(axis);
      fits = symbol == null
          || shape[axis] >= symbol.min() && shape[axis] <= symbol.max()
              && shape[axis] % symbol.multiple() == 0;
    }
    return fits;
  }

  /** To a native session; not Pixels. */
  void write(long session) {
    if (value instanceof ByteBuffer) {
      Native.setInput(session, index, (ByteBuffer) value, 0, type.dtype().number(), shape);
      return;
    }
    ByteBuffer memory = Native.inputBuffer(session, index, shape);
    if (value instanceof Tensor)
      Elements.all(memory).put(Elements.all(((Tensor) value).data()));
    else
      Elements.write(value, type, shape, memory);
  }

  /** The extents of a call that gives `shape`, or none where they are fixed. */
  static long[] extents(TensorType type, long[] shape) {
    checkGiven(type, shape);
    if (shape.length == 0 && type.isFixed())
      return type.shape();
    if (shape.length != type.rank()) {
      throw new IllegalArgumentException("the shape " + Arrays.toString(shape) + " has not the rank of "
          + type + "; give all " + type.rank() + " extents");
    }
    return shape.clone();
  }

  private static void checkGiven(TensorType type, long[] shape) {
    if (shape == null)
      throw Arguments.isNull("shape", "the extents of " + type + " in this call, or no argument");
  }

  private static long bytes(TensorType type, long[] extents) {
    long count = Elements.count(extents);
    if (count < 0 || count * type.dtype().size() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("the shape " + Arrays.toString(extents) + " for " + type
          + " is negative or takes more than a buffer can hold");
    }
    return count * type.dtype().size();
  }

  /** What so many elements are where at most one extent is open. */
  private static long[] shapeOf(TensorType type, int count, String what) {
    long[] shape = type.shape();
    int open = -1;
    long others = 1;
    for (int axis = 0; axis < shape.length; ++axis) {
      if (shape[axis] != TensorType.VARIES) {
        others *= shape[axis];
      } else if (open >= 0) {
        throw new IllegalArgumentException(what + " does not tell its extents; say the shape");
      } else {
        open = axis;
      }
    }
    if (open < 0)
      return shape;
    if (others == 0 || count % others != 0)
      throw new IllegalArgumentException(
          what + " has " + count + " elements, which is no multiple of " + others);
    shape[open] = count / others;
    return shape;
  }
}
