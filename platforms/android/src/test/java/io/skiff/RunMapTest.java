package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.Test;

/** {@link Session#run(Map)}. */
public class RunMapTest {
  private static Map<String, Object> map(Object... namesAndValues) {
    Map<String, Object> map = new HashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2)
      map.put((String) namesAndValues[i], namesAndValues[i + 1]);
    return map;
  }

  private static String refusal(Session session, Map<String, ?> inputs) {
    return assertThrows(IllegalArgumentException.class, () -> session.run(inputs)).getMessage();
  }

  @Test
  public void isTheWholeCall() {
    try (Model model = Model.open(TestModels.TWO_SIGNATURES)) {
      Map<String, Tensor> outputs;
      Map<String, Tensor> others;
      try (Session session = Session.create(model)) {
        outputs = session.run(map("x", new float[] {1, 2, 3, 4, 5, 6}, "w", new int[] {7, -8}));
        others = session.run(map("x", new float[][] {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}}, "w",
            TestModels.direct(new byte[] {1, 0, 0, 0})));
      }
      List<String> names = new ArrayList<>(outputs.keySet());
      assertEquals(Arrays.asList("y", "z"), names);
      assertArrayEquals(new float[] {2, 4, 6, 8, 10, 12}, outputs.get("y").toFloatArray(), 0f);
      assertArrayEquals(new int[] {14, -16}, outputs.get("z").toIntArray());
      assertArrayEquals(new long[] {4, 3}, others.get("y").shape());
      assertEquals(24f, others.get("y").toFloatArray()[11], 0f);
      assertEquals(2, others.get("z").toLongArray()[0]);
      assertEquals("y: f32[2, 3] = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]", outputs.get("y").toString());
      outputs.get("z").data().putInt(0, 5);
      assertEquals(5, outputs.get("z").toIntArray()[0]);
    }
  }

  @Test
  public void takesPicturesAndTensors() throws IOException {
    try (Model model = Model.open(TestModels.CHARACTERS); Session session = Session.create(model)) {
      Pixels pixels = Pixels.argb(new int[64 * 48], 64, 48);
      float[] expected = session.run(map("image", pixels)).get("logits").toFloatArray();
      session.setImage("image", pixels);
      session.run();
      assertArrayEquals(expected, session.output("logits").toFloatArray(), 0f);
      Map<String, Tensor> outputs = session.run(map("image", TestModels.reference("input_image.npy")));
      TestModels.assertIsReference(outputs.get("logits"));
    }
    try (Model model = Model.open(TestModels.TWO_SIGNATURES); Session session = Session.create(model)) {
      Tensor y = session.run(map("x", new float[] {1, 2, 3, 4, 5, 6}, "w", new int[1])).get("y");
      Map<String, Tensor> again = session.run(map("x", y, "w", new int[1]));
      assertEquals(24f, again.get("y").toFloatArray()[5], 0f);
      // A view of what this very session computed.
      again = session.run(map("x", session.output("y"), "w", session.output("z")));
      assertEquals(48f, again.get("y").toFloatArray()[5], 0f);
    }
  }

  @Test
  public void nestedArraysSayWhatFlatOnesDoNot() {
    try (Model model = Model.open(TestModels.TWICE); Session session = Session.create(model)) {
      Tensor y = session.run(map("x", new float[][] {{1, 2}, {3, 4}, {5, 6}})).get("y");
      assertArrayEquals(new long[] {3, 2}, y.shape());
      assertArrayEquals(new float[] {2, 4, 6, 8, 10, 12}, y.toFloatArray(), 0f);
      assertEquals("the float[] for x: f32[rows, columns] does not tell its extents; say the shape",
          refusal(session, map("x", new float[6])));
      assertEquals(
          "the array for x: f32[rows, columns]: along axis 1 it has 1 elements where it had 2 before: rows must be "
              + "equally long",
          refusal(session, map("x", new float[][] {{1, 2}, {3}})));
      assertEquals(
          "the array for x: f32[rows, columns]: along axis 1 it has a null where it had 2 before: rows must be "
              + "equally long",
          refusal(session, map("x", new float[][] {{1, 2}, null})));
      assertEquals("the shape [1, 1, 2] has not the rank of x: f32[rows, columns]",
          refusal(session, map("x", new float[][][] {{{1, 2}}})));
      assertEquals("x: f32[rows, columns] takes no int[]; give float[]",
          refusal(session, map("x", new int[][] {{1}})));
      assertEquals(
          "x: f32[rows, columns] takes no boolean[][], but an array of numbers, one of such arrays, a direct "
              + "ByteBuffer, Pixels or a Tensor",
          refusal(session, map("x", new boolean[][] {{true}})));
      assertThrows(SkiffException.class, () -> session.run(map("x", new float[11][1])));
      assertThrows(SkiffException.class, () -> session.run(map("x", new float[0][0])));
    }
  }

  @Test
  public void namesAllMistakesAtOnce() {
    try (Model model = Model.open(TestModels.TWO_SIGNATURES); Session session = Session.create(model)) {
      assertEquals("there is no value for [x: f32[n, 3], w: i32[m]]", refusal(session, map()));
      String message = refusal(session, map("x", "text", "v", 1, "W", 2));
      assertTrue(message,
          message.startsWith(
              "x: f32[n, 3] takes no String, but an array of numbers, one of such arrays, a direct "
              + "ByteBuffer, Pixels or a Tensor; and there is no value for [w: i32[m]]; and there are no inputs ["));
      assertTrue(message, message.endsWith("; the signature has [x: f32[n, 3], w: i32[m]]"));
      assertTrue(message, message.contains("v") && message.contains("W"));
      message = refusal(session, map("x", new float[4], "w", new float[1]));
      assertEquals(
          "the float[] for x: f32[n, 3] has 4 elements, which is no multiple of 3; and w: i32[m] takes no "
              + "float[]; give int[] or long[]",
          message);
      message = refusal(session, map("x", null, "w", TestModels.direct(new byte[] {1, 2, 3})));
      assertTrue(message, message.startsWith("x: f32[n, 3] takes no null"));
      assertTrue(
          message, message.endsWith("the buffer for w: i32[m] has 3 bytes, which is no multiple of 4"));
      // An input that was set before does not stand in for one that is missing: a call depends on its map
      // alone.
      session.setInput("w", new int[1]);
      assertFalse(refusal(session, Collections.singletonMap("x", new float[6])).isEmpty());
    }
  }

  @Test
  public void setsNoneUnlessAllCanBe() {
    try (Model model = Model.open(TestModels.TWO_SIGNATURES); Session session = Session.create(model)) {
      session.run(map("x", new float[6], "w", new int[1]));
      float[] others = {9, 9, 9, 9, 9, 9};
      Pixels pixels = Pixels.argb(new int[4], 2, 2);
      for (Object wrong : new Object[] {new int[0], pixels}) {
        assertThrows(SkiffException.class, () -> session.run(map("x", others, "w", wrong)));
        session.run();
        assertArrayEquals(new float[6], session.output("y").toFloatArray(), 0f);
      }
    }
  }

  @Test
  public void doesNotWorkAfterClosing() {
    Model model = Model.open(TestModels.TWICE);
    Session session = Session.create(model);
    session.close();
    model.close();
    String message =
        assertThrows(IllegalStateException.class, () -> session.run(map("x", new float[1][1]))).getMessage();
    assertEquals("the session is closed", message);
  }
}
