package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import org.junit.After;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

public class SessionTest {
  private final Model characters = Model.open(TestModels.CHARACTERS);
  private final Model open = Model.open(TestModels.TWO_SIGNATURES);

  @After
  public void close() {
    characters.close();
    open.close();
  }

  private static void assertSays(IllegalArgumentException exception, String part) {
    assertTrue(exception.getMessage(), exception.getMessage().contains(part));
  }

  private static void assertRefused(String part, ThrowingRunnable call) {
    assertSays(assertThrows(IllegalArgumentException.class, call), part);
  }

  private void assertComputesTheReference(SessionOptions options) throws IOException {
    try (Session session = Session.create(characters, options)) {
      session.setInput("image", TestModels.reference("input_image.npy"));
      session.run();
      Tensor logits = session.output("logits");
      assertEquals(DType.F32, logits.dtype());
      assertArrayEquals(new long[] {1, 36}, logits.shape());
      TestModels.assertIsReference(logits);
    }
  }

  @Test
  public void computesWhatPyTorchDid() throws IOException {
    assertComputesTheReference(new SessionOptions());
    assertComputesTheReference(new SessionOptions().threads(2).keptShapes(1));
    assertComputesTheReference(new SessionOptions().backend(Backend.REFERENCE));
  }

  /**
   * The file has plans for the GPU too. Where there is one they run there, and the session tells either way.
   */
  @Test
  public void computesItOnTheGpu() throws IOException {
    SessionOptions options = new SessionOptions().target(Target.VULKAN);
    assertComputesTheReference(options);
    try (Session session = Session.create(characters, options); Session cpu = Session.create(characters)) {
      assertEquals(Target.valueOf(System.getProperty("skiff.test.gpu")), session.target());
      assertEquals(Target.CPU, cpu.target());
    }
  }

  @Test
  public void inputsAreWrittenInPlace() throws IOException {
    try (Session session = Session.create(characters)) {
      ByteBuffer image = session.inputBuffer("image");
      assertTrue(image.isDirect());
      assertEquals(ByteOrder.nativeOrder(), image.order());
      assertEquals(3 * 32 * 32 * 4, image.capacity());
      assertEquals(Native.address(image), Native.address(session.inputBuffer("image", 1, 3, 32, 32)));
      image.put(TestModels.reference("input_image.npy"));
      session.run();
      Tensor logits = session.output("logits");
      TestModels.assertIsReference(logits);
      session.run();
      assertEquals("no copy", Native.address(logits.data()), Native.address(session.output("logits").data()));
      assertThrows(ReadOnlyBufferException.class, () -> logits.data().put(0, (byte) 0));
    }
  }

  @Test
  public void inputsLiveInTheCallersBuffer() throws IOException {
    ByteBuffer pixels = TestModels.reference("input_image.npy");
    int bytes = pixels.remaining();
    ByteBuffer own = ByteBuffer.allocateDirect(8 + bytes + 16).order(ByteOrder.nativeOrder());
    own.position(8);
    own.limit(8 + bytes);
    try (Session session = Session.create(characters)) {
      session.bindInput("image", own);
      session.run();
      float ofZeros = session.output("logits").data().getFloat(0);
      own.duplicate().put(pixels);
      session.run();
      TestModels.assertIsReference(session.output("logits"));
      assertNotEquals(ofZeros, session.output("logits").data().getFloat(0), 1e-3f);

      own.limit(8 + bytes + 1);
      own.position(9);
      assertRefused("15 bytes behind its limit", () -> session.bindInput("image", own));
      ByteBuffer odd = ByteBuffer.allocateDirect(bytes + 64).order(ByteOrder.nativeOrder());
      odd.position(1);
      odd.limit(1 + bytes);
      assertEquals(Status.INVALID_ARGUMENT,
          assertThrows(SkiffException.class, () -> session.bindInput("image", odd)).status());
      session.run();
      TestModels.assertIsReference(session.output("logits"));
    }
  }

