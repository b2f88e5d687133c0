package io.skiff;

import org.jetbrains.annotations.NotNull;

/** Receives what the native library has to say; see {@link Skiff#setLogSink}. */
public interface LogSink {
  /** How much a message matters. */
  enum Level {
    /** What happens. */
    INFO,
    /** What was not as it should be, and how it goes on. */
    WARNING,
    /** What failed, where no exception tells it. */
    ERROR
  }

  /**
   * Called by any thread that uses Skiff. It must not call Skiff; what it throws is dropped.
   *
   * @param level how much it matters
   * @param message one sentence
   */
  void log(@NotNull Level level, @NotNull String message);
}
