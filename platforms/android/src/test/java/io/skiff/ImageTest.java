package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.After;
import org.junit.Test;

/** Pictures as {@link Session#setImage} takes them: ten of them, sizes up and down, as Pillow has them. */
public class ImageTest {
  private static final int SIDE = 32;
  private final Model model = Model.open(TestModels.CHARACTERS);

  @After
  public void close() {
    model.close();
  }

  private static final class Picture {
    int width;
    int height;
    int channels;
    byte[] samples;

    int[] argb() {
      int[] pixels = new int[width * height];
      for (int i = 0; i < pixels.length; ++i) {
        int r = samples[i * channels] & 0xff;
        int g = samples[i * channels + channels / 2] & 0xff;
        int b = samples[i * channels + channels - 1] & 0xff;
        pixels[i] = 0x7f000000 | r << 16 | g << 8 | b;
      }
      return pixels;
    }
  }

  /** The pictures of the C++ tests: PGM and PPM one behind the other. */
  private static List<Picture> pictures() throws IOException {
    byte[] bytes =
        Files.readAllBytes(new File(System.getProperty("skiff.test.pictures"), "pictures.ppm").toPath());
    List<Picture> pictures = new ArrayList<>();
    for (int at = 0; at < bytes.length;) {
      int end = at;
      for (int lines = 0; lines < 3; ++end) lines += bytes[end] == '\n' ? 1 : 0;
      String[] words = new String(bytes, at, end - at, StandardCharsets.US_ASCII).split("\\s+");
      Picture picture = new Picture();
      picture.channels = words[0].equals("P5") ? 1 : 3;
      picture.width = Integer.parseInt(words[1]);
      picture.height = Integer.parseInt(words[2]);
      picture.samples = new byte[picture.width * picture.height * picture.channels];
      System.arraycopy(bytes, end, picture.samples, 0, picture.samples.length);
      at = end + picture.samples.length;
      pictures.add(picture);
    }
    return pictures;
  }

  private float[] written(Session session, Pixels pixels) {
    session.setImage("image", pixels);
    FloatBuffer buffer = session.inputBuffer("image").asFloatBuffer();
    float[] values = new float[buffer.limit()];
    buffer.get(values);
    return values;
  }

  /**
   * A triangle as wide as what a shrunk sample covers, in 22 bits of fixed point: Pillow's bilinear filter.
   */
  private static int[] line(int[] from, int target) {
    int[] to = new int[target];
    double ratio = (double) from.length / target;
    double reach = Math.max(1, ratio);
    for (int i = 0; i < target; ++i) {
      double centre = (i + 0.5) * ratio;
      int first = Math.max(0, (int) (centre - reach + 0.5));
      int end = Math.min(from.length, (int) (centre + reach + 0.5));
      double[] weights = new double[end - first];
      double sum = 0;
      for (int x = first; x < end; ++x)
        sum += weights[x - first] = Math.max(0, 1 - Math.abs((x - centre + 0.5) * (1 / reach)));
      int result = 1 << 21;
      for (int x = first; x < end; ++x)
        result += from[x] * (int) (weights[x - first] / sum * (1 << 22) + 0.5);
      to[i] = Math.min(255, Math.max(0, result >> 22));
    }
    return to;
  }

  /** Letterboxed on 0, blue first, channels first, as the model was converted; written once more, in Java. */
  private float[] expected(Picture picture) {
    ImageSpec spec = model.signatures().get(0).input("image").image();
    boolean wide = picture.width > picture.height;
    int longest = Math.max(picture.width, picture.height);
    int width = wide ? SIDE : Math.max(1, (int) Math.rint((double) picture.width * SIDE / longest));
    int height = wide ? Math.max(1, (int) Math.rint((double) picture.height * SIDE / longest)) : SIDE;
    int left = (int) Math.rint((SIDE - width) / 2.0);
    int top = (int) Math.rint((SIDE - height) / 2.0);
    float[] values = new float[3 * SIDE * SIDE];
    int[] pixels = picture.argb();
    for (int c = 0; c < 3; ++c) {
      int[][] rows = new int[picture.height][];
      for (int y = 0; y < picture.height; ++y) {
        int[] row = new int[picture.width];
        for (int x = 0; x < row.length; ++x) row[x] = pixels[y * row.length + x] >> (8 * c) & 0xff;
        rows[y] = line(row, width);
      }
      for (int i = 0; i < SIDE * SIDE; ++i) values[c * SIDE * SIDE + i] = (0 - spec.mean(c)) * spec.scale(c);
      for (int x = 0; x < width; ++x) {
        int[] column = new int[picture.height];
        for (int y = 0; y < picture.height; ++y) column[y] = rows[y][x];
        column = line(column, height);
        for (int y = 0; y < height; ++y)
          values[(c * SIDE + top + y) * SIDE + left + x] = (column[y] - spec.mean(c)) * spec.scale(c);
      }
    }
    return values;
  }

