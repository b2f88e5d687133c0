package io.skiff.sample;

import io.skiff.ImageSpec;
import java.nio.FloatBuffer;
import org.jetbrains.annotations.NotNull;

/** From a picture of any size to what the model was trained on, as its file says. */
final class Preprocessing {
  private final ImageSpec spec;

  /** @throws IllegalArgumentException when the model does not want three channels */
  Preprocessing(@NotNull ImageSpec spec) {
    if (spec.channels() != 3)
      throw new IllegalArgumentException(
          "the model wants pictures of " + spec.channels() + " channels, not 3");
    this.spec = spec;
  }

  /**
   * Resizes bilinearly with half-pixel centres, edges clamped.
   *
   * @param argb the picture's pixels, row by row, alpha in the highest byte (ignored)
   * @param input room for 3 x height x width values, written from its beginning
   */
  void write(int[] argb, int width, int height, FloatBuffer input) {
    for (int y = 0; y < spec.height(); ++y) {
      float row = place(y, spec.height(), height);
      int top = (int) row;
      int bottom = Math.min(top + 1, height - 1);
      for (int x = 0; x < spec.width(); ++x) {
        float column = place(x, spec.width(), width);
        int left = (int) column;
        int right = Math.min(left + 1, width - 1);
        for (int channel = 0; channel < 3; ++channel) {
          int shift = spec.blueFirst() ? 8 * channel : 16 - 8 * channel;
          float upper = mix(argb[top * width + left], argb[top * width + right], shift, column - left);
          float lower = mix(argb[bottom * width + left], argb[bottom * width + right], shift, column - left);
          float value = upper + (row - top) * (lower - upper);
          input.put(index(y, x, channel), (value - spec.mean(channel)) * spec.scale(channel));
        }
      }
    }
  }

  private int index(int y, int x, int channel) {
    int pixel = y * spec.width() + x;
    return spec.channelsLast() ? 3 * pixel + channel : channel * spec.width() * spec.height() + pixel;
  }

  /** Where a pixel of the model's picture samples a side of the given one. */
  private static float place(int i, int target, int source) {
    return Math.min(Math.max(0f, (i + 0.5f) * source / target - 0.5f), source - 1);
  }

  private static float mix(int first, int second, int shift, float fraction) {
    int a = first >> shift & 0xff;
    int b = second >> shift & 0xff;
    return a + fraction * (b - a);
  }
}
