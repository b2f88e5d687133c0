package io.skiff.sample;

import io.skiff.Model;
import io.skiff.Session;
import io.skiff.SessionOptions;
import java.nio.FloatBuffer;
import java.util.List;
import org.jetbrains.annotations.NotNull;

/** Names the character in a picture. Belongs to one thread. */
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
  private final List<String> labels;
  private final FloatBuffer input;

  /** The model is the caller's to close. */
  Classifier(@NotNull Model model, @NotNull List<String> labels, @NotNull SessionOptions options) {
    this.session = Session.create(model, options);
    this.labels = labels;
    boolean ready = false;
    try {
      // The model reads from here: writing it is all that an input needs.
      this.input = session.inputBuffer("image").asFloatBuffer();
      session.run(); // The first run of a session still prepares things; the times shown are of later ones.
      ready = true;
    } finally {
      if (!ready)
        session.close();
    }
  }

  @NotNull
  Answer classify(int[] argb, int width, int height) {
    Preprocessing.write(argb, width, height, input);
    long begin = System.nanoTime();
    session.run();
    double milliseconds = (System.nanoTime() - begin) * 1e-6;
    return answer(session.output("logits").data().asFloatBuffer(), milliseconds);
  }

  private Answer answer(FloatBuffer logits, double milliseconds) {
    int best = 0;
    for (int i = 1; i < logits.limit(); ++i) {
      if (logits.get(i) > logits.get(best))
        best = i;
    }
    double sum = 0;
    for (int i = 0; i < logits.limit(); ++i) sum += Math.exp(logits.get(i) - logits.get(best));
    return new Answer(labels.get(best), 1 / sum, milliseconds);
  }

  @Override
  public void close() {
    session.close();
  }
}
