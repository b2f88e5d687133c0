package io.skiff;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;

/**
 * The models of the tests (the folder that the property skiff.test.models names) and what they must compute.
 */
final class TestModels {
  static final String SMALL = path("small.skiff");
  static final String TWO_SIGNATURES = path("two_signatures.skiff");
  static final String COUNTER = path("counter.skiff");
  static final String QUANTIZED = path("quantized.skiff");
  static final String TYPES = path("types.skiff");
  static final String TWICE = path("twice.skiff");
  static final String CHARACTERS = path("characters.skiff");
  /** Of the largest element: docs/numerics.md. */
  private static final float TOLERANCE = 2e-5f;

  private TestModels() {}

  static String path(String file) {
    return new File(System.getProperty("skiff.test.models"), file).getPath();
  }

  static ByteBuffer direct(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length).order(ByteOrder.nativeOrder());
    buffer.put(bytes);
    buffer.flip();
    return buffer;
  }

  static ByteBuffer floats(float... values) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(4 * values.length).order(ByteOrder.nativeOrder());
    buffer.asFloatBuffer().put(values);
    return buffer;
  }

  /**
   * The elements of a .npy file of the characters' reference: version 1, little endian, like every Android
   * device.
   */
  static ByteBuffer reference(String file) throws IOException {
    byte[] npy = Files.readAllBytes(
        new File(System.getProperty("skiff.test.characters"), "reference/A_roboto-regular_64x64/" + file)
            .toPath());
    ByteBuffer bytes = direct(npy);
    bytes.position(10 + bytes.getShort(8));
    return bytes.slice().order(ByteOrder.nativeOrder());
  }

  /** That the session's logits are those of PyTorch. */
  static void assertIsReference(Tensor logits) throws IOException {
    FloatBuffer expected = reference("output_logits.npy").asFloatBuffer();
    FloatBuffer got = logits.data().asFloatBuffer();
    assertEquals(expected.remaining(), got.remaining());
    float largest = 0;
    for (int i = 0; i < expected.limit(); ++i) largest = Math.max(largest, Math.abs(expected.get(i)));
    assertTrue(largest > 1);
    for (int i = 0; i < expected.limit(); ++i) assertEquals(expected.get(i), got.get(i), TOLERANCE * largest);
  }
}
