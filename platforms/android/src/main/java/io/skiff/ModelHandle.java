package io.skiff;

import java.nio.ByteBuffer;
import org.jetbrains.annotations.Nullable;

final class ModelHandle extends SharedHandle {
  /** The model reads from here without the virtual machine's knowing. */
  @SuppressWarnings("unused") private final @Nullable ByteBuffer bytes;

  ModelHandle(Model owner, long address, @Nullable ByteBuffer bytes) {
    super(owner, address, "model");
    this.bytes = bytes;
  }

  @Override
  void destroy(long address) {
    Native.closeModel(address);
  }
}
