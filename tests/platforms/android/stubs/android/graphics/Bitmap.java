package android.graphics;

/**
 * As much of Android's class of this name as BitmapPixels uses, with the behaviour that Android documents:
 * pixels come as ARGB with alpha not multiplied in, and those of a HARDWARE or a recycled bitmap not at all.
 * For tests on the desktop only; applications are compiled against Android's own.
 */
public final class Bitmap {
  public enum Config { ALPHA_8, RGB_565, ARGB_4444, ARGB_8888, RGBA_F16, HARDWARE }

  private final int width;
  private final int height;
  private final Config config;
  private final int[] pixels;
  private boolean recycled;

  private Bitmap(int[] pixels, int width, int height, Config config) {
    this.pixels = pixels;
    this.width = width;
    this.height = height;
    this.config = config;
  }

  public static Bitmap createBitmap(int[] colors, int width, int height, Config config) {
    int[] pixels = colors.clone();
    for (int i = 0; i < pixels.length && config == Config.RGB_565; ++i) {
      int r = pixels[i] >> 19 & 0x1f;
      int g = pixels[i] >> 10 & 0x3f;
      int b = pixels[i] >> 3 & 0x1f;
      pixels[i] = 0xff000000 | (r << 3 | r >> 2) << 16 | (g << 2 | g >> 4) << 8 | (b << 3 | b >> 2);
    }
    return new Bitmap(pixels, width, height, config);
  }

  public Bitmap copy(Config other, boolean mutable) {
    return new Bitmap(pixels.clone(), width, height, other);
  }

  public int getWidth() {
    return width;
  }

  public int getHeight() {
    return height;
  }

  public Config getConfig() {
    return config;
  }

  public boolean isRecycled() {
    return recycled;
  }

  public void recycle() {
    recycled = true;
  }

  public void getPixels(int[] to, int offset, int stride, int x, int y, int columns, int rows) {
    if (recycled || config == Config.HARDWARE)
      throw new IllegalStateException("unable to getPixels()");
    for (int row = 0; row < rows; ++row)
      System.arraycopy(pixels, (y + row) * width + x, to, offset + row * stride, columns);
  }
}
