package io.skiff.sample;

import java.nio.FloatBuffer;

/** From a picture of any size to what the model was trained on; see samples/characters/README.md. */
final class Preprocessing {
  static final int SIDE = 32;
  private static final float MEAN = 127.5f;
  private static final float SCALE = 0.00784313725f;

  private Preprocessing() {}

  /**
   * Resizes bilinearly with half-pixel centres, edges clamped, and writes planes of red, green and blue.
   *
   * @param argb the picture's pixels, row by row, alpha in the highest byte (ignored)
   * @param planes room for 3 x 32 x 32 values, written from its beginning
   */
  static void write(int[] argb, int width, int height, FloatBuffer planes) {
    for (int y = 0; y < SIDE; ++y) {
      float row = place(y, height);
      int top = (int) row;
      int bottom = Math.min(top + 1, height - 1);
      for (int x = 0; x < SIDE; ++x) {
        float column = place(x, width);
        int left = (int) column;
        int right = Math.min(left + 1, width - 1);
        for (int channel = 0; channel < 3; ++channel) {
          int shift = 16 - 8 * channel;
          float upper = mix(argb[top * width + left], argb[top * width + right], shift, column - left);
          float lower = mix(argb[bottom * width + left], argb[bottom * width + right], shift, column - left);
          float value = upper + (row - top) * (lower - upper);
          planes.put((channel * SIDE + y) * SIDE + x, (value - MEAN) * SCALE);
        }
      }
    }
  }

  /** Where a pixel of the small picture samples a side of the large one. */
  private static float place(int i, int size) {
    return Math.min(Math.max(0f, (i + 0.5f) * size / SIDE - 0.5f), size - 1);
  }

  private static float mix(int first, int second, int shift, float fraction) {
    int a = first >> shift & 0xff;
    int b = second >> shift & 0xff;
    return a + fraction * (b - a);
  }
}
