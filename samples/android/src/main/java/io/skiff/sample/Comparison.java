package io.skiff.sample;

import io.skiff.Backend;
import io.skiff.Model;
import io.skiff.Pixels;
import io.skiff.SessionOptions;
import io.skiff.SkiffException;
import io.skiff.Target;
import java.util.Locale;
import org.jetbrains.annotations.NotNull;

/**
 * One picture by every backend: the answer of the chosen one, and the time of each. Belongs to one thread.
 */
final class Comparison implements AutoCloseable {
  private static final String[] NAMES = {"CPU", "GPU", "CPU, reference kernels"};
  private static final int CPU = 0;
  private static final int GPU = 1;

  private final Classifier[] classifiers = new Classifier[NAMES.length];
  private final String[] refusals = new String[NAMES.length];

  /** The model is the caller's to close. */
  Comparison(@NotNull Model model) {
    SessionOptions[] options = {
        new SessionOptions(),
        new SessionOptions().target(Target.VULKAN).fallBack(false),
        new SessionOptions().backend(Backend.REFERENCE),
    };
    for (int i = 0; i < options.length; ++i) {
      try {
        classifiers[i] = new Classifier(model, options[i]);
      } catch (SkiffException e) {
        refusals[i] = e.getMessage();
      }
    }
    if (classifiers[CPU] == null)
      throw new IllegalArgumentException(refusals[CPU]);
  }

  /** What the screen shows. */
  @NotNull
  String classify(Pixels pixels, boolean onGpu) {
    int chosen = onGpu && classifiers[GPU] != null ? GPU : CPU;
    StringBuilder times = new StringBuilder();
    String headline = "";
    for (int i = 0; i < classifiers.length; ++i) {
      if (classifiers[i] == null) {
        times.append(NAMES[i]).append(": ").append(refusals[i]).append('\n');
        continue;
      }
      Classifier.Answer answer = classifiers[i].classify(pixels);
      times.append(
          String.format(Locale.ROOT, "%s: %s in %.2f ms%n", NAMES[i], answer.label, answer.milliseconds));
      if (i == chosen) {
        headline = String.format(
            Locale.ROOT, "%s (%.1f %%) by the %s%n%n", answer.label, 100 * answer.probability, NAMES[i]);
      }
    }
    return headline + times;
  }

  @Override
  public void close() {
    for (Classifier classifier : classifiers) {
      if (classifier != null)
        classifier.close();
    }
  }
}
