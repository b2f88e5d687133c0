package io.skiff;

import org.jetbrains.annotations.NotNull;

/** One of a classifier's answers ({@link Session#bestClasses}). Immutable. */
public final class ClassScore {
  private final int index;
  private final String label;
  private final double score;

  ClassScore(int index, String label, double score) {
    this.index = index;
    this.label = label;
    this.score = score;
  }

  /**
   * Along the output's last axis.
   *
   * @return the class
   */
  public int index() {
    return index;
  }

  /**
   * Of the model's file; empty where it has none.
   *
   * @return its name
   */
  public @NotNull String label() {
    return label;
  }

  /**
   * As the output has it, or a probability.
   *
   * @return how sure the model is
   */
  public double score() {
    return score;
  }

  @Override
  public @NotNull String toString() {
    return (label.isEmpty() ? "class " + index : label) + ": " + score;
  }
}
