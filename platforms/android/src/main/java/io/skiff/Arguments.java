package io.skiff;

import org.jetbrains.annotations.Nullable;

/** What public methods say of arguments that must not be null. */
final class Arguments {
  private Arguments() {}

  /**
   * @param name of the parameter
   * @param expected what it takes
   * @throws NullPointerException says both
   */
  static <T> T given(@Nullable T argument, String name, String expected) {
    if (argument == null)
      throw isNull(name, expected);
    return argument;
  }

  /** The same for a sentence that is not to be made in vain. */
  static NullPointerException isNull(String name, String expected) {
    return new NullPointerException(name + " is null: expected " + expected);
  }
}
