package io.skiff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jetbrains.annotations.NotNull;

/**
 * A view of an output or a variable: its shape, and its elements without a copy. A session lives as long as
 * its tensors, unless it is closed.
 */
public final class Tensor {
  private final DType dtype;
  private final long[] shape;
  private final ByteBuffer data;
  /** Whose memory it is. */
  @SuppressWarnings("unused") private final Session session;

  /** What Native.output() takes: an element type, a rank, and extents for the greatest rank. */
  static final int TYPE_SIZE = 2 + 8;

  /** {@code memory} is what the native library gave, {@code data} the same or a buffer made from it. */
  Tensor(Session session, long[] type, ByteBuffer memory, ByteBuffer data) {
    this.session = session;
    this.dtype = DType.of(type[0]);
    this.shape = Arrays.copyOfRange(type, 2, 2 + (int) type[1]);
    this.data = data.order(ByteOrder.nativeOrder());
    BufferOwner.keep(session, memory);
    if (data != memory)
      BufferOwner.keep(session, data);
  }

  /** The type of {@link #data()}. */
  public @NotNull DType dtype() {
    return dtype;
  }

  /** A copy of the extents, outermost first. */
  public long @NotNull[] shape() {
    return shape.clone();
  }

  /**
   * The elements, dense and row-major: direct, in native byte order. They are the session's memory, never to
   * be touched after it was closed. Those of an output are read-only, and valid until the next run.
   */
  public @NotNull ByteBuffer data() {
    return data;
  }
}