  /** Only the session still knows of the buffer. */
  @Test
  public void keepsABoundBufferAlive() throws IOException {
    try (Session session = Session.create(characters)) {
      bindACopy(session);
      for (int i = 0; i < 20; ++i) {
        System.gc();
        ByteBuffer other = ByteBuffer.allocateDirect(3 * 32 * 32 * 4 + 16);
        while (other.remaining() >= 8) other.putLong(-1);
      }
      session.run();
      TestModels.assertIsReference(session.output("logits"));
    }
  }

  private static void bindACopy(Session session) throws IOException {
    ByteBuffer pixels = TestModels.reference("input_image.npy");
    ByteBuffer copy = ByteBuffer.allocateDirect(pixels.remaining() + 16).order(ByteOrder.nativeOrder());
    copy.put(pixels);
    copy.flip();
    session.bindInput("image", copy);
  }

  @Test
  public void shapesMayChange() {
    try (Session session = Session.create(open)) {
      session.setInput("w", TestModels.direct(new byte[] {1, 0, 0, 0, 2, 0, 0, 0}), 2);
      for (int n = 2; n <= 8; n += 2) {
        ByteBuffer x = session.inputBuffer("x", n, 3);
        for (int i = 0; i < 3 * n; ++i) x.putFloat(4 * i, i);
        session.run();
        Tensor y = session.output("y");
        assertArrayEquals(new long[] {n, 3}, y.shape());
        assertEquals(3 * n * 4, y.data().remaining());
        assertEquals(2f * (3 * n - 1), y.data().getFloat(4 * (3 * n - 1)), 0f);
        assertEquals(4, session.output("z").data().getInt(4));
      }
      assertEquals(Status.NO_MATCHING_BUCKET,
          assertThrows(SkiffException.class, () -> session.inputBuffer("x", 3, 3)).status());
      assertRefused("rank of x: f32[n, 3]", () -> session.inputBuffer("x"));
    }
  }

  @Test
  public void anOutputNeedsARun() throws IOException {
    try (Session session = Session.create(characters)) {
      ThrowingRunnable output = () -> session.output("logits").data().getFloat(0);
      assertEquals(Status.INVALID_ARGUMENT, assertThrows(SkiffException.class, output).status());
      session.setInput("image", TestModels.reference("input_image.npy"));
      session.run();
      TestModels.assertIsReference(session.output("logits"));
    }
  }

  @Test
  public void anOutputThatVariesNeedsARun() {
    try (Session session = Session.create(open)) {
      assertEquals(
          Status.INVALID_ARGUMENT, assertThrows(SkiffException.class, () -> session.output("y")).status());
      String message = assertThrows(SkiffException.class, () -> session.run()).getMessage();
      assertTrue(message, message.contains("'x'"));
    }
  }

  @Test
  public void runsTheSignatureThatIsNamed() {
    try (Session session = Session.create(open, new SessionOptions().signature("größe 😀"))) {
      assertEquals("größe 😀", session.signature().name());
      session.setInput("a", TestModels.floats(1, -2, 3, -4));
      session.run();
      assertEquals(-3f, session.output("b").data().getFloat(8), 0f);
    }
    assertRefused("'other'", () -> Session.create(open, new SessionOptions().signature("other")));
  }

  @Test
  public void refusesBuffersThatDoNotFit() {
    try (Session session = Session.create(open, new SessionOptions().signature("größe 😀"))) {
      refuses(session, "has 12 bytes", TestModels.floats(1, 2, 3));
      refuses(session, "has 20 bytes", TestModels.floats(1, 2, 3, 4, 5));
      refuses(session, "not direct", ByteBuffer.allocate(16));
      refuses(session, "BIG_ENDIAN", ByteBuffer.allocateDirect(16).order(ByteOrder.BIG_ENDIAN));
      refuses(session, "negative or takes more", TestModels.floats(1, 2, 3, 4), -4);
      refuses(session, "negative or takes more", TestModels.floats(1, 2, 3, 4), Long.MAX_VALUE);
      refuses(session, "rank", TestModels.floats(1, 2, 3, 4), 2, 2);
      assertRefused("no input 'c'", () -> session.setInput("c", TestModels.floats(1)));
    }
  }

