package io.skiff;

import org.jetbrains.annotations.NotNull;

/** What kind of failure the native library reported. */
public enum Status {
  /** The caller passed something that the contract forbids. */
  INVALID_ARGUMENT(1),
  /** The file is malformed or truncated. */
  INVALID_MODEL(2),
  /** Valid, but this build or device cannot do it. */
  UNSUPPORTED(3),
  /** No plan of the file serves this shape. */
  NO_MATCHING_BUCKET(4),
  /** An allocation failed, or the memory limit would be passed. */
  OUT_OF_MEMORY(5),
  /** The operating system refused to read or map the file. */
  IO(6),
  /** {@link Session#cancel()} or {@link Session#close()} stopped the run. */
  CANCELLED(7),
  /** The GPU went away; the session must be made anew. */
  DEVICE_LOST(8),
  /** A defect in Skiff. */
  INTERNAL(9);

  private final int number;
  private final String text;

  Status(int number) {
    this.number = number;
    this.text = Native.text(Native.statusName(number));
  }

  /** As the native library writes it: {@code "invalid model"}, for example. */
  @Override
  public @NotNull String toString() {
    return text;
  }

  /** A number that is not known yet comes from a newer library. */
  static Status of(int number) {
    for (Status status : values()) {
      if (status.number == number)
        return status;
    }
    return INTERNAL;
  }
}
