package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.After;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/** Arrays of Java as inputs, and outputs as arrays. The model of types gives each input back. */
public class ArraysTest {
  private final Model types = Model.open(TestModels.TYPES);
  private final Session session = Session.create(types);

  @After
  public void close() {
    session.close();
    types.close();
  }

  private static void assertRefused(String sentence, ThrowingRunnable call) {
    assertEquals(sentence, assertThrows(IllegalArgumentException.class, call).getMessage());
  }

  /** All other inputs are zeros. */
  private void run(int size) {
    for (TensorType input : types.signatures().get(0).inputs()) session.inputBuffer(input.name(), size);
    session.run();
  }

  /** What comes out of an input that is filled after all have this size. */
  private Tensor through(String name, int size, Runnable fill) {
    run(size);
    fill.run();
    session.run();
    return session.output("of_" + name);
  }

  @Test
  public void floats() throws IOException {
    float[] values = {1.5f, -0f, Float.NaN, Float.NEGATIVE_INFINITY};
    Tensor output = through("f32", 4, () -> session.setInput("f32", values));
    assertEquals(4, output.size());
    assertEquals("of_f32", output.name());
    assertArrayEquals(new long[] {4}, output.shape());
    assertArrayEquals(values, output.toFloatArray(), 0f);
    float[] larger = {9, 9, 9, 9, 9};
    assertEquals(4, output.copyTo(larger));
    assertArrayEquals(new float[] {1.5f, -0f, Float.NaN, Float.NEGATIVE_INFINITY, 9}, larger, 0f);
    double[] doubles = {Math.PI, -Double.MAX_VALUE};
    assertArrayEquals(doubles, through("f64", 2, () -> session.setInput("f64", doubles)).toDoubleArray(), 0);
  }

  @Test
  public void halvesRoundToTheNearest() {
    float[] values = {
        1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 65519.996f, 65520f, 0x1p-25f, 0x1.8p-25f, -0x1p-14f, 0.1f};
    float[] halves = {1, 1 + 0x1p-9f, 65504, Float.POSITIVE_INFINITY, 0, 0x1p-24f, -0x1p-14f, 0.099975586f};
    Tensor output = through("f16", values.length, () -> session.setInput("f16", values));
    assertArrayEquals(halves, output.toFloatArray(), 0f);
  }

  @Test
  public void everyHalfIsAFloatAndBack() {
    float before = Float.NEGATIVE_INFINITY;
    for (int bits = 0; bits < 1 << 16; ++bits) {
      short half = (short) bits;
      float value = Half.toFloat(half);
      boolean nan = (bits & 0x7fff) > 0x7c00;
      assertEquals(nan, Float.isNaN(value));
      // A NaN that signals becomes a quiet one.
      assertEquals((short) (nan ? bits | 0x200 : bits), Half.ofFloat(value));
      if (nan || bits == 0 || bits >= 0x8000)
        continue;
      // In the middle of two neighbours the even one wins, beside it the nearer one.
      before = Half.toFloat((short) (bits - 1));
      if (bits == 0x7c00)
        continue;
      float middle = (before + value) / 2;
      assertEquals((short) (bits % 2 == 0 ? bits : bits - 1), Half.ofFloat(middle));
      assertEquals((short) (bits - 1), Half.ofFloat(Math.nextDown(middle)));
      assertEquals(half, Half.ofFloat(Math.nextUp(middle)));
      assertEquals((short) (bits | 0x8000), Half.ofFloat(-Math.nextUp(middle)));
    }
  }

  @Test
  public void integersOfEachSize() {
    String[] names = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"};
    long[] least = {-128, 0, -32768, 0, Integer.MIN_VALUE, 0, Long.MIN_VALUE, 0, 0};
    long[] greatest = {
        127, 255, 32767, 65535, Integer.MAX_VALUE, 0xffffffffL, Long.MAX_VALUE, Long.MAX_VALUE, 1};
    for (int i = 0; i < names.length; ++i) {
      String name = names[i];
      long[] longs = {least[i], 1, greatest[i]};
      assertArrayEquals(longs, through(name, 3, () -> session.setInput(name, longs)).toLongArray());
      int[] ints = {
          (int) Math.max(least[i], Integer.MIN_VALUE), 0, (int) Math.min(greatest[i], Integer.MAX_VALUE)};
      Tensor output = through(name, 3, () -> session.setInput(name, ints));
      for (int at = 0; at < 3; ++at) assertEquals(ints[at], output.toLongArray()[at]);
      if (i < 5 || i == 8) {
        assertArrayEquals(ints, output.toIntArray());
      } else {
        assertRefused(
            "of_" + name + ": " + name + "[3] does not fit into an int[]; take long[] (toLongArray())",
            () -> output.toIntArray());
      }
      if (least[i] == Long.MIN_VALUE || name.equals("u64"))
        continue;
      for (long wrong : new long[] {least[i] - 1, greatest[i] + 1}) {
        assertRefused("element 1 of the long[] is " + wrong + "; " + name + ": " + name + "[n] holds "
                + least[i] + " to " + greatest[i],
            () -> session.setInput(name, new long[] {0, wrong}));
      }
    }
  }

