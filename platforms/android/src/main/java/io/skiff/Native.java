package io.skiff;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jetbrains.annotations.Nullable;

/**
 * The functions of libskiff_jni: the C API (skiff/skiff.h), one to one. Handles are addresses; the classes
 * that own them see to it that none is used after its end. Text travels as UTF-8 bytes, because JNI's own
 * strings are in an encoding of Java's. What fails throws {@link SkiffException}.
 */
final class Native {
  static {
    NativeLibrary.load();
  }

  private Native() {}

  static byte[] utf8(String text) {
    if (text.indexOf('\0') >= 0)
      throw new IllegalArgumentException("the text holds a NUL character: " + text);
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte @Nullable[] utf8OrNull(@Nullable String text) {
    return text == null ? null : utf8(text);
  }

  static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  private static volatile @Nullable LogSink sink;

  static void setLogSink(@Nullable LogSink newSink) {
    sink = newSink;
    forwardLog(newSink != null);
  }

  /** Called by the native library, from any thread. */
  @SuppressWarnings("unused")
  private static void log(int level, byte[] message) {
    LogSink current = sink;
    if (current != null)
      current.log(LogSink.Level.values()[level], text(message));
  }

  /** To log(), or where messages go by default. */
  private static native void forwardLog(boolean toJava);

  static native byte[] version();

  static native byte[] statusName(int status);

  static native byte[] dtypeName(int dtype);

  static native int dtypeSize(int dtype);

  /** Where a direct buffer's first byte lies. */
  static native long address(ByteBuffer direct);

  static native long openModel(byte[] path, byte @Nullable[] cacheFolder);

  static native long openModelBytes(ByteBuffer direct, int offset, int size, byte @Nullable[] cacheFolder);

  static native void saveCache(long model);

  static native void closeModel(long model);

  static native int signatureCount(long model);

  static native byte[] signatureName(long model, int signature);

  static native int portCount(long model, int signature, boolean output);

  static native byte[] portName(long model, int signature, boolean output, int index);

  /** The element type's number, then the extents. */
  static native long[] portType(long model, int signature, boolean output, int index);

  static native int portSymbol(long model, int signature, boolean output, int index, int axis);

  /** Null where its integers are plain. Else the axis, the block, then the zero points. */
  static native long @Nullable[] portQuantization(long model, int signature, boolean output, int index);

  /** Of a quantised one. */
  static native float[] portScales(long model, int signature, boolean output, int index);

  /** False where the input is no picture. Else fills both arrays (ImageSpec). */
  static native boolean inputImage(long model, int signature, int index, int[] sizes, float[] values);

  static native int labelCount(long model, int signature, int index);

  static native byte[] label(long model, int signature, int index, int label);

  static native int symbolCount(long model);

  static native byte[] symbolName(long model, int symbol);

  /** Min, max, multiple. */
  static native long[] symbolRange(long model, int symbol);

  static native int variableCount(long model);

  static native byte[] variableName(long model, int variable);

  static native byte @Nullable[] metadata(long model, byte[] key);

  static native long createThreadPool(int threads);

  static native void destroyThreadPool(long pool);

  static native long createSession(long model, int target, int backend, int threads, long threadPool,
      byte @Nullable[] signature, long memoryLimit, long keptShapes, boolean fallBack, boolean exact,
      long variablesOf);

  static native void destroySession(long session);

  static native void setInput(
      long session, int index, ByteBuffer direct, int offset, int dtype, long[] shape);

  static native void bindInput(
      long session, int index, ByteBuffer direct, int offset, int dtype, long[] shape);

  static native ByteBuffer inputBuffer(long session, int index, long[] shape);

  /** The memory is an int[] or a direct buffer, which holds the picture. */
  static native void writeImage(long session, long model, int signature, int input, Object memory, int offset,
      int format, int width, int height, int rowBytes, int orientation);

  /** Of each class its index, then its score. */
  static native double[] bestClasses(
      long session, long model, int signature, int output, int most, boolean softmax);

  static native void run(long session);

  static native void cancel(long session);

  /** Fills {@code type}: the element type's number, the rank, then the extents. */
  static native ByteBuffer output(long session, int index, long[] type);

  /** As output(). */
  static native ByteBuffer variable(long session, int variable, long[] type);

  static native void resetVariables(long session);

  static native int target(long session);

  static native long[] memoryUsage(long session);
}
