package io.skiff;

import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/** The native library itself. */
public final class Skiff {
  private Skiff() {}

  /**
   * {@code "0.1.0"}, for example.
   *
   * @return the version
   */
  public static @NotNull String version() {
    return Native.text(Native.version());
  }

  /**
   * Where the native library's messages go from now on, in the whole process. Null, the default: to logcat on
   * Android, to standard error elsewhere.
   *
   * @param sink receives them
   */
  public static void setLogSink(@Nullable LogSink sink) {
    Native.setLogSink(sink);
  }
}
