package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import javax.imageio.ImageIO;
import org.junit.Test;

/** What only the desktop has (src/desktop). */
public class DesktopTest {
  private static final int WIDTH = 37;
  private static final int HEIGHT = 21;

  private static int[] argb(BufferedImage image) {
    return (int[]) BufferedImagePixels.of(image).memory;
  }

  private static int colour(int x, int y, int alpha) {
    return alpha << 24 | (x * 7 & 0xff) << 16 | (y * 11 & 0xff) << 8 | x * y & 0xff;
  }

  @Test
  public void coloursAreThose() {
    int[] types = {BufferedImage.TYPE_INT_RGB, BufferedImage.TYPE_INT_BGR, BufferedImage.TYPE_3BYTE_BGR,
        BufferedImage.TYPE_INT_ARGB, BufferedImage.TYPE_4BYTE_ABGR};
    for (int type : types) {
      BufferedImage image = new BufferedImage(WIDTH + 5, HEIGHT + 3, type);
      for (int y = 0; y < image.getHeight(); ++y)
        for (int x = 0; x < image.getWidth(); ++x) image.setRGB(x, y, colour(x, y, 0x40));
      BufferedImage part = image.getSubimage(5, 3, WIDTH, HEIGHT);
      Pixels pixels = BufferedImagePixels.of(part);
      assertEquals(WIDTH, pixels.width);
      assertEquals(HEIGHT, pixels.height);
      int[] found = (int[]) pixels.memory;
      for (int i = 0; i < found.length; ++i)
        assertEquals(colour(5 + i % WIDTH, 3 + i / WIDTH, 0) & 0xffffff, found[i] & 0xffffff);
    }
  }

  /** Not brightened, whatever the virtual machine thinks of grey. */
  @Test
  public void greysAreWhatTheFileSays() throws IOException {
    BufferedImage grey = new BufferedImage(16, 16, BufferedImage.TYPE_BYTE_GRAY);
    BufferedImage fine = new BufferedImage(16, 16, BufferedImage.TYPE_USHORT_GRAY);
    int[] expected = new int[256];
    for (int i = 0; i < 256; ++i) {
      grey.getRaster().setSample(i % 16, i / 16, 0, i);
      fine.getRaster().setSample(i % 16, i / 16, 0, i << 8 | 0x80);
      expected[i] = 0xff000000 | i * 0x010101;
    }
    assertArrayEquals(expected, argb(grey));
    assertArrayEquals(expected, argb(fine));
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    ImageIO.write(grey, "png", png);
    assertArrayEquals(expected, argb(ImageIO.read(new ByteArrayInputStream(png.toByteArray()))));
    // A picture of two colours is an indexed one.
    BufferedImage binary = new BufferedImage(2, 1, BufferedImage.TYPE_BYTE_BINARY);
    binary.setRGB(1, 0, -1);
    assertArrayEquals(new int[] {0xff000000, 0xffffffff}, argb(binary));
  }

  @Test
  public void platformsAreNamedAsTheirJars() {
    assertEquals("linux-x86_64", NativeLibrary.platform("Linux", "amd64"));
    assertEquals("linux-aarch64", NativeLibrary.platform("Linux", "aarch64"));
    assertEquals("linux-armv7", NativeLibrary.platform("Linux", "arm"));
    assertEquals("macos-aarch64", NativeLibrary.platform("Mac OS X", "aarch64"));
    assertEquals("windows-x86_64", NativeLibrary.platform("Windows 11", "amd64"));
  }
}
