package io.skiff;

import android.graphics.Bitmap;
import org.jetbrains.annotations.NotNull;

/** A {@link Bitmap} as {@link Session#setImage} takes pictures. */
public final class BitmapPixels {
  private BitmapPixels() {}

  /**
   * A copy of a bitmap's pixels: those of {@code ARGB_8888}, {@code RGB_565}, {@code ARGB_4444} and {@code
   * RGBA_F16}, in sRGB, with alpha not multiplied in, as the pictures of a training are read.
   *
   * @param bitmap as {@code BitmapFactory.decodeFile} and its kin give it
   * @return the same picture
   * @throws IllegalArgumentException when the bitmap was recycled, lies in the GPU's memory ({@code
   *     HARDWARE}), or has no colours ({@code ALPHA_8})
   */
  public static @NotNull Pixels of(@NotNull Bitmap bitmap) {
    return of(bitmap, new int[count(bitmap)]);
  }

  /**
   * The same without a new array, for pictures that come one after the other.
   *
   * @param bitmap as {@code BitmapFactory.decodeFile} and its kin give it
   * @param memory takes the pixels, and belongs to the picture as long as that is used
   * @return the same picture
   * @throws IllegalArgumentException as {@link #of(Bitmap)}, or when the array is shorter than the picture
   */
  public static @NotNull Pixels of(@NotNull Bitmap bitmap, int @NotNull[] memory) {
    int count = count(bitmap);
    Arguments.given(memory, "memory", "an int[] with room for the bitmap's pixels");
    if (memory.length < count)
      throw new IllegalArgumentException(
          "a bitmap of " + size(bitmap) + " pixels does not fit into an array of " + memory.length);
    int width = bitmap.getWidth();
    bitmap.getPixels(memory, 0, width, 0, 0, width, bitmap.getHeight());
    return Pixels.argb(memory, width, bitmap.getHeight());
  }

  /** How many pixels there are, where they can be read. */
  private static int count(Bitmap bitmap) {
    Arguments.given(bitmap, "bitmap", "a Bitmap; BitmapFactory gives null for a file that it cannot decode");
    if (bitmap.isRecycled())
      throw new IllegalArgumentException("the bitmap of " + size(bitmap) + " pixels was recycled");
    // By name: Android 7 has no HARDWARE yet. Null is a format that Android itself has no name for.
    String config = bitmap.getConfig() == null ? "private" : bitmap.getConfig().name();
    if (config.equals("HARDWARE"))
      throw new IllegalArgumentException("the bitmap of " + size(bitmap)
          + " pixels is a HARDWARE one, whose pixels the "
          + "CPU cannot read; give bitmap.copy(Bitmap.Config.ARGB_8888, false), or decode it with "
          + "inPreferredConfig = ARGB_8888 (ImageDecoder: setAllocator(ALLOCATOR_SOFTWARE))");
    if (config.equals("ALPHA_8"))
      throw new IllegalArgumentException("the bitmap of " + size(bitmap)
          + " pixels is ALPHA_8, which has no colours; give its values by Pixels.of("
          + "buffer, Pixels.Format.GREY8, width, height)");
    // A bitmap's bytes are counted by an int.
    return bitmap.getWidth() * bitmap.getHeight();
  }

  private static String size(Bitmap bitmap) {
    return bitmap.getWidth() + "x" + bitmap.getHeight();
  }
}
