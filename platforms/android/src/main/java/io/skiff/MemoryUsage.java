package io.skiff;

import org.jetbrains.annotations.NotNull;

/** Bytes that a {@link Session} holds, by purpose. Immutable. */
public final class MemoryUsage {
  private final long[] bytes;

  MemoryUsage(long[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Activations: what the file promised.
   *
   * @return bytes
   */
  public long arena() {
    return bytes[0];
  }

  /**
   * Scratch and prepared operators.
   *
   * @return bytes
   */
  public long workspace() {
    return bytes[1];
  }

  /**
   * Weights in the order that kernels read them; shared by all sessions of the model.
   *
   * @return bytes
   */
  public long packedWeights() {
    return bytes[2];
  }

  /**
   * The file's weights, paged in on demand and shared by all processes.
   *
   * @return bytes
   */
  public long mappedWeights() {
    return bytes[3];
  }

  /**
   * Buffers of the inputs, where they do not lie in the arena.
   *
   * @return bytes
   */
  public long inputs() {
    return bytes[4];
  }

  /**
   * State, where the session has its own.
   *
   * @return bytes
   */
  public long variables() {
    return bytes[5];
  }

  /**
   * Those of the packed weights that are in the cache file: mapped as well, and shared by all processes.
   *
   * @return bytes
   */
  public long mappedPackedWeights() {
    return bytes[6];
  }

  /**
   * Weights that the file has in fewer bits, and that kernels read in full; shared by all sessions of the
   * model.
   *
   * @return bytes
   */
  public long widenedWeights() {
    return bytes[7];
  }

  @Override
  public @NotNull String toString() {
    return "arena " + arena() + ", workspace " + workspace() + ", packed weights " + packedWeights()
        + ", mapped packed weights " + mappedPackedWeights() + ", mapped weights " + mappedWeights()
        + ", widened weights " + widenedWeights() + ", inputs " + inputs() + ", variables " + variables()
        + " bytes";
  }
}
