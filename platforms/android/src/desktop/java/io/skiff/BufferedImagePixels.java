package io.skiff;

import java.awt.color.ColorSpace;
import java.awt.image.BufferedImage;
import java.awt.image.ColorModel;
import java.awt.image.DataBuffer;
import java.awt.image.Raster;
import org.jetbrains.annotations.NotNull;

/**
 * A {@link BufferedImage} as {@link Session#setImage} takes pictures. For the desktop: Android has no AWT.
 */
public final class BufferedImagePixels {
  private BufferedImagePixels() {}

  /**
   * A copy of an image's pixels, of any type, in sRGB. Greys are what the file says, as other libraries read
   * them: {@code BufferedImage.getRGB} would brighten them, because it takes them for linear light.
   *
   * @param image as {@code ImageIO.read} gives it
   * @return the same picture
   */
  public static @NotNull Pixels of(@NotNull BufferedImage image) {
    Arguments.given(
        image, "image", "a BufferedImage; ImageIO.read gives null for a file that it does not know");
    int width = image.getWidth();
    int height = image.getHeight();
    int[] argb = new int[Math.multiplyExact(width, height)];
    ColorModel colours = image.getColorModel();
    boolean integers = colours.getTransferType() == DataBuffer.TYPE_BYTE
        || colours.getTransferType() == DataBuffer.TYPE_USHORT;
    if (integers && colours.getColorSpace().getType() == ColorSpace.TYPE_GRAY)
      greys(image.getRaster(), colours.getComponentSize(0), argb);
    else
      image.getRGB(0, 0, width, height, argb, 0, width);
    return Pixels.argb(argb, width, height);
  }

  /** Of 16 bits the upper 8. */
  private static void greys(Raster raster, int bits, int[] argb) {
    int[] samples = raster.getSamples(
        raster.getMinX(), raster.getMinY(), raster.getWidth(), raster.getHeight(), 0, new int[argb.length]);
    int most = (1 << bits) - 1;
    for (int i = 0; i < argb.length; ++i) {
      int grey = bits > 8 ? samples[i] >> bits - 8 : samples[i] * 255 / most;
      argb[i] = 0xff000000 | grey << 16 | grey << 8 | grey;
    }
  }
}
