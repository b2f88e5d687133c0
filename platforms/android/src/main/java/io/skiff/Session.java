package io.skiff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/**
 * One use of a {@link Model}: its inputs, outputs and activations. {@link #close()} it.
 *
 * <p>Threads: a session belongs to one thread at a time; a call during another thread's is an {@link
 * IllegalStateException}. {@link #cancel()} and {@link #close()} may come from any thread at any time.
 *
 * <p>Buffers: {@link #inputBuffer}, {@link #output} and {@link #variable} give views of the session's own
 * memory. They must not be touched after the session was closed. A session that was forgotten lives as long
 * as a {@link Tensor} of it or a buffer that it gave. (On Android, buffers that were made from such a buffer,
 * as
 * {@link ByteBuffer#slice} does, do not count.)
 */
public final class Session implements AutoCloseable {
  /** What kernels may read behind a bound input. */
  private static final int READABLE_BEHIND = 16;

  private final SessionHandle handle;
  /** The native model, which lives as long as the native session. */
  private final long modelAddress;
  private final int signatureIndex;
  private final Signature signature;
  private final List<String> variables;

  private Session(long address, Model model, long modelAddress, @Nullable SharedHandle threadPool,
      Signature signature, @Nullable SessionHandle variablesOf) {
    this.modelAddress = modelAddress;
    this.signatureIndex = model.signatures().indexOf(signature);
    this.signature = signature;
    this.variables = model.variables();
    this.handle =
        new SessionHandle(this, address, model.handle(), threadPool, signature.inputs().size(), variablesOf);
  }

  /** With the default options. */
  public static @NotNull Session create(@NotNull Model model) {
    return create(model, new SessionOptions());
  }

  /**
   * Prepares everything that a run needs.
   *
   * @throws IllegalStateException when the model, the thread pool, or the session whose variables it shares,
   *     is closed
   * @throws IllegalArgumentException when the model has no such signature
   * @throws SkiffException {@link Status#UNSUPPORTED}: the file has no plan for the target, or this build
   *     lacks an operator; {@link Status#OUT_OF_MEMORY}: see {@link SessionOptions#memoryLimit}
   */
  public static @NotNull Session create(@NotNull Model model, @NotNull SessionOptions options) {
    Handle.closeLost();
    Signature signature =
        options.signature == null ? model.signatures().get(0) : model.signature(options.signature);
    SessionHandle owner = options.variablesOf == null ? null : options.variablesOf.handle;
    SharedHandle threadPool = options.threadPool == null ? null : options.threadPool.handle();
    long address = model.handle().acquire();
    boolean created = false;
    boolean acquired = false;
    boolean entered = false;
    try {
      long pool = threadPool == null ? 0 : threadPool.acquire();
      acquired = threadPool != null;
      long variables = owner == null ? 0 : owner.enter(options.variablesOf);
      entered = owner != null;
      long session = Native.createSession(address, options.target.number(), options.backend.number(),
          options.threads, pool, Native.utf8(signature.name()), options.memoryLimit, options.keptShapes,
          options.fallBack, options.exact, variables);
      created = true;
      return new Session(session, model, address, threadPool, signature, owner);
    } finally {
      if (entered)
        owner.exit();
      if (acquired && !created)
        threadPool.release();
      if (!created)
        model.handle().release();
    }
  }

  /** The entry point that this session runs. */
  public @NotNull Signature signature() {
    return signature;
  }

  /**
   * Copies what lies between the position and the limit of a direct buffer into an input. The value stays
   * until it is set again.
   *
   * @param shape the extents of this call; none where the input's are fixed
   * @throws IllegalArgumentException when the buffer is not direct, not in native byte order, or not of the
   *     input's size
   * @throws SkiffException {@link Status#NO_MATCHING_BUCKET}: an extent is outside of its symbol's range
   */
  public void setInput(@NotNull String name, @NotNull ByteBuffer data, long @NotNull... shape) {
    int index = signature.inputIndex(name);
    TensorType type = signature.inputs().get(index);
    long[] extents = extents(type, shape);
    check(type, extents, data);
    long session = handle.enter(this);
    try {
      Native.setInput(session, index, data, data.position(), type.dtype().number(), extents);
      handle.bound[index] = null;
    } finally {
      handle.exit();
    }
  }

