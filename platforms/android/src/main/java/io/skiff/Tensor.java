package io.skiff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/**
 * An output or a variable: its shape and its elements. What {@link Session#output} and {@link
 * Session#variable} give is a view of the session's memory; a session lives as long as its tensors, unless it
 * is closed. What {@link #copy} and {@link Session#run(java.util.Map)} give has memory of its own.
 *
 * <p>The methods that copy elements look first whether the view still is one: after {@link Session#close()},
 * and for an output after the next run, they are an {@link IllegalStateException}.
 */
public final class Tensor {
  /** What Native.output() takes: an element type, a rank, and extents for the greatest rank. */
  static final int TYPE_SIZE = 2 + 8;
  /** How many elements toString() shows. */
  private static final int SHOWN = 6;

  private final String name;
  private final DType dtype;
  private final long[] shape;
  private final @Nullable Quantization quantization;
  private final ByteBuffer data;
  /** Whose memory it is; null where it is this tensor's. */
  private final @Nullable Session session;
  /** After how many of its runs. */
  private final long run;

  private Tensor(String name, DType dtype, long[] shape, @Nullable Quantization quantization, ByteBuffer data,
      @Nullable Session session, long run) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.quantization = quantization;
    this.data = data.order(ByteOrder.nativeOrder());
    this.session = session;
    this.run = run;
  }

  /** {@code memory} is what the native library gave, {@code data} the same or a buffer made from it. */
  static Tensor viewOf(Session session, long run, String name, @Nullable Quantization quantization,
      long[] type, ByteBuffer memory, ByteBuffer data) {
    BufferOwner.keep(session, memory);
    if (data != memory)
      BufferOwner.keep(session, data);
    long[] shape = Arrays.copyOfRange(type, 2, 2 + (int) type[1]);
    return new Tensor(name, DType.of(type[0]), shape, quantization, data, session, run);
  }

  /** An output of a native session, with memory of its own. */
  static Tensor copyOf(long session, int index, TensorType output) {
    long[] type = new long[TYPE_SIZE];
    ByteBuffer memory = Native.output(session, index, type);
    long[] shape = Arrays.copyOfRange(type, 2, 2 + (int) type[1]);
    return new Tensor(
        output.name(), DType.of(type[0]), shape, output.quantization(), copyOf(memory), null, 0);
  }

  private static ByteBuffer copyOf(ByteBuffer memory) {
    ByteBuffer from = Elements.all(memory);
    ByteBuffer to = ByteBuffer.allocate(from.remaining());
    to.put(from);
    to.flip();
    return to;
  }

  /**
   * As the model names it.
   *
   * @return the name
   */
  public @NotNull String name() {
    return name;
  }

  /**
   * The type of {@link #data()}.
   *
   * @return the element type
   */
  public @NotNull DType dtype() {
    return dtype;
  }

  /**
   * A copy of the extents, outermost first.
   *
   * @return the extents
   */
  public long @NotNull[] shape() {
    return shape.clone();
  }

  /**
   * How an output's integers stand for real numbers; null where they are plain, and for other elements.
   *
   * @return the scales and zero points
   */
  public @Nullable Quantization quantization() {
    return quantization;
  }

  /**
   * The product of the extents.
   *
   * @return the number of elements
   */
  public int size() {
    return (int) Elements.count(shape);
  }

  /**
   * The elements, dense and row-major, in native byte order. Of a view: direct, the session's memory, never
   * to be touched after it was closed; those of an output are read-only, and valid until the next run.
   *
   * @return the memory
   */
  public @NotNull ByteBuffer data() {
    return data;
  }

  /**
   * The same with memory of its own, which outlives the session.
   *
   * @return the copy
   */
  public @NotNull Tensor copy() {
    if (session == null)
      return this;
    synchronized (session.handle) {
      checkReadable();
      return new Tensor(name, dtype, shape, quantization, copyOf(data), null, 0);
    }
  }

  /**
   * The elements of {@link DType#F32} and {@link DType#F16}; of a quantised tensor the real numbers that its
   * integers stand for.
   *
   * @return a new array
   * @throws IllegalArgumentException for other elements
   */
  public float @NotNull[] toFloatArray() {
    float[] elements = new float[size()];
    copyTo(elements);
    return elements;
  }

  /**
   * The elements of {@link DType#F64}.
   *
   * @return a new array
   * @throws IllegalArgumentException for other elements
   */
  public double @NotNull[] toDoubleArray() {
    double[] elements = new double[size()];
    copyTo(elements);
    return elements;
  }

  /**
   * The elements of {@link DType#I8}, {@link DType#U8} and {@link DType#BOOL}, byte for byte.
   *
   * @return a new array
   * @throws IllegalArgumentException for other elements
   */
  public byte @NotNull[] toByteArray() {
    byte[] elements = new byte[size()];
    copyTo(elements);
    return elements;
  }

  /**
   * The elements of {@link DType#I16} and {@link DType#U16}, bit for bit.
   *
   * @return a new array
   * @throws IllegalArgumentException for other elements
   */
  public short @NotNull[] toShortArray() {
    short[] elements = new short[size()];
    copyTo(elements);
    return elements;
  }

  /**
   * Integers of up to 32 bits and booleans as they are meant: those of {@link DType#U8} are 0 to 255. Of a
   * quantised tensor the integers that stand for its numbers.
   *
   * @return a new array
   * @throws IllegalArgumentException for other elements
   */
  public int @NotNull[] toIntArray() {
    int[] elements = new int[size()];
    copyTo(elements);
    return elements;
  }

  /**
   * All integers and booleans; of {@link DType#U64} the bits, so that those above {@link Long#MAX_VALUE} are
   * negative.
   *
   * @return a new array
   * @throws IllegalArgumentException for other elements
   */
  public long @NotNull[] toLongArray() {
    long[] elements = new long[size()];
    copyTo(elements);
    return elements;
  }

  /**
   * What {@link #toFloatArray()} gives, into the beginning of an array.
   *
   * @param to at least as long as the tensor has elements
   * @return how many elements these are
   * @throws IllegalArgumentException as there, or when the array is shorter
   */
  public int copyTo(float @NotNull[] to) {
    return copyTo((Object) to);
  }

  /**
   * The same as {@link #toDoubleArray()} gives.
   *
   * @param to at least as long as the tensor has elements
   * @return how many elements these are
   */
  public int copyTo(double @NotNull[] to) {
    return copyTo((Object) to);
  }

  /**
   * The same as {@link #toByteArray()} gives.
   *
   * @param to at least as long as the tensor has elements
   * @return how many elements these are
   */
  public int copyTo(byte @NotNull[] to) {
    return copyTo((Object) to);
  }

  /**
   * The same as {@link #toShortArray()} gives.
   *
   * @param to at least as long as the tensor has elements
   * @return how many elements these are
   */
  public int copyTo(short @NotNull[] to) {
    return copyTo((Object) to);
  }

  /**
   * The same as {@link #toIntArray()} gives.
   *
   * @param to at least as long as the tensor has elements
   * @return how many elements these are
   */
  public int copyTo(int @NotNull[] to) {
    return copyTo((Object) to);
  }

  /**
   * The same as {@link #toLongArray()} gives.
   *
   * @param to at least as long as the tensor has elements
   * @return how many elements these are
   */
  public int copyTo(long @NotNull[] to) {
    return copyTo((Object) to);
  }

  private int copyTo(Object array) {
    if (array == null)
      throw Arguments.isNull("to", "an array with room for the elements of " + description());
    if (session == null) {
      Elements.read(data, description(), dtype, quantization, shape, array);
      return size();
    }
    synchronized (session.handle) {
      checkReadable();
      Elements.read(data, description(), dtype, quantization, shape, array);
    }
    return size();
  }

  /** With the monitor of the session's handle held. */
  private void checkReadable() {
    String why = session.handle.whyUnreadable(run);
    if (why != null)
      throw new IllegalStateException(why);
  }

  /** {@code "logits: f32[1, 36]"}. */
  String description() {
    return name + ": " + dtype + Arrays.toString(shape)
        + (quantization == null ? "" : " {" + quantization + "}");
  }

  /** The type, the shape and the first elements, or why they cannot be read any more. */
  @Override
  public @NotNull String toString() {
    if (session == null)
      return description() + " = " + firstElements();
    synchronized (session.handle) {
      String why = session.handle.whyUnreadable(run);
      return description() + (why == null ? " = " + firstElements() : " (" + why + ")");
    }
  }

  private String firstElements() {
    ByteBuffer from = Elements.all(data);
    StringBuilder text = new StringBuilder("[");
    int count = size();
    for (int i = 0; i < Math.min(count, SHOWN); ++i)
      text.append(i == 0 ? "" : ", ").append(Elements.text(from, dtype, quantization, shape, i));
    return text.append(count > SHOWN ? ", ...]" : "]").toString();
  }
}
