package io.skiff;

import java.nio.ByteBuffer;
import org.jetbrains.annotations.NotNull;

/**
 * A picture in memory, for {@link Session#setImage}. It borrows the array or buffer that it was made of, so
 * pixels may change between calls.
 */
public final class Pixels {
  /** The bytes of one pixel, in the order of memory. */
  public enum Format {
    /** One byte. */
    GREY8(1, 1),
    /** Red, green, blue. */
    RGB8(2, 3),
    /** Blue, green, red. */
    BGR8(3, 3),
    /** What {@code Bitmap.copyPixelsToBuffer} gives of {@code ARGB_8888}. */
    RGBA8(4, 4),
    /** An ARGB {@code int} of a little-endian machine. */
    BGRA8(5, 4);

    private final int number;
    private final int bytes;

    Format(int number, int bytes) {
      this.number = number;
      this.bytes = bytes;
    }

    int number() {
      return number;
    }
  }

  /** An int[], or a direct ByteBuffer. */
  final Object memory;
  final int offset;
  final Format format;
  final int width;
  final int height;
  final int rowBytes;
  final int orientation;

  private Pixels(
      Object memory, int offset, Format format, int width, int height, int rowBytes, int orientation) {
    this.memory = memory;
    this.offset = offset;
    this.format = format;
    this.width = width;
    this.height = height;
    this.rowBytes = rowBytes;
    this.orientation = orientation;
  }

  /**
   * Pixels as {@code Bitmap.getPixels} and {@code BufferedImage.getRGB} give them: row by row, alpha in the
   * highest byte, which is ignored.
   *
   * @param pixels as many as the sides say, or more
   * @param width in pixels
   * @param height in pixels
   * @return the picture
   * @throws IllegalArgumentException when a side is not positive, or the array is shorter than the picture
   */
  public static @NotNull Pixels argb(int @NotNull[] pixels, int width, int height) {
    Arguments.given(pixels, "pixels", "an int[] of ARGB pixels, as Bitmap.getPixels gives them");
    check(width, height, 4, 4L * width, 4L * pixels.length);
    return new Pixels(pixels, 0, Format.BGRA8, width, height, 0, 1);
  }

  /**
   * The pixels of a direct buffer from its position on.
   *
   * @param buffer read from its position on
   * @param format the bytes of one pixel
   * @param width in pixels
   * @param height in pixels
   * @param rowBytes from one row to the next
   * @return the picture
   * @throws IllegalArgumentException when the buffer is not direct or shorter than the picture, a side is not
   *     positive, or the rows overlap
   */
  public static @NotNull Pixels of(
      @NotNull ByteBuffer buffer, @NotNull Format format, int width, int height, int rowBytes) {
    checkGiven(buffer, format);
    if (!buffer.isDirect())
      throw new IllegalArgumentException("the pixels' buffer is not direct; see ByteBuffer.allocateDirect()");
    check(width, height, format.bytes, rowBytes, buffer.remaining());
    return new Pixels(buffer, buffer.position(), format, width, height, rowBytes, 1);
  }

  /**
   * The same without gaps between the rows.
   *
   * @param buffer read from its position on
   * @param format the bytes of one pixel
   * @param width in pixels
   * @param height in pixels
   * @return the picture
   */
  public static @NotNull Pixels of(
      @NotNull ByteBuffer buffer, @NotNull Format format, int width, int height) {
    checkGiven(buffer, format);
    if (width > Integer.MAX_VALUE / format.bytes)
      throw new IllegalArgumentException("rows of " + width + " pixels are too long");
    return of(buffer, format, width, height, width * format.bytes);
  }

  /**
   * The same picture, held as a camera's EXIF orientation says: 1, upright, to 8.
   *
   * @param exif the number of the orientation
   * @return the picture
   * @throws IllegalArgumentException for other numbers
   */
  public @NotNull Pixels oriented(int exif) {
    if (exif < 1 || exif > 8)
      throw new IllegalArgumentException("there is no EXIF orientation " + exif + "; it is 1 to 8");
    return new Pixels(memory, offset, format, width, height, rowBytes, exif);
  }

  /** Size, format, and how it was held. */
  @Override
  public @NotNull String toString() {
    String what = memory instanceof int[] ? "ARGB in an int[]"
                                          : format + " in a buffer, rows of " + rowBytes + " bytes";
    return width + "x" + height + " " + what + (orientation == 1 ? "" : ", EXIF orientation " + orientation);
  }

  /** To an input of a native session. */
  void write(long session, long model, int signature, int input) {
    Native.writeImage(session, model, signature, input, memory, offset, format.number(), width, height,
        rowBytes, orientation);
  }

  private static void checkGiven(ByteBuffer buffer, Format format) {
    Arguments.given(buffer, "buffer", "a direct ByteBuffer with the pixels");
    Arguments.given(format, "format", "the bytes of one pixel, Pixels.Format.RGB8 for example");
  }

  /** The native library trusts in this. */
  private static void check(int width, int height, int bytes, long rowBytes, long size) {
    if (width < 1 || height < 1)
      throw new IllegalArgumentException("a picture has no " + width + "x" + height + " pixels");
    if (rowBytes < (long) width * bytes)
      throw new IllegalArgumentException(
          "rows of " + width + " pixels have " + (long) width * bytes + " bytes, not " + rowBytes);
    long needed = rowBytes * (height - 1) + (long) width * bytes;
    if (needed > size)
      throw new IllegalArgumentException(
          "a picture of " + width + "x" + height + " pixels takes " + needed + " bytes; there are " + size);
  }
}
