package io.skiff.sample;

import io.skiff.ClassScore;
import io.skiff.Model;
import io.skiff.Pixels;
import io.skiff.Session;
import io.skiff.SessionOptions;
import io.skiff.TensorType;
import org.jetbrains.annotations.NotNull;

/** Names what is in a picture, with any model that says how it wants pictures. Belongs to one thread. */
final class Classifier implements AutoCloseable {
  /** The best label, its probability, and how long the model took. */
  static final class Answer {
    final String label;
    final double probability;
    final double milliseconds;

    Answer(String label, double probability, double milliseconds) {
      this.label = label;
      this.probability = probability;
      this.milliseconds = milliseconds;
    }
  }

  private final Session session;
  private final String picture;
  private final TensorType output;

  /**
   * The model is the caller's to close.
   *
   * @throws IllegalArgumentException when its first input is no picture, or its first output has no labels
   */
  Classifier(@NotNull Model model, @NotNull SessionOptions options) {
    TensorType picture = model.signatures().get(0).inputs().get(0);
    this.output = model.signatures().get(0).outputs().get(0);
    if (picture.image() == null || output.labels().isEmpty()) {
      throw new IllegalArgumentException(
          "the model says neither how it wants " + picture + " nor what " + output + " means");
    }
    this.picture = picture.name();
    this.session = Session.create(model, options);
    boolean ready = false;
    try {
      session.inputBuffer(picture.name());
      session.run(); // The first run of a session still prepares things; the times shown are of later ones.
      ready = true;
    } finally {
      if (!ready)
        session.close();
    }
  }

  @NotNull
  Answer classify(Pixels pixels) {
    session.setImage(picture, pixels); // As the model's file says.
    long begin = System.nanoTime();
    session.run();
    double milliseconds = (System.nanoTime() - begin) * 1e-6;
    ClassScore best = session.bestClasses(output.name(), 1, true).get(0);
    return new Answer(best.label(), best.score(), milliseconds);
  }

  @Override
  public void close() {
    session.close();
  }
}
