package io.skiff;

import java.nio.ByteBuffer;
import org.jetbrains.annotations.NotNull;

/** A view of an output: its shape in this run, and its elements without a copy. */
public final class Tensor {
  private final DType dtype;
  private final long[] shape;
  private final ByteBuffer data;

  Tensor(DType dtype, long[] shape, ByteBuffer data) {
    this.dtype = dtype;
    this.shape = shape;
    this.data = data;
  }

  public @NotNull DType dtype() {
    return dtype;
  }

  /** A copy of the extents, outermost first. */
  public long @NotNull[] shape() {
    return shape.clone();
  }

  /**
   * The elements, dense and row-major: direct, read-only, in native byte order. They are the session's
   * memory: valid until its next run, and never to be touched after it was closed or became unreachable.
   */
  public @NotNull ByteBuffer data() {
    return data;
  }
}