  private static void refuses(Session session, String part, ByteBuffer data, long... shape) {
    assertRefused(part, () -> session.setInput("a", data, shape));
    assertRefused(part, () -> session.bindInput("a", data, shape));
  }

  @Test
  public void variablesKeepStateBetweenRuns() {
    try (Model model = Model.open(TestModels.COUNTER); Session session = Session.create(model)) {
      assertEquals(Arrays.asList("count"), model.variables());
      assertEquals(Arrays.asList(), open.variables());
      Tensor count = session.variable("count");
      assertArrayEquals(new long[] {1}, count.shape());
      assertEquals(5f, count.data().getFloat(0), 0f);
      session.setInput("step", TestModels.floats(2));
      session.run();
      session.run();
      assertEquals(9f, session.variable("count").data().getFloat(0), 0f);
      session.variable("count").data().putFloat(0, 100);
      session.run();
      assertEquals(-102f, session.output("negative").data().getFloat(0), 0f);
      session.resetVariables();
      assertEquals(5f, session.variable("count").data().getFloat(0), 0f);
      assertTrue(session.memoryUsage().variables() >= 4);
      assertRefused("no variable 'sum'; it has [count]", () -> session.variable("sum"));
    }
  }

  @Test
  public void sessionsShareVariables() {
    try (Model model = Model.open(TestModels.COUNTER); Session first = Session.create(model);
         Session second = Session.create(model, new SessionOptions().variablesOf(first));
         Session other = Session.create(model)) {
      for (Session session : Arrays.asList(first, second, other)) {
        session.setInput("step", TestModels.floats(2));
        session.run();
      }
      assertEquals(9f, first.variable("count").data().getFloat(0), 0f);
      assertEquals(9f, second.variable("count").data().getFloat(0), 0f);
      assertEquals(7f, other.variable("count").data().getFloat(0), 0f);
      second.resetVariables();
      assertEquals(5f, first.variable("count").data().getFloat(0), 0f);
      SessionOptions mixed = new SessionOptions().variablesOf(first);
      assertEquals(Status.INVALID_ARGUMENT,
          assertThrows(SkiffException.class, () -> Session.create(open, mixed)).status());
    }
  }

  /** A file without plans for the GPU is refused in any case. */
  @Test
  public void fallingBackCanBeForbidden() {
    SessionOptions strict = new SessionOptions().target(Target.VULKAN).fallBack(false);
    assertEquals(
        Status.UNSUPPORTED, assertThrows(SkiffException.class, () -> Session.create(open, strict)).status());
    if (Target.valueOf(System.getProperty("skiff.test.gpu")) == Target.CPU) {
      assertThrows(SkiffException.class, () -> Session.create(characters, strict));
    } else {
      Session.create(characters, strict).close();
    }
  }

  @Test
  public void memoryIsToldAndLimited() {
    try (Session session = Session.create(characters)) {
      MemoryUsage usage = session.memoryUsage();
      assertTrue(usage.toString(), usage.arena() > 32 * 32 && usage.arena() < 1 << 20);
      assertTrue(usage.toString(), usage.packedWeights() > 100_000 && usage.mappedWeights() > 100_000);
    }
    SkiffException refused = assertThrows(
        SkiffException.class, () -> Session.create(characters, new SessionOptions().memoryLimit(1000)));
    assertEquals(Status.OUT_OF_MEMORY, refused.status());
    assertTrue(refused.getMessage(), refused.getMessage().contains("1000"));
    // A failed creation holds nothing of the model.
    Session.create(characters).close();
  }
}