  /**
   * Lets an input live in a direct buffer of the caller's, from its position to its limit: no copy. The
   * buffer is kept alive, and new values may be written there between runs, until the input is set or bound
   * again or the session closed. It must be the caller's own memory, not another session's.
   *
   * @param shape the extents of this call; none where the input's are fixed
   * @throws IllegalArgumentException as for {@link #setInput}, or when fewer than 16 bytes of the buffer's
   *     capacity lie behind the limit (kernels read ahead)
   * @throws SkiffException as for {@link #setInput}; {@link Status#INVALID_ARGUMENT}: not aligned to the
   *     element's size
   */
  public void bindInput(@NotNull String name, @NotNull ByteBuffer data, long @NotNull... shape) {
    int index = signature.inputIndex(name);
    TensorType type = signature.inputs().get(index);
    long[] extents = extents(type, shape);
    check(type, extents, data);
    if (data.capacity() - data.limit() < READABLE_BEHIND) {
      throw new IllegalArgumentException("the buffer bound to " + type + " ends "
          + (data.capacity() - data.limit()) + " bytes behind its limit; allocate " + READABLE_BEHIND
          + " bytes more");
    }
    long session = handle.enter(this);
    try {
      Native.bindInput(session, index, data, data.position(), type.dtype().number(), extents);
      handle.bound[index] = data;
    } finally {
      handle.exit();
    }
  }

  /**
   * The input's own buffer, to be written before each run: direct, in native byte order, without a copy. It
   * is all zeros until it is written. Where extents vary it moves when a larger shape needs more room than
   * any before: ask again at each new shape.
   *
   * @param shape the extents of this call; none where the input's are fixed
   * @throws SkiffException {@link Status#NO_MATCHING_BUCKET}: an extent is outside of its symbol's range
   */
  public @NotNull ByteBuffer inputBuffer(@NotNull String name, long @NotNull... shape) {
    int index = signature.inputIndex(name);
    long[] extents = extents(signature.inputs().get(index), shape);
    long session = handle.enter(this);
    try {
      ByteBuffer buffer = Native.inputBuffer(session, index, extents);
      handle.bound[index] = null;
      BufferOwner.keep(this, buffer);
      return buffer.order(ByteOrder.nativeOrder());
    } finally {
      handle.exit();
    }
  }

  /**
   * Fills an input with a picture, as the file says that it is done ({@link TensorType#image}): resized,
   * cropped, normalised, in the input's element type. Where its batch is open, it becomes one picture.
   *
   * @throws SkiffException {@link Status#INVALID_ARGUMENT}: the file does not say how a picture becomes this
   *     input, or the input takes several at a time
   */
  public void setImage(@NotNull String name, @NotNull Pixels picture) {
    int index = signature.inputIndex(name);
    long session = handle.enter(this);
    try {
      Native.writeImage(session, modelAddress, signatureIndex, index, picture.memory, picture.offset,
          picture.format.number(), picture.width, picture.height, picture.rowBytes, picture.orientation);
      handle.bound[index] = null;
    } finally {
      handle.exit();
    }
  }

  /**
   * The classes with the highest scores of an output with one row of them, the highest first.
   *
   * @param softmax true where the scores are logits: they become probabilities
   * @throws IllegalArgumentException when {@code most} is not positive
   * @throws SkiffException {@link Status#INVALID_ARGUMENT}: where the last run failed, or there was none
   */
  public @NotNull List<@NotNull ClassScore> bestClasses(@NotNull String name, int most, boolean softmax) {
    if (most < 1)
      throw new IllegalArgumentException("the " + most + " best classes are none");
    int index = signature.outputIndex(name);
    List<String> labels = signature.outputs().get(index).labels();
    long session = handle.enter(this);
    try {
      double[] found = Native.bestClasses(session, modelAddress, signatureIndex, index, most, softmax);
      List<ClassScore> best = new ArrayList<>();
      for (int i = 0; i < found.length; i += 2) {
        int at = (int) found[i];
        best.add(new ClassScore(at, at < labels.size() ? labels.get(at) : "", found[i + 1]));
      }
      return best;
    } finally {
      handle.exit();
    }
  }

