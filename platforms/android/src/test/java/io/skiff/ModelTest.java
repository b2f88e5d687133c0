package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class ModelTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private static SkiffException refusal(final String path) {
    return assertThrows(SkiffException.class, () -> Model.open(path).close());
  }

  private static byte[] bytesOf(String path) throws IOException {
    return Files.readAllBytes(new File(path).toPath());
  }

  /** That a model works which lives in this buffer. */
  private static void assertWorks(ByteBuffer bytes) {
    int position = bytes.position();
    int limit = bytes.limit();
    try (Model model = Model.open(bytes); Session session = Session.create(model)) {
      session.inputBuffer("image");
      session.run();
      assertEquals(40, session.output("scores").data().remaining());
    }
    assertEquals(position, bytes.position());
    assertEquals(limit, bytes.limit());
  }

  @Test
  public void tellsItsSignatures() {
    try (Model model = Model.open(TestModels.TWO_SIGNATURES)) {
      assertEquals(2, model.signatures().size());
      Signature open = model.signatures().get(0);
      assertEquals("double", open.name());
      assertEquals(2, open.inputs().size());
      TensorType x = open.input("x");
      assertEquals(DType.F32, x.dtype());
      assertArrayEquals(new long[] {TensorType.VARIES, 3}, x.shape());
      assertEquals("x: f32[n, 3]", x.toString());
      assertEquals("n=2..8,multiple=2", x.symbol(0).toString());
      assertNull(x.symbol(1));
      Symbol m = open.input("w").symbol(0);
      assertEquals("m", m.name());
      assertEquals(1, m.min());
      assertEquals(Symbol.UNBOUNDED, m.max());
      assertEquals(1, m.multiple());
      assertEquals(DType.I32, open.output("z").dtype());

      Signature fixed = model.signature("größe 😀");
      assertTrue(fixed.input("a").isFixed());
      assertArrayEquals(new long[] {4}, fixed.output("b").shape());
      assertThrows(UnsupportedOperationException.class, () -> model.signatures().clear());
    }
  }

  @Test
  public void namesWhatItHasInstead() {
    try (Model model = Model.open(TestModels.TWO_SIGNATURES)) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> model.signature("triple")).getMessage();
      assertTrue(message, message.contains("'triple'") && message.contains("double"));
      message = assertThrows(IllegalArgumentException.class, () -> model.signatures().get(0).output("q"))
                    .getMessage();
      assertTrue(message, message.contains("no output 'q'") && message.contains("y: f32"));
    }
  }

  @Test
  public void tellsItsMetadata() {
    try (Model model = Model.open(TestModels.TWO_SIGNATURES)) {
      assertEquals("Zoë 😀", model.metadata("author"));
      assertEquals("", model.metadata("empty"));
      assertNull(model.metadata("nothing"));
      assertThrows(IllegalArgumentException.class, () -> model.metadata("author\0"));
    }
  }

  @Test
  public void tellsPicturesAndLabels() {
    try (Model model = Model.open(TestModels.CHARACTERS); Model other = Model.open(TestModels.SMALL)) {
      Signature signature = model.signatures().get(0);
      ImageSpec image = signature.input("image").image();
      assertEquals(32, image.width());
      assertTrue(image.blueFirst() && !image.channelsLast());
      assertEquals(128f, image.mean(1), 0f);
      assertEquals(128.5f, image.mean(2), 0f);
      assertEquals(0.0078125f, image.scale(2), 0f);
      assertThrows(IllegalArgumentException.class, () -> image.mean(3));
      assertThrows(IllegalArgumentException.class, () -> image.scale(-1));
      List<String> labels = signature.output("logits").labels();
      assertEquals(36, labels.size());
      assertEquals("0", labels.get(0));
      assertEquals("Z", labels.get(35));
      assertThrows(UnsupportedOperationException.class, () -> labels.clear());
      assertNull(signature.output("logits").image());
      assertNull(other.signatures().get(0).input("image").image());
      assertTrue(other.signatures().get(0).output("scores").labels().isEmpty());
    }
  }

  @Test
  public void tellsHowIntegersStandForRealNumbers() {
    try (Model model = Model.open(TestModels.QUANTIZED)) {
      Signature signature = model.signatures().get(0);
      Quantization x = signature.input("x").quantization();
      assertEquals("x: u8[4] {scale 0.5, zero point 100}", signature.input("x").toString());
      assertEquals(Quantization.PER_TENSOR, x.axis());
      assertEquals(0, x.block());
      assertEquals(0.5f, x.scale(), 0f);
      assertEquals(100, x.zeroPoint());
      assertArrayEquals(new float[] {0.5f}, x.scales(), 0f);
      assertArrayEquals(new int[] {100}, x.zeroPoints());
      assertEquals(77.5f, x.toReal(255), 0f);
      assertEquals(-50f, x.toReal(0), 0f);
      float[] reals = {0.25f, 0.75f, -0.25f, 78f, -51f, Float.NaN, Float.POSITIVE_INFINITY, -0f};
      int[] integers = {100, 102, 100, 255, 0, 100, 255, 100};
      for (int i = 0; i < reals.length; ++i) assertEquals(integers[i], x.toInteger(reals[i]));

      Quantization rows = signature.output("rows").quantization();
      assertEquals("3 scales along axis 1", rows.toString());
      assertEquals(1, rows.axis());
      assertArrayEquals(new float[] {1, 0.5f, 2}, rows.scales(), 0f);
      assertArrayEquals(new int[] {0, 10, -10}, rows.zeroPoints());
      assertEquals(12, rows.toInteger(1f, 1));
      assertEquals(32767, rows.toInteger(1e9f, 1));
      assertEquals(8f, rows.toReal(-6, 2), 0f);
      assertThrows(IllegalStateException.class, rows::scale);
      assertThrows(IllegalStateException.class, () -> rows.toReal(1));
      rows.scales()[0] = 7;
      assertEquals(1f, rows.scales()[0], 0f);

      Quantization blocks = signature.output("blocks").quantization();
      assertEquals(2, blocks.block());
      assertArrayEquals(new float[] {1, 2, 3, 4}, blocks.scales(), 0f);
      assertArrayEquals(new int[4], blocks.zeroPoints());
      assertEquals(-128, blocks.toInteger(-1e9f, 3));
      assertEquals(0, signature.output("y").quantization().zeroPoint());
      assertNull(signature.input("table").quantization());
      assertNull(signature.output("plain").quantization());
      try (Model again = Model.open(TestModels.QUANTIZED)) {
        Quantization same = again.signatures().get(0).input("x").quantization();
        assertTrue(same != x && same.equals(x) && same.hashCode() == x.hashCode() && !x.equals(rows));
      }
    }
  }

  /** What Java computes is what the model computes. */
  @Test
  public void quantisesAsTheModelDoes() {
    try (Model model = Model.open(TestModels.QUANTIZED); Session session = Session.create(model)) {
      Signature signature = model.signatures().get(0);
      Quantization x = signature.input("x").quantization();
      ByteBuffer input = session.inputBuffer("x");
      float[] reals = {0.25f, 0.75f, -1000f, 1000f};
      for (float real : reals) input.put((byte) x.toInteger(real));
      float[] table = {1, 1, 1, -2, 0.75f, 7};
      session.inputBuffer("table").asFloatBuffer().put(table);
      session.run();
      ByteBuffer y = session.output("y").data();
      ByteBuffer plain = session.output("plain").data();
      ByteBuffer blocks = session.output("blocks").data();
      ByteBuffer rows = session.output("rows").data();
      Quantization toY = signature.output("y").quantization();
      for (int i = 0; i < 4; ++i) {
        float real = x.toReal(x.toInteger(reals[i]));
        assertEquals(real, plain.getFloat(4 * i), 0f);
        assertEquals(toY.toInteger(real), y.get(i));
      }
      Quantization toRows = signature.output("rows").quantization();
      Quantization toBlocks = signature.output("blocks").quantization();
      for (int i = 0; i < 6; ++i) {
        assertEquals(toRows.toInteger(table[i], i % 3), rows.getShort(2 * i));
        assertEquals(toBlocks.toInteger(table[i], i / 3 * 2 + i % 3 / 2), blocks.get(i));
      }
    }
  }

  /** A cache that cannot be written is a warning. */
  @Test
  public void messagesGoToTheSink() {
    List<String> messages = new ArrayList<>();
    ModelOptions options = new ModelOptions().cacheFolder(folder.getRoot() + "/none ü");
    Skiff.setLogSink((level, message) -> {
      messages.add(level + " " + message);
      throw new IllegalStateException("dropped");
    });
    try {
      try (Model model = Model.open(TestModels.SMALL, options); Session session = Session.create(model)) {
        session.inputBuffer("image");
        session.run();
      }
    } finally {
      Skiff.setLogSink(null);
    }
    assertEquals(messages.toString(), 1, messages.size());
    assertTrue(messages.get(0), messages.get(0).startsWith("WARNING ") && messages.get(0).contains("none ü"));
  }

  @Test
  public void opensAFileWhateverItsName() throws IOException {
    File file = folder.newFile("größe 😀.skiff");
    Files.write(file.toPath(), bytesOf(TestModels.SMALL));
    try (Model model = Model.open(file.getPath())) {
      assertEquals("image", model.signatures().get(0).inputs().get(0).name());
    }
  }

  @Test
  public void opensAMappedFileInPlace() throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(TestModels.SMALL, "r")) {
      assertWorks(file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length()));
    }
  }

  @Test
  public void opensBytesAtAnyPlace() throws IOException {
    byte[] bytes = bytesOf(TestModels.SMALL);
    ByteBuffer memory = ByteBuffer.allocateDirect(bytes.length + 80);
    for (int begin = 0; begin < 80; ++begin) {
      memory.clear();
      memory.position(begin);
      memory.put(bytes);
      memory.limit(begin + bytes.length);
      memory.position(begin);
      assertWorks(memory);
    }
    assertThrows(IllegalArgumentException.class, () -> Model.open(ByteBuffer.wrap(bytes)));
  }

  /** The collector must not take the memory of a model that only the native library still reads. */
  @Test
  public void keepsItsBytesAlive() throws IOException {
    try (Model model = Model.open(TestModels.direct(bytesOf(TestModels.CHARACTERS)))) {
      for (int i = 0; i < 20; ++i) {
        System.gc();
        ByteBuffer other = ByteBuffer.allocateDirect(1 << 20);
        while (other.hasRemaining()) other.putLong(-1);
      }
      try (Session session = Session.create(model)) {
        session.setInput("image", TestModels.reference("input_image.npy"));
        session.run();
        TestModels.assertIsReference(session.output("logits"));
      }
    }
  }

  @Test
  public void refusesWhatIsNoModel() throws IOException {
    SkiffException missing = refusal(folder.getRoot() + "/none ü.skiff");
    assertEquals(Status.IO, missing.status());
    assertTrue(missing.getMessage(), missing.getMessage().contains("none ü.skiff"));

    File damaged = folder.newFile();
    byte[] bytes = bytesOf(TestModels.SMALL);
    Files.write(damaged.toPath(), Arrays.copyOf(bytes, bytes.length / 2));
    SkiffException refused = refusal(damaged.getPath());
    assertEquals(Status.INVALID_MODEL, refused.status());
    assertTrue(refused.getMessage(), refused.getMessage().contains(damaged.getPath()));
    assertEquals("invalid model", refused.status().toString());

    assertThrows(SkiffException.class, () -> Model.open(ByteBuffer.allocateDirect(0)));
    assertThrows(NullPointerException.class, () -> Model.open((String) null));
  }

  /** A second opening maps what the first one packed. */
  @Test
  public void keepsPackedWeightsInAFolder() throws IOException {
    ModelOptions options = new ModelOptions().cacheFolder(folder.newFolder("größe").getPath());
    long packed;
    try (Model model = Model.open(TestModels.CHARACTERS, options); Session session = Session.create(model)) {
      packed = session.memoryUsage().packedWeights() + session.memoryUsage().mappedPackedWeights();
      model.saveCache();
    }
    ByteBuffer bytes = TestModels.direct(bytesOf(TestModels.CHARACTERS));
    for (Model model :
        Arrays.asList(Model.open(TestModels.CHARACTERS, options), Model.open(bytes, options))) {
      try (Session session = Session.create(model)) {
        assertTrue(session.memoryUsage().mappedPackedWeights() > packed / 2);
        session.setInput("image", TestModels.reference("input_image.npy"));
        session.run();
        TestModels.assertIsReference(session.output("logits"));
      }
      model.close();
    }
  }

  @Test
  public void theLibraryTellsItsVersion() {
    assertEquals(System.getProperty("skiff.test.version"), Skiff.version());
  }

  /** The numbers of the enums are those of the C API. */
  @Test
  public void enumsAreTheNativeLibrarys() {
    for (DType dtype : DType.values()) {
      assertEquals(dtype.name().toLowerCase(), dtype.toString());
      assertEquals(dtype, DType.of(dtype.number()));
    }
    assertEquals(2, DType.F16.size());
    assertEquals(8, DType.U64.size());
    assertEquals(0, DType.I4.size());
    assertEquals(Arrays
                     .asList("invalid argument", "invalid model", "unsupported", "no matching bucket",
                         "out of memory", "input/output error", "cancelled", "device lost", "internal error")
                     .toString(),
        Arrays.toString(Status.values()));
  }
}