  @Test
  public void bytesAndShortsAreCopiedAsTheyAre() {
    byte[] bytes = {0, 1, -1, -128};
    for (String name : new String[] {"i8", "u8"})
      assertArrayEquals(bytes, through(name, 4, () -> session.setInput(name, bytes)).toByteArray());
    assertArrayEquals(new int[] {0, 1, 255, 128}, session.output("of_u8").toIntArray());
    byte[] bits = {1, 0, 1};
    assertArrayEquals(bits, through("bool", 3, () -> session.setInput("bool", bits)).toByteArray());
    assertRefused("element 3 of the byte[] is -128; bool: bool[n] holds 0 to 1",
        () -> session.setInput("bool", new byte[] {0, 1, 1, -128}));
    short[] shorts = {0, -1, Short.MIN_VALUE};
    for (String name : new String[] {"i16", "u16"})
      assertArrayEquals(shorts, through(name, 3, () -> session.setInput(name, shorts)).toShortArray());
  }

  @Test
  public void wrongArraysAreRefusedByName() {
    run(2);
    assertRefused("i64: i64[n] takes no float[]; give int[] or long[]",
        () -> session.setInput("i64", new float[] {1, 2}));
    assertRefused("u8: u8[n] takes no short[]; give byte[] or int[] or long[]",
        () -> session.setInput("u8", new short[] {1, 2}));
    assertRefused("f16: f16[n] takes no int[]; give float[]", () -> session.setInput("f16", new int[2]));
    assertRefused(
        "f32: f32[n] takes no double[]; give float[]", () -> session.setInput("f32", new double[2]));
    assertRefused(
        "of_i8: i8[2] does not fit into a float[]; take byte[] (toByteArray()) or int[] (toIntArray()) "
            + "or long[] (toLongArray())",
        () -> session.output("of_i8").toFloatArray());
    assertRefused("of_f64: f64[2] does not fit into a float[]; take double[] (toDoubleArray())",
        () -> session.output("of_f64").toFloatArray());
    assertRefused("of_f32: f32[2] has 2 elements, and the float[] 1",
        () -> session.output("of_f32").copyTo(new float[1]));
  }

  @Test
  public void wrongLengthsAreRefusedBeforeAnythingIsWritten() throws IOException {
    try (Model model = Model.open(TestModels.TWO_SIGNATURES); Session open = Session.create(model)) {
      assertRefused("the float[] for x: f32[n, 3] has 7 elements, which is no multiple of 3",
          () -> open.setInput("x", new float[7]));
      assertRefused("the float[] for x: f32[n, 3] has 6 elements; [4, 3] takes 12",
          () -> open.setInput("x", new float[6], 4, 3));
      assertRefused("the float[] for x: f32[n, 3] has 6 elements; [-2, -3] is no shape",
          () -> open.setInput("x", new float[6], -2, -3));
      assertRefused("the float[] for x: f32[n, 3] has 6 elements; [4611686018427387905, 4] is no shape",
          () -> open.setInput("x", new float[6], (1L << 62) + 1, 4));
      assertRefused(
          "the shape [6] has not the rank of x: f32[n, 3]", () -> open.setInput("x", new float[6], 6));
      for (float[] data : new float[][] {new float[0], new float[9], new float[30]})
        assertEquals(Status.NO_MATCHING_BUCKET,
            assertThrows(SkiffException.class, () -> open.setInput("x", data)).status());
      assertThrows(SkiffException.class, () -> open.setInput("x", new float[6], 3, 2));
      open.setInput("x", new float[] {1, 2, 3, 4, 5, 6});
      open.setInput("w", new int[] {7});
      open.run();
      assertArrayEquals(new float[] {2, 4, 6, 8, 10, 12}, open.output("y").toFloatArray(), 0f);
      assertArrayEquals(new int[] {14}, open.output("z").toIntArray());
    }
    try (Model model = Model.open(TestModels.CHARACTERS); Session fixed = Session.create(model)) {
      assertRefused("the float[] for image: f32[1, 3, 32, 32] has 3 elements; [1, 3, 32, 32] takes 3072",
          () -> fixed.setInput("image", new float[3]));
      float[] image = new float[3072];
      TestModels.reference("input_image.npy").asFloatBuffer().get(image);
      fixed.setInput("image", image);
      fixed.run();
      TestModels.assertIsReference(fixed.output("logits"));
    }
  }

