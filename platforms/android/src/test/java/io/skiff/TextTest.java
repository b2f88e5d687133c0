package io.skiff;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.Test;

/** What a developer sees who prints, logs or debugs. */
public class TextTest {
  /** None can be forgotten. */
  @Test
  public void everyPublicClassHasAText() throws Exception {
    List<String> without = new ArrayList<>();
    int classes = 0;
    File jar = new File(Model.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (JarFile file = new JarFile(jar)) {
      for (JarEntry entry : Collections.list(file.entries())) {
        if (!entry.getName().endsWith(".class") || entry.getName().endsWith("-info.class"))
          continue;
        String name = entry.getName().replace('/', '.').replaceAll("\\.class$", "");
        Class<?> type = Class.forName(name, false, getClass().getClassLoader());
        if (!Modifier.isPublic(type.getModifiers()) || type.isInterface() || type.isEnum()
            || type.getConstructors().length == 0 && hasOnlyStatics(type))
          continue;
        ++classes;
        if (type.getMethod("toString").getDeclaringClass() != type)
          without.add(name);
      }
    }
    assertEquals(Collections.emptyList(), without);
    assertTrue(classes + " classes", classes >= 15);
  }

  private static boolean hasOnlyStatics(Class<?> type) {
    for (java.lang.reflect.Method method : type.getDeclaredMethods()) {
      if (!Modifier.isStatic(method.getModifiers()))
        return false;
    }
    return true;
  }

  @Test
  public void modelsAndSessions() throws IOException {
    String signatures = "[double(x: f32[n, 3], w: i32[m]) -> (y: f32[n, 3], z: i32[m]), "
        + "größe 😀(a: f32[4]) -> (b: f32[4])]";
    Model model = Model.open(TestModels.TWO_SIGNATURES);
    Session session = Session.create(model);
    assertEquals("model " + TestModels.TWO_SIGNATURES + ": " + signatures, model.toString());
    assertEquals(
        "session of double(x: f32[n, 3], w: i32[m]) -> (y: f32[n, 3], z: i32[m])", session.toString());
    model.close();
    assertEquals("model " + TestModels.TWO_SIGNATURES + " (closed): " + signatures, model.toString());
    session.close();
    assertEquals("session of double(x: f32[n, 3], w: i32[m]) -> (y: f32[n, 3], z: i32[m]) (closed)",
        session.toString());
    ByteBuffer bytes =
        TestModels.direct(java.nio.file.Files.readAllBytes(new File(TestModels.TWICE).toPath()));
    try (Model inMemory = Model.open(bytes)) {
      assertTrue(inMemory.toString(),
          inMemory.toString().startsWith("model " + bytes.limit() + " bytes of memory: ["));
    }
  }

  @Test
  public void tensors() {
    try (Model model = Model.open(TestModels.TYPES)) {
      Session session = Session.create(model);
      for (TensorType input : model.signatures().get(0).inputs()) session.inputBuffer(input.name(), 8);
      session.setInput("f32", new float[] {1, 2.5f, -3, 4, 5, 6, 7, 8});
      session.inputBuffer("u64", 8).putLong(0, -1);
      session.setInput("f16", new float[] {0.1f, 1, 1, 1, 1, 1, 1, 1});
      session.run();
      Tensor f32 = session.output("of_f32");
      assertEquals("of_f32: f32[8] = [1.0, 2.5, -3.0, 4.0, 5.0, 6.0, ...]", f32.toString());
      assertEquals(
          "of_u64: u64[8] = [18446744073709551615, 0, 0, 0, 0, 0, ...]", session.output("of_u64").toString());
      assertEquals("of_f16: f16[8] = [0.099975586, 1.0, 1.0, 1.0, 1.0, 1.0, ...]",
          session.output("of_f16").toString());
      session.run();
      assertEquals(
          "of_f32: f32[8] (the session has run again; ask it for the output once more)", f32.toString());
      Tensor bool = session.output("of_bool");
      Tensor copy = bool.copy();
      session.close();
      assertEquals("of_bool: bool[8] (the session is closed)", bool.toString());
      assertEquals("of_bool: bool[8] = [0, 0, 0, 0, 0, 0, ...]", copy.toString());
    }
    try (Model model = Model.open(TestModels.QUANTIZED); Session session = Session.create(model)) {
      session.setInput("x", new float[] {1, 2, 3, 4});
      session.inputBuffer("table");
      session.run();
      assertEquals(
          "y: i8[4] {scale 0.25, zero point 0} = [1.0, 2.0, 3.0, 4.0]", session.output("y").toString());
    }
  }

  /** A log line or a debugger on another thread neither crashes nor disturbs the thread that runs. */
  @Test
  public void printingDisturbsNobody() throws InterruptedException {
    try (Model model = Model.open(TestModels.CHARACTERS)) {
      Session session = Session.create(model);
      session.inputBuffer("image");
      session.run();
      final Tensor[] newest = {session.output("logits")};
      CountDownLatch printing = new CountDownLatch(1);
      final boolean[] stop = {false};
      final List<Throwable> thrown = Collections.synchronizedList(new ArrayList<Throwable>());
      Thread printer = new Thread(() -> {
        try {
          for (int i = 0; !stop[0] || i < 100; ++i) {
            String text = newest[0].toString() + session + model;
            if (!text.startsWith("logits: f32[1, 36]"))
              throw new AssertionError(text);
            printing.countDown();
          }
        } catch (Throwable e) {
          thrown.add(e);
        }
      });
      printer.start();
      assertTrue(printing.await(10, TimeUnit.SECONDS));
      for (int i = 0; i < 300; ++i) {
        session.run();
        newest[0] = session.output("logits");
      }
      session.close();
      Thread.sleep(20);
      stop[0] = true;
      printer.join();
      assertEquals(Collections.emptyList(), thrown);
      assertEquals("logits: f32[1, 36] (the session is closed)", newest[0].toString());
    }
  }

  @Test
  public void optionsSayWhatDiffers() {
    assertEquals("the defaults", new SessionOptions().toString());
    assertEquals("the defaults", new ModelOptions().toString());
    assertEquals("cacheFolder /c", new ModelOptions().cacheFolder("/c").toString());
    ThreadPool pool = new ThreadPool(2);
    SessionOptions options = new SessionOptions()
                                 .target(Target.VULKAN)
                                 .backend(Backend.REFERENCE)
                                 .threads(3)
                                 .threadPool(pool)
                                 .signature("s")
                                 .memoryLimit(5)
                                 .keptShapes(4)
                                 .fallBack(false)
                                 .exact(true);
    assertEquals(
        "target VULKAN, backend REFERENCE, threads 3, threadPool (thread pool of 2 threads), signature s, "
            + "memoryLimit 5, keptShapes 4, fallBack false, exact true",
        options.toString());
    pool.close();
    assertEquals("thread pool of 2 threads (closed)", pool.toString());
    try (ThreadPool usual = new ThreadPool(0)) {
      assertEquals("thread pool of as many threads as usable cores, at most 4", usual.toString());
    }
    try (Model model = Model.open(TestModels.COUNTER); Session session = Session.create(model)) {
      assertEquals("variablesOf (session of main(step: f32[1]) -> (negative: f32[1]))",
          new SessionOptions().variablesOf(session).toString());
    }
  }

  @Test
  public void picturesAndRefusals() {
    assertEquals("3x2 ARGB in an int[]", Pixels.argb(new int[6], 3, 2).toString());
    assertEquals("3x2 RGB8 in a buffer, rows of 9 bytes, EXIF orientation 6",
        Pixels.of(ByteBuffer.allocateDirect(18), Pixels.Format.RGB8, 3, 2).oriented(6).toString());
    try (Model model = Model.open(TestModels.CHARACTERS)) {
      assertEquals(
          "32x32x3, blue first, channels first, mean [127.5, 128.0, 128.5], scale [0.0078125, 0.0078125, "
              + "0.0078125]",
          model.signatures().get(0).input("image").image().toString());
    }
    SkiffException refused = assertThrows(SkiffException.class, () -> Model.open("/none.skiff"));
    assertEquals("io.skiff.SkiffException: input/output error: " + refused.getMessage(), refused.toString());
  }
}
