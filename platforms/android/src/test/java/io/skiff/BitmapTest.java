package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.graphics.Bitmap;
import org.junit.Test;

/** Android's classes (src/android) over a Bitmap of the tests' own (tests/platforms/android/stubs). */
public class BitmapTest {
  private static final int WIDTH = 40;
  private static final int HEIGHT = 24;

  private static int[] colours() {
    int[] pixels = new int[WIDTH * HEIGHT];
    for (int i = 0; i < pixels.length; ++i) pixels[i] = 0x80000000 | i * 4099 & 0xffffff;
    return pixels;
  }

  private static Bitmap bitmap(Bitmap.Config config) {
    return Bitmap.createBitmap(colours(), WIDTH, HEIGHT, config);
  }

  private static float[] input(Session session, Pixels pixels) {
    session.setImage("image", pixels);
    float[] values = new float[3 * 32 * 32];
    session.inputBuffer("image").asFloatBuffer().get(values);
    return values;
  }

  private static String refusal(Bitmap bitmap) {
    return assertThrows(IllegalArgumentException.class, () -> BitmapPixels.of(bitmap)).getMessage();
  }

  @Test
  public void isThePictureOfItsPixels() {
    try (Model model = Model.open(TestModels.CHARACTERS); Session session = Session.create(model)) {
      float[] expected = input(session, Pixels.argb(colours(), WIDTH, HEIGHT));
      for (Bitmap.Config config : new Bitmap.Config[] {Bitmap.Config.ARGB_8888, Bitmap.Config.RGBA_F16})
        assertArrayEquals(expected, input(session, BitmapPixels.of(bitmap(config))), 0f);
      int[] memory = new int[WIDTH * HEIGHT + 1];
      Pixels first = BitmapPixels.of(bitmap(Bitmap.Config.ARGB_8888), memory);
      assertArrayEquals(expected, input(session, first), 0f);
      // Five or six bits of each channel: (8 / 2 + rounding) of 255 at most, after the model's scale of 1 /
      // 128.
      float[] coarse = input(session, BitmapPixels.of(bitmap(Bitmap.Config.RGB_565)));
      assertArrayEquals(expected, coarse, 8 / 128f);
      float most = 0;
      for (int i = 0; i < coarse.length; ++i) most = Math.max(most, Math.abs(coarse[i] - expected[i]));
      assertTrue("not the same pixels", most > 0);
    }
  }

  @Test
  public void refusesWhatTheCpuCannotRead() {
    assertEquals("the bitmap of 40x24 pixels is a HARDWARE one, whose pixels the CPU cannot read; give "
            + "bitmap.copy(Bitmap.Config.ARGB_8888, false), or decode it with inPreferredConfig = ARGB_8888 "
            + "(ImageDecoder: setAllocator(ALLOCATOR_SOFTWARE))",
        refusal(bitmap(Bitmap.Config.HARDWARE)));
    assertTrue(refusal(bitmap(Bitmap.Config.ALPHA_8)).contains("ALPHA_8, which has no colours"));
    Bitmap gone = bitmap(Bitmap.Config.ARGB_8888);
    gone.recycle();
    assertEquals("the bitmap of 40x24 pixels was recycled", refusal(gone));
    String message = assertThrows(IllegalArgumentException.class,
        () -> BitmapPixels.of(bitmap(Bitmap.Config.ARGB_8888), new int[WIDTH * HEIGHT - 1]))
                         .getMessage();
    assertEquals("a bitmap of 40x24 pixels does not fit into an array of 959", message);
    Pixels advised = BitmapPixels.of(bitmap(Bitmap.Config.HARDWARE).copy(Bitmap.Config.ARGB_8888, false));
    assertEquals("40x24 ARGB in an int[]", advised.toString());
  }

  @Test
  public void namesWhatIsNull() {
    assertEquals(
        "bitmap is null: expected a Bitmap; BitmapFactory gives null for a file that it cannot decode",
        assertThrows(NullPointerException.class, () -> BitmapPixels.of(null)).getMessage());
    assertEquals("memory is null: expected an int[] with room for the bitmap's pixels",
        assertThrows(NullPointerException.class, () -> BitmapPixels.of(bitmap(Bitmap.Config.ARGB_8888), null))
            .getMessage());
  }
}
