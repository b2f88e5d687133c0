package io.skiff;

import java.nio.ByteBuffer;
import org.jetbrains.annotations.Nullable;

/** A native model. It lives until it was closed and its last user, a session for example, has released it. */
final class ModelHandle extends Handle {
  private final long address;
  /** The model reads from here without the virtual machine's knowing. */
  @SuppressWarnings("unused") private final @Nullable ByteBuffer bytes;
  private int users = 1;
  private boolean closed;

  ModelHandle(Model owner, long address, @Nullable ByteBuffer bytes) {
    super(owner);
    this.address = address;
    this.bytes = bytes;
  }

  /** The native model, which stays alive until release(). */
  synchronized long acquire() {
    if (closed)
      throw new IllegalStateException("the model is closed");
    ++users;
    return address;
  }

  synchronized void release() {
    if (--users == 0)
      Native.closeModel(address);
  }

  @Override
  synchronized void end() {
    closed = true;
    release();
  }
}
