package io.skiff.sample;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.skiff.BufferedImagePixels;
import io.skiff.Model;
import io.skiff.Session;
import io.skiff.SessionOptions;
import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import javax.imageio.ImageIO;
import org.junit.After;
import org.junit.Test;

/**
 * What the application computes and says, without Android: over the assets that it ships and all sample
 * pictures.
 */
public class ComparisonTest {
  private static final File CHARACTERS = new File(System.getProperty("skiff.test.characters"));
  private static final File ASSETS = new File(System.getProperty("skiff.test.assets"));

  private final Model model = Model.open(new File(ASSETS, "characters.skiff").getPath());

  @After
  public void close() {
    model.close();
  }

  @Test
  public void namesEverySamplePicture() throws IOException {
    File[] pictures = new File(CHARACTERS, "images").listFiles();
    assertEquals(6, pictures.length);
    try (Classifier classifier = new Classifier(model, new SessionOptions())) {
      for (File file : pictures) {
        BufferedImage picture = ImageIO.read(file);
        Classifier.Answer answer = classifier.classify(BufferedImagePixels.of(picture));
        assertEquals(file.getName(), file.getName().substring(0, 1), answer.label);
        assertTrue(answer.probability > 0.5 && answer.probability <= 1);
        assertTrue(answer.milliseconds > 0);
      }
    }
  }

  /** This picture is resized; PyTorch's tensor of it is in the tree. */
  @Test
  public void preprocessesAsInTraining() throws IOException {
    BufferedImage picture = ImageIO.read(new File(CHARACTERS, "images/A_roboto-regular_64x64.png"));
    ByteBuffer npy =
        ByteBuffer
            .wrap(Files.readAllBytes(
                new File(CHARACTERS, "reference/A_roboto-regular_64x64/input_image.npy").toPath()))
            .order(ByteOrder.LITTLE_ENDIAN);
    npy.position(10 + npy.getShort(8));
    FloatBuffer expected = npy.slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    try (Session session = Session.create(model)) {
      session.setImage("image", BufferedImagePixels.of(picture));
      FloatBuffer got = session.inputBuffer("image").asFloatBuffer();
      assertEquals(expected.limit(), got.limit());
      for (int i = 0; i < got.limit(); ++i) assertEquals(expected.get(i), got.get(i), 0f);
    }
  }

  @Test
  public void comparesTheBackends() throws IOException {
    BufferedImage picture = ImageIO.read(new File(ASSETS, "picture.png"));
    boolean hasGpu = System.getProperty("skiff.test.gpu").equals("VULKAN");
    try (Comparison comparison = new Comparison(model)) {
      for (boolean onGpu : new boolean[] {false, true}) {
        String shown = comparison.classify(BufferedImagePixels.of(picture), onGpu);
        assertTrue(shown, shown.startsWith("R ("));
        assertTrue(shown, shown.contains(" by the " + (onGpu && hasGpu ? "GPU" : "CPU")));
        assertTrue(shown, shown.contains("\nCPU: R in "));
        assertTrue(shown, shown.contains("\nGPU: R in ") == hasGpu);
        assertTrue(shown, shown.contains("\nCPU, reference kernels: R in "));
      }
    }
  }

  @Test
  public void wantsAModelWithAnImage() {
    String path = new File(System.getProperty("skiff.test.models"), "counter.skiff").getPath();
    try (Model other = Model.open(path)) {
      assertThrows(IllegalArgumentException.class, () -> new Comparison(other));
    }
  }
}
