package io.skiff;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/**
 * An opened {@code .skiff} file: immutable, verified, and free to be used by any number of threads at once.
 * {@link #close()} it.
 */
public final class Model implements AutoCloseable {
  /** What the native library reads weights at. */
  private static final int ALIGNMENT = 64;

  private final ModelHandle handle;
  private final List<Signature> signatures;
  private final List<String> variables;
  private final String source;

  private Model(long address, @Nullable ByteBuffer bytes, String source) {
    this.source = source;
    handle = new ModelHandle(this, address, bytes);
    boolean described = false;
    try {
      signatures = describe(address);
      variables = variableNames(address);
      described = true;
    } finally {
      if (!described)
        handle.close();
    }
  }

  /**
   * Maps and verifies a file, which must not change while the model is open.
   *
   * @param path of the file
   * @return the model, to be closed
   * @throws SkiffException {@link Status#IO}: it cannot be read; {@link Status#INVALID_MODEL}: it is no
   *     .skiff file, or damaged; {@link Status#UNSUPPORTED}: its format is newer than this library
   */
  public static @NotNull Model open(@NotNull String path) {
    return open(path, new ModelOptions());
  }

  /**
   * The same with options.
   *
   * @param path of the file
   * @param options how it is made
   * @return the model, to be closed
   */
  public static @NotNull Model open(@NotNull String path, @NotNull ModelOptions options) {
    Arguments.given(path, "path", "the path of a .skiff file");
    checkGiven(options);
    Handle.closeLost();
    return new Model(Native.openModel(Native.utf8(path), Native.utf8OrNull(options.cacheFolder)), null, path);
  }

  /**
   * Verifies a model in memory: what lies between the position and the limit of a direct buffer, such as a
   * mapped file. It must not change while the model is open, and is kept alive. Where it begins at a multiple
   * of 64 bytes it is used as it is; otherwise it is copied once. (Assets of an APK are aligned to 4 bytes
   * only.)
   *
   * @param bytes a direct buffer
   * @return the model, to be closed
   * @throws IllegalArgumentException when the buffer is not direct
   * @throws SkiffException as for a path
   */
  public static @NotNull Model open(@NotNull ByteBuffer bytes) {
    return open(bytes, new ModelOptions());
  }

  /**
   * The same with options.
   *
   * @param bytes a direct buffer
   * @param options how it is made
   * @return the model, to be closed
   */
  public static @NotNull Model open(@NotNull ByteBuffer bytes, @NotNull ModelOptions options) {
    Arguments.given(bytes, "bytes", "a direct ByteBuffer that holds a .skiff file");
    checkGiven(options);
    if (!bytes.isDirect())
      throw new IllegalArgumentException("the model's buffer is not direct");
    Handle.closeLost();
    ByteBuffer aligned = isAligned(bytes) ? bytes : alignedCopy(bytes);
    return new Model(Native.openModelBytes(aligned, aligned.position(), aligned.remaining(),
                         Native.utf8OrNull(options.cacheFolder)),
        aligned, aligned.remaining() + " bytes of memory");
  }

  /**
   * At least one.
   *
   * @return the signatures, in the order of the file
   */
  public @NotNull List<@NotNull Signature> signatures() {
    return signatures;
  }

  /**
   * A signature by its name.
   *
   * @param name the signature's
   * @return the signature
   * @throws IllegalArgumentException when there is none of this name
   */
  public @NotNull Signature signature(@NotNull String name) {
    if (name == null)
      throw Arguments.isNull("name", "the name of a signature; the model has " + signatures);
    List<String> names = new ArrayList<>();
    for (Signature signature : signatures) {
      if (signature.name().equals(name))
        return signature;
      names.add(signature.name());
    }
    throw new IllegalArgumentException("the model has no signature '" + name + "'; it has " + names);
  }

  /**
   * The names of the model's variables: state that one run leaves to the next.
   *
   * @return the names, in the order of the file
   */
  public @NotNull List<@NotNull String> variables() {
    return variables;
  }

  /**
   * The value of a metadata key; null when there is none.
   *
   * @param key of the metadata
   * @return its value
   */
  public @Nullable String metadata(@NotNull String key) {
    Arguments.given(key, "key", "a key of the model's metadata");
    long address = handle.acquire();
    try {
      byte[] value = Native.metadata(address, Native.utf8(key));
      return value == null ? null : Native.text(value);
    } finally {
      handle.release();
    }
  }

