package io.skiff;

import java.util.ArrayList;
import java.util.List;
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

  /** Of what the native library gives: of each class its index, then its score. */
  static List<ClassScore> listOf(double[] found, List<String> labels) {
    List<ClassScore> list = new ArrayList<>();
    for (int i = 0; i < found.length; i += 2) {
      int at = (int) found[i];
      list.add(new ClassScore(at, at < labels.size() ? labels.get(at) : "", found[i + 1]));
    }
    return list;
  }

  /**
   * Along the output's last axis, where axes of 1 behind the second do not count.
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
