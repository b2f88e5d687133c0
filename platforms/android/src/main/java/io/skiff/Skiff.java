package io.skiff;

import org.jetbrains.annotations.NotNull;

/** The native library itself. */
public final class Skiff {
  private Skiff() {}

  /** {@code "0.1.0"}, for example. */
  public static @NotNull String version() {
    return Native.text(Native.version());
  }
}