  /**
   * Writes to the cache folder what sessions have packed since it was last written. Creating a session and
   * closing the model do so as well; an application that may be killed at any time calls it after the first
   * run.
   *
   * @throws SkiffException {@link Status#IO}: a file could not be written
   */
  public void saveCache() {
    long address = handle.acquire();
    try {
      Native.saveCache(address);
    } finally {
      handle.release();
    }
  }

  /**
   * No session can be made any more. Those that were go on, and the native memory is freed with the last of
   * them. Does nothing the second time.
   */
  @Override
  public void close() {
    handle.close();
  }

  /** Where it came from, and its signatures. */
  @Override
  public @NotNull String toString() {
    return "model " + source + (handle.isClosed() ? " (closed): " : ": ") + signatures;
  }

  ModelHandle handle() {
    return handle;
  }

  private static void checkGiven(ModelOptions options) {
    Arguments.given(options, "options", "ModelOptions; new ModelOptions() has the defaults");
  }

  private static boolean isAligned(ByteBuffer bytes) {
    return (Native.address(bytes) + bytes.position()) % ALIGNMENT == 0;
  }

  private static ByteBuffer alignedCopy(ByteBuffer bytes) {
    ByteBuffer memory = ByteBuffer.allocateDirect(bytes.remaining() + ALIGNMENT - 1);
    int begin = (int) ((ALIGNMENT - Native.address(memory) % ALIGNMENT) % ALIGNMENT);
    memory.position(begin);
    memory.put(bytes.duplicate());
    memory.limit(memory.position());
    memory.position(begin);
    return memory;
  }

  private static List<Signature> describe(long model) {
    List<Symbol> symbols = new ArrayList<>();
    for (int i = 0; i < Native.symbolCount(model); ++i) {
      symbols.add(new Symbol(Native.text(Native.symbolName(model, i)), Native.symbolRange(model, i)));
    }
    List<Signature> signatures = new ArrayList<>();
    for (int i = 0; i < Native.signatureCount(model); ++i) {
      signatures.add(new Signature(Native.text(Native.signatureName(model, i)),
          ports(model, i, false, symbols), ports(model, i, true, symbols)));
    }
    return Collections.unmodifiableList(signatures);
  }

  private static List<String> variableNames(long model) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < Native.variableCount(model); ++i)
      names.add(Native.text(Native.variableName(model, i)));
    return Collections.unmodifiableList(names);
  }

  private static @Nullable Quantization quantization(
      long model, int signature, boolean output, int index, DType dtype) {
    long[] numbers = Native.portQuantization(model, signature, output, index);
    return numbers == null
        ? null
        : new Quantization(dtype, numbers, Native.portScales(model, signature, output, index));
  }

  private static @Nullable ImageSpec image(long model, int signature, int input) {
    int[] sizes = new int[ImageSpec.SIZES];
    float[] values = new float[2 * ImageSpec.MOST_CHANNELS];
    return Native.inputImage(model, signature, input, sizes, values) ? new ImageSpec(sizes, values) : null;
  }

  private static List<String> labels(long model, int signature, int output) {
    List<String> labels = new ArrayList<>();
    for (int i = 0; i < Native.labelCount(model, signature, output); ++i)
      labels.add(Native.text(Native.label(model, signature, output, i)));
    return labels;
  }

  private static List<TensorType> ports(long model, int signature, boolean output, List<Symbol> symbols) {
    List<TensorType> types = new ArrayList<>();
    for (int i = 0; i < Native.portCount(model, signature, output); ++i) {
      long[] type = Native.portType(model, signature, output, i);
      long[] shape = new long[type.length - 1];
      Symbol[] varying = new Symbol[shape.length];
      for (int axis = 0; axis < shape.length; ++axis) {
        shape[axis] = type[axis + 1];
        int symbol = Native.portSymbol(model, signature, output, i, axis);
        varying[axis] = symbol < 0 ? null : symbols.get(symbol);
      }
      String name = Native.text(Native.portName(model, signature, output, i));
      DType dtype = DType.of(type[0]);
      types.add(new TensorType(name, dtype, shape, varying, quantization(model, signature, output, i, dtype),
          output ? null : image(model, signature, i),
          output ? labels(model, signature, i) : Collections.<String>emptyList()));
    }
    return types;
  }
}