  /** Real numbers go in and come out by the scales of both, as the model and {@link Quantization} compute. */
  @Test
  public void quantisedTensorsAreRealNumbers() {
    try (Model model = Model.open(TestModels.QUANTIZED); Session quantized = Session.create(model)) {
      float[] reals = {0.25f, 0.75f, -1000f, 1000f};
      quantized.setInput("x", reals);
      quantized.setInput("table", new float[] {1, 1, 1, -2, 0.75f, 7});
      quantized.run();
      assertArrayEquals(new float[] {0, 1, -50, 77.5f}, quantized.output("plain").toFloatArray(), 0f);
      assertArrayEquals(new float[] {0, 1, -32, 31.75f}, quantized.output("y").toFloatArray(), 0f);
      assertArrayEquals(new int[] {0, 4, -128, 127}, quantized.output("y").toIntArray());
      assertArrayEquals(new byte[] {0, 4, -128, 127}, quantized.output("y").toByteArray());
      assertArrayEquals(new float[] {1, 1, 0, -2, 1, 8}, quantized.output("rows").toFloatArray(), 0f);
      assertArrayEquals(new int[] {1, 12, -10, -2, 12, -6}, quantized.output("rows").toIntArray());
      Tensor blocks = quantized.output("blocks");
      float[] expected = new float[6];
      for (int i = 0; i < 6; ++i)
        expected[i] = blocks.quantization().toReal(blocks.toIntArray()[i], i / 3 * 2 + i % 3 / 2);
      assertArrayEquals(expected, blocks.toFloatArray(), 0f);
      quantized.setInput("x", new int[] {0, 100, 102, 255});
      quantized.run();
      assertArrayEquals(new float[] {-50, 0, 1, 77.5f}, quantized.output("plain").toFloatArray(), 0f);
      assertRefused(
          "x: u8[4] {scale 0.5, zero point 100} takes no short[]; give float[] or byte[] or int[] or long[]",
          () -> quantized.setInput("x", new short[4]));
    }
  }

  /** Which scale an element has, against a walk over all indices. */
  @Test
  public void scalesOfBlocksAreRowMajor() {
    Random random = new Random(1);
    for (int round = 0; round < 200; ++round) {
      long[] shape = new long[1 + random.nextInt(4)];
      for (int i = 0; i < shape.length; ++i) shape[i] = 1 + random.nextInt(4);
      int axis = random.nextInt(shape.length);
      int block = random.nextInt(4);
      long blocks = block == 0 ? shape[axis] : (shape[axis] + block - 1) / block;
      Quantization quantization = new Quantization(DType.I8, new long[] {axis, block}, new float[0]);
      long[] at = new long[shape.length];
      for (int element = 0; element < Elements.count(shape); ++element) {
        long expected = 0;
        for (int i = 0; i < shape.length; ++i) {
          if (i == axis)
            expected = expected * (block == 0 ? 1 : blocks) + (block == 0 ? at[i] : at[i] / block);
          else if (block != 0)
            expected = expected * shape[i] + at[i];
        }
        assertEquals(expected, quantization.scaleOf(element, shape));
        for (int i = shape.length - 1; i >= 0 && ++at[i] == shape[i]; --i) at[i] = 0;
      }
    }
  }

  @Test
  public void tensorsBecomeInputs() {
    float[] values = {1, 2, 3};
    Tensor output = through("f32", 3, () -> session.setInput("f32", values));
    session.setInput("f32", output);
    session.run();
    assertArrayEquals(values, session.output("of_f32").toFloatArray(), 0f);
    Tensor own = session.output("of_f32").copy();
    run(1);
    assertEquals(own, own.copy());
    session.setInput("f32", own);
    assertRefused("f16: f16[n] takes no of_f32: f32[3]", () -> session.setInput("f16", own));
    String message =
        assertThrows(IllegalStateException.class, () -> session.setInput("f32", output)).getMessage();
    assertEquals("the session has run again; ask it for the output once more", message);
  }

  /** Arrays are never read from memory that is gone. */
  @Test
  public void viewsEndWithTheNextRunAndTheSession() {
    Tensor first = through("f32", 2, () -> session.setInput("f32", new float[] {1, 2}));
    Tensor own = first.copy();
    session.run();
    assertThrows(IllegalStateException.class, () -> first.toFloatArray());
    assertThrows(IllegalStateException.class, () -> first.copy());
    Tensor second = session.output("of_f32");
    try (Model model = Model.open(TestModels.COUNTER)) {
      Session counter = Session.create(model);
      Tensor count = counter.variable("count");
      counter.setInput("step", new float[] {2});
      counter.run();
      assertArrayEquals(new float[] {7}, count.toFloatArray(), 0f);
      counter.close();
      assertThrows(IllegalStateException.class, () -> count.toFloatArray());
    }
    session.close();
    String message =
        assertThrows(IllegalStateException.class, () -> second.copyTo(new float[2])).getMessage();
    assertEquals("the session is closed", message);
    assertThrows(IllegalStateException.class, () -> session.setInput("f32", new float[] {1}));
    assertArrayEquals(new float[] {1, 2}, own.toFloatArray(), 0f);
    ByteBuffer data = own.data();
    data.position(4);
    assertArrayEquals("wherever its buffer stands", new float[] {1, 2}, own.toFloatArray(), 0f);
  }

  @Test
  public void emptyTensorsAreEmptyArrays() {
    assertTrue(Elements.count(new long[] {0, Long.MAX_VALUE}) == 0);
    assertEquals(-1, Elements.count(new long[] {1 << 16, 1 << 16}));
    assertEquals(1, Elements.count(new long[0]));
    assertThrows(SkiffException.class, () -> session.setInput("f32", new float[0]));
  }
}
