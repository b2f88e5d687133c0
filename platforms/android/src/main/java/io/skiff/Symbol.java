package io.skiff;

import org.jetbrains.annotations.NotNull;

/**
 * A named dimension whose size may differ from call to call: a multiple of {@link #multiple()} from {@link
 * #min()} to
 * {@link #max()}. In one call all extents of one symbol are equal. Immutable.
 */
public final class Symbol {
  /** The greatest size of a symbol that has none. */
  public static final long UNBOUNDED = Long.MAX_VALUE;

  private final String name;
  private final long min;
  private final long max;
  private final long multiple;

  Symbol(String name, long[] range) {
    this.name = name;
    this.min = range[0];
    this.max = range[1];
    this.multiple = range[2];
  }

  /**
   * As the source model named the dimension.
   *
   * @return the name
   */
  public @NotNull String name() {
    return name;
  }

  /**
   * The smallest size.
   *
   * @return the size
   */
  public long min() {
    return min;
  }

  /**
   * {@link #UNBOUNDED} where there is no limit.
   *
   * @return the size
   */
  public long max() {
    return max;
  }

  /**
   * What every size is a multiple of.
   *
   * @return the number
   */
  public long multiple() {
    return multiple;
  }

  @Override
  public @NotNull String toString() {
    String range = name + "=" + min + ".." + (max == UNBOUNDED ? "" : max);
    return multiple == 1 ? range : range + ",multiple=" + multiple;
  }
}