  @Test
  public void tenPicturesBecomeWhatJavaComputes() throws IOException {
    List<Picture> pictures = pictures();
    assertEquals(10, pictures.size());
    try (Session session = Session.create(model)) {
      for (Picture picture : pictures) {
        float[] got = written(session, Pixels.argb(picture.argb(), picture.width, picture.height));
        assertArrayEquals(picture.width + "x" + picture.height, expected(picture), got, 0f);
      }
    }
  }

  @Test
  public void arraysAndBuffersAreTheSamePicture() throws IOException {
    Picture picture = pictures().get(3);
    try (Session session = Session.create(model)) {
      float[] expected = written(session, Pixels.argb(picture.argb(), picture.width, picture.height));
      ByteBuffer rgb = TestModels.direct(picture.samples);
      assertArrayEquals(
          expected, written(session, Pixels.of(rgb, Pixels.Format.RGB8, picture.width, picture.height)), 0f);
      // Upside down, and said to be so; behind a position, in rows with gaps.
      int rowBytes = 3 * picture.width + 5;
      ByteBuffer apart = ByteBuffer.allocateDirect(7 + rowBytes * picture.height);
      for (int y = 0; y < picture.height; ++y) {
        apart.position(7 + rowBytes * (picture.height - 1 - y));
        apart.put(picture.samples, 3 * picture.width * y, 3 * picture.width);
      }
      apart.position(7).limit(7 + rowBytes * picture.height);
      Pixels flipped =
          Pixels.of(apart, Pixels.Format.RGB8, picture.width, picture.height, rowBytes).oriented(4);
      assertArrayEquals(expected, written(session, flipped), 0f);
    }
  }

  @Test
  public void namesTheBestClasses() throws IOException {
    try (Session session = Session.create(model)) {
      session.setInput("image", TestModels.reference("input_image.npy"));
      assertThrows(SkiffException.class, () -> session.bestClasses("logits", 3, false));
      session.run();
      List<ClassScore> best = session.bestClasses("logits", 3, true);
      assertEquals(3, best.size());
      assertEquals(
          best.get(0).label(), session.signature().output("logits").labels().get(best.get(0).index()));
      assertTrue(best.get(0).score() > best.get(1).score() && best.get(0).score() <= 1);
      assertEquals(36, session.bestClasses("logits", 5000, false).size());
      assertThrows(IllegalArgumentException.class, () -> session.bestClasses("logits", 0, false));
    }
  }

  @Test
  public void countsAsManyClassesAsThereAre() {
    try (Model many = Model.open(TestModels.TWO_SIGNATURES); Session session = Session.create(many)) {
      int[] scores = new int[1500];
      scores[1234] = 7;
      session.setInput("x", new float[2 * 3]);
      session.setInput("w", scores);
      session.run();
      List<ClassScore> best = session.bestClasses("z", 5000, false);
      assertEquals(scores.length, best.size());
      assertEquals(1234, best.get(0).index());
      assertEquals(1499, best.get(1499).index());
    }
  }

  @Test
  public void refusesWhatIsNoPicture() {
    int[] pixels = new int[6];
    assertThrows(IllegalArgumentException.class, () -> Pixels.argb(pixels, 0, 6));
    assertThrows(IllegalArgumentException.class, () -> Pixels.argb(pixels, 4, 2));
    assertThrows(IllegalArgumentException.class, () -> Pixels.argb(pixels, 3, 2).oriented(9));
    assertThrows(
        IllegalArgumentException.class, () -> Pixels.of(ByteBuffer.allocate(6), Pixels.Format.GREY8, 3, 2));
    ByteBuffer direct = ByteBuffer.allocateDirect(6);
    assertThrows(IllegalArgumentException.class, () -> Pixels.of(direct, Pixels.Format.RGB8, 3, 2));
    assertThrows(IllegalArgumentException.class, () -> Pixels.of(direct, Pixels.Format.GREY8, 3, 2, 2));
    int most = Integer.MAX_VALUE;
    assertThrows(IllegalArgumentException.class, () -> Pixels.of(direct, Pixels.Format.RGB8, most, 1));
    try (Model other = Model.open(TestModels.SMALL); Session session = Session.create(other)) {
      String input = session.signature().inputs().get(0).name();
      String message =
          assertThrows(SkiffException.class, () -> session.setImage(input, Pixels.argb(pixels, 3, 2)))
              .getMessage();
      assertTrue(message, message.contains("does not say how a picture becomes its input"));
    }
  }
}
