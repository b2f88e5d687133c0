package io.skiff;

import org.jetbrains.annotations.NotNull;

/** The native library refused a call: a kind, and one sentence that says what was wrong and where. */
public final class SkiffException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** What kind of failure it was. */
  private final Status status;

  /** Called by the native library, which knows numbers and bytes. */
  SkiffException(int status, byte[] sentence) {
    super(Native.text(sentence));
    this.status = Status.of(status);
  }

  /** With the kind. */
  @Override
  public @NotNull String toString() {
    return getClass().getName() + ": " + status + ": " + getMessage();
  }

  /**
   * What kind of failure it was; the sentence is {@link #getMessage()}.
   *
   * @return the kind
   */
  public @NotNull Status status() {
    return status;
  }
}