  /**
   * Computes the outputs.
   *
   * @throws SkiffException {@link Status#INVALID_ARGUMENT} names an input that was never set; {@link
   *     Status#CANCELLED}: see {@link #cancel()}
   */
  public void run() {
    long session = handle.enter(this);
    try {
      Native.run(session);
    } finally {
      handle.exit();
    }
  }

  /**
   * A view of an output, without a copy.
   *
   * @throws SkiffException {@link Status#INVALID_ARGUMENT}: where the last run failed, or there was none
   */
  public @NotNull Tensor output(@NotNull String name) {
    int index = signature.outputIndex(name);
    long[] type = new long[Tensor.TYPE_SIZE];
    long session = handle.enter(this);
    try {
      ByteBuffer buffer = Native.output(session, index, type);
      return new Tensor(this, type, buffer, buffer.asReadOnlyBuffer());
    } finally {
      handle.exit();
    }
  }

  /**
   * A view of a variable: what the last run left. It may be read and written between runs, which is how an
   * application keeps and restores state.
   *
   * @throws IllegalArgumentException when the model has no variable of this name
   */
  public @NotNull Tensor variable(@NotNull String name) {
    int index = variables.indexOf(name);
    if (index < 0) {
      throw new IllegalArgumentException("the model has no variable '" + name + "'; it has " + variables);
    }
    long[] type = new long[Tensor.TYPE_SIZE];
    long session = handle.enter(this);
    try {
      ByteBuffer buffer = Native.variable(session, index, type);
      return new Tensor(this, type, buffer, buffer);
    } finally {
      handle.exit();
    }
  }

  /** All variables back to the values in the file. */
  public void resetVariables() {
    long session = handle.enter(this);
    try {
      Native.resetVariables(session);
    } finally {
      handle.exit();
    }
  }

  /**
   * From any thread: a run in progress ends with {@link Status#CANCELLED} at the next operator. Without one,
   * and after
   * {@link #close()}, it does nothing; a later run starts anew.
   */
  public void cancel() {
    handle.cancel();
  }

  /** What the session runs on: that of the options, or {@link Target#CPU} where it fell back. */
  public @NotNull Target target() {
    long session = handle.enter(this);
    try {
      return Target.of(Native.target(session));
    } finally {
      handle.exit();
    }
  }

  /** What this session holds now. */
  public @NotNull MemoryUsage memoryUsage() {
    long session = handle.enter(this);
    try {
      return new MemoryUsage(Native.memoryUsage(session));
    } finally {
      handle.exit();
    }
  }

  /**
   * Cancels a run in progress, waits for its end, and frees the native memory. Does nothing the second time.
   */
  @Override
  public void close() {
    handle.close();
  }

  private static long[] extents(TensorType type, long[] shape) {
    if (shape.length == 0 && type.isFixed())
      return type.shape();
    if (shape.length != type.rank()) {
      throw new IllegalArgumentException("the shape " + Arrays.toString(shape) + " has not the rank of "
          + type + "; give all " + type.rank() + " extents");
    }
    return shape.clone();
  }

  /** The native library trusts in the buffer's size. */
  private static void check(TensorType type, long[] extents, ByteBuffer data) {
    if (!data.isDirect()) {
      throw new IllegalArgumentException(
          "the buffer for " + type + " is not direct; see ByteBuffer.allocateDirect()");
    }
    if (type.dtype().size() > 1 && data.order() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("the buffer for " + type + " is " + data.order()
          + "; say order(ByteOrder.nativeOrder()) before writing to it");
    }
    if (data.remaining() != bytes(type, extents)) {
      throw new IllegalArgumentException("the buffer for " + type + " has " + data.remaining()
          + " bytes from its position "
          + "to its limit; " + Arrays.toString(extents) + " takes " + bytes(type, extents));
    }
  }

  private static long bytes(TensorType type, long[] extents) {
    long bytes = type.dtype().size();
    for (long extent : extents) {
      if (extent < 0 || (extent > 0 && bytes > Integer.MAX_VALUE / extent)) {
        throw new IllegalArgumentException("the shape " + Arrays.toString(extents) + " for " + type
            + " is negative or takes more than a buffer can hold");
      }
      bytes *= extent;
    }
    return bytes;
  }
}
