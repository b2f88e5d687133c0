package io.skiff.sample;

import io.skiff.Model;
import io.skiff.Session;
import io.skiff.SessionOptions;
import io.skiff.TensorType;
import java.nio.FloatBuffer;
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
  private final Preprocessing preprocessing;
  private final TensorType output;
  private final FloatBuffer input;

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
    this.preprocessing = new Preprocessing(picture.image());
    this.session = Session.create(model, options);
    boolean ready = false;
    try {
      // The model reads from here: writing it is all that an input needs.
      this.input = session.inputBuffer(picture.name()).asFloatBuffer();
      session.run(); // The first run of a session still prepares things; the times shown are of later ones.
      ready = true;
    } finally {
      if (!ready)
        session.close();
    }
  }

  @NotNull
  Answer classify(int[] argb, int width, int height) {
    preprocessing.write(argb, width, height, input);
    long begin = System.nanoTime();
    session.run();
    double milliseconds = (System.nanoTime() - begin) * 1e-6;
    return answer(session.output(output.name()).data().asFloatBuffer(), milliseconds);
  }

  private Answer answer(FloatBuffer logits, double milliseconds) {
    int best = 0;
    for (int i = 1; i < logits.limit(); ++i) {
      if (logits.get(i) > logits.get(best))
        best = i;
    }
    double sum = 0;
    for (int i = 0; i < logits.limit(); ++i) sum += Math.exp(logits.get(i) - logits.get(best));
    return new Answer(output.labels().get(best), 1 / sum, milliseconds);
  }

  @Override
  public void close() {
    session.close();
  }
}
