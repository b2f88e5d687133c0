package io.skiff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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

  /** Its monitor guards the reading of tensors. */
  final SessionHandle handle;
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

  /**
   * With the default options.
   *
   * @param model an open one
   * @return the session, to be closed
   */
  public static @NotNull Session create(@NotNull Model model) {
    return create(model, new SessionOptions());
  }

  /**
   * Prepares everything that a run needs.
   *
   * @param model an open one
   * @param options how it is made
   * @return the session, to be closed
   * @throws IllegalStateException when the model, the thread pool, or the session whose variables it shares,
   *     is closed
   * @throws IllegalArgumentException when the model has no such signature
   * @throws SkiffException {@link Status#UNSUPPORTED}: the file has no plan for the target, or this build
   *     lacks an operator; {@link Status#OUT_OF_MEMORY}: see {@link SessionOptions#memoryLimit}
   */
  public static @NotNull Session create(@NotNull Model model, @NotNull SessionOptions options) {
    Arguments.given(model, "model", "an open Model");
    Arguments.given(options, "options", "SessionOptions; new SessionOptions() has the defaults");
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

  /**
   * The entry point that this session runs.
   *
   * @return the signature
   */
  public @NotNull Signature signature() {
    return signature;
  }

  /**
   * Copies what lies between the position and the limit of a direct buffer into an input. The value stays
   * until it is set again.
   *
   * @param name the input's
   * @param data the elements, row-major
   * @param shape the extents of this call; none where the input's are fixed
   * @throws IllegalArgumentException when the buffer is not direct, not in native byte order, or not of the
   *     input's size
   * @throws SkiffException {@link Status#NO_MATCHING_BUCKET}: an extent is outside of its symbol's range
   */
  public void setInput(@NotNull String name, @NotNull ByteBuffer data, long @NotNull... shape) {
    give(InputValue.ofBuffer(signature, name, data, shape));
  }

  /**
   * Copies real numbers into an input of {@link DType#F32}, or of {@link DType#F16}, rounded; into a
   * quantised one as the integers that stand for them ({@link Quantization#toInteger(float)}). The value
   * stays until it is set again.
   *
   * @param name the input's
   * @param data the elements, row-major
   * @param shape the extents of this call; none where at most one of the input's varies
   * @throws IllegalArgumentException when the input takes other elements, or not as many
   * @throws SkiffException {@link Status#NO_MATCHING_BUCKET}: an extent is outside of its symbol's range
   */
  public void setInput(@NotNull String name, float @NotNull[] data, long @NotNull... shape) {
    give(InputValue.ofArray(signature, name, data, shape));
  }

  /**
   * The same for an input of {@link DType#F64}.
   *
   * @param name the input's
   * @param data the elements, row-major
   * @param shape the extents of this call; none where at most one of the input's varies
   */
  public void setInput(@NotNull String name, double @NotNull[] data, long @NotNull... shape) {
    give(InputValue.ofArray(signature, name, data, shape));
  }

  /**
   * The same for an input of {@link DType#I8}, {@link DType#U8} or {@link DType#BOOL}, byte for byte.
   *
   * @param name the input's
   * @param data the elements, row-major
   * @param shape the extents of this call; none where at most one of the input's varies
   */
  public void setInput(@NotNull String name, byte @NotNull[] data, long @NotNull... shape) {
    give(InputValue.ofArray(signature, name, data, shape));
  }

  /**
   * The same for an input of {@link DType#I16} or {@link DType#U16}, bit for bit.
   *
   * @param name the input's
   * @param data the elements, row-major
   * @param shape the extents of this call; none where at most one of the input's varies
   */
  public void setInput(@NotNull String name, short @NotNull[] data, long @NotNull... shape) {
    give(InputValue.ofArray(signature, name, data, shape));
  }

  /**
   * The same for an input of any integers or booleans, which must be able to hold each of these.
   *
   * @param name the input's
   * @param data the elements, row-major
   * @param shape the extents of this call; none where at most one of the input's varies
   */
  public void setInput(@NotNull String name, int @NotNull[] data, long @NotNull... shape) {
    give(InputValue.ofArray(signature, name, data, shape));
  }

  /**
   * The same for an input of any integers or booleans, which must be able to hold each of these.
   *
   * @param name the input's
   * @param data the elements, row-major
   * @param shape the extents of this call; none where at most one of the input's varies
   */
  public void setInput(@NotNull String name, long @NotNull[] data, long @NotNull... shape) {
    give(InputValue.ofArray(signature, name, data, shape));
  }

  /**
   * Copies a tensor, such as another session's output, into an input of the same element type.
   *
   * @param name the input's
   * @param tensor a view or a copy
   * @throws IllegalArgumentException when the input has another type or shape
   * @throws IllegalStateException when the tensor's session is closed or has run again
   * @throws SkiffException {@link Status#NO_MATCHING_BUCKET}: an extent is outside of its symbol's range
   */
  public void setInput(@NotNull String name, @NotNull Tensor tensor) {
    give(InputValue.ofTensor(signature, name, tensor));
  }

  /**
   * Lets an input live in a direct buffer of the caller's, from its position to its limit: no copy. The
   * buffer is kept alive, and new values may be written there between runs, until the input is set or bound
   * again or the session closed. It must be the caller's own memory, not another session's.
   *
   * @param name the input's
   * @param data memory of the caller's
   * @param shape the extents of this call; none where the input's are fixed
   * @throws IllegalArgumentException as for {@link #setInput}, or when fewer than 16 bytes of the buffer's
   *     capacity lie behind the limit (kernels read ahead)
   * @throws SkiffException as for {@link #setInput}; {@link Status#INVALID_ARGUMENT}: not aligned to the
   *     element's size
   */
  public void bindInput(@NotNull String name, @NotNull ByteBuffer data, long @NotNull... shape) {
    InputValue value = InputValue.ofBuffer(signature, name, data, shape);
    if (data.capacity() - data.limit() < READABLE_BEHIND) {
      throw new IllegalArgumentException("the buffer bound to " + value.type + " ends "
          + (data.capacity() - data.limit()) + " bytes behind its limit; allocate " + READABLE_BEHIND
          + " bytes more");
    }
    long session = handle.enter(this);
    try {
      Native.bindInput(
          session, value.index, (ByteBuffer) value.value, 0, value.type.dtype().number(), value.shape);
      handle.bound[value.index] = data;
    } finally {
      handle.exit();
    }
  }

  /**
   * The input's own buffer, to be written before each run: direct, in native byte order, without a copy. It
   * is all zeros until it is written. Where extents vary it moves when a larger shape needs more room than
   * any before: ask again at each new shape.
   *
   * @param name the input's
   * @param shape the extents of this call; none where the input's are fixed
   * @return the input's memory
   * @throws SkiffException {@link Status#NO_MATCHING_BUCKET}: an extent is outside of its symbol's range
   */
  public @NotNull ByteBuffer inputBuffer(@NotNull String name, long @NotNull... shape) {
    int index = signature.inputIndex(name);
    long[] extents = InputValue.extents(signature.inputs().get(index), shape);
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
   * @param name the input's
   * @param picture of any size
   * @throws SkiffException {@link Status#INVALID_ARGUMENT}: the file does not say how a picture becomes this
   *     input, or the input takes several at a time
   */
  public void setImage(@NotNull String name, @NotNull Pixels picture) {
    give(InputValue.ofPixels(signature, name, picture));
  }

  /**
   * The classes with the highest scores of an output with one row of them, the highest first.
   *
   * @param name the output's
   * @param most how many at most
   * @param softmax true where the scores are logits: they become probabilities
   * @return at most so many
   * @throws IllegalArgumentException when {@code most} is not positive
   * @throws SkiffException {@link Status#INVALID_ARGUMENT}: where the last run failed, or there was none
   */
  public @NotNull List<@NotNull ClassScore> bestClasses(@NotNull String name, int most, boolean softmax) {
    int index = signature.outputIndex(name);
    if (most < 1)
      throw new IllegalArgumentException("the " + most + " best classes are none");
    List<String> labels = signature.outputs().get(index).labels();
    long session = handle.enter(this);
    try {
      return ClassScore.listOf(
          Native.bestClasses(session, modelAddress, signatureIndex, index, most, softmax), labels);
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
      run(session);
    } finally {
      handle.exit();
    }
  }

  /**
   * Sets all inputs, computes, and copies all outputs: the whole call in one. A value is a {@code float[]},
   * {@code double[]}, {@code byte[]}, {@code short[]}, {@code int[]} or {@code long[]}, as {@link #setInput}
   * takes them; an array of such arrays, {@code long[][]} for example, which says its shape itself; a direct
   * {@link ByteBuffer}; {@link Pixels}; or a {@link Tensor}. Where an input has several open extents, flat
   * arrays and buffers do not say its shape.
   *
   * @param inputs one value for each input, by name; no input is set unless all can be
   * @return the outputs by name, in the signature's order, with memory of their own: they outlive the session
   * @throws IllegalArgumentException names all inputs that are missing, unknown, or of the wrong type or size
   * @throws SkiffException as {@link #run()}, {@link #setInput} and {@link #setImage}
   */
  public @NotNull Map<@NotNull String, @NotNull Tensor> run(@NotNull Map<@NotNull String, ?> inputs) {
    List<InputValue> values = InputValue.ofMap(signature, inputs);
    long session = handle.enter(this);
    try {
      // What is refused comes first, while no other is set.
      for (InputValue value : values)
        if (!value.fits())
          give(session, value);
      for (InputValue value : values)
        if (value.fits())
          give(session, value);
      run(session);
      Map<String, Tensor> outputs = new LinkedHashMap<>();
      for (int i = 0; i < signature.outputs().size(); ++i)
        outputs.put(signature.outputs().get(i).name(), Tensor.copyOf(session, i, signature.outputs().get(i)));
      return outputs;
    } finally {
      handle.exit();
    }
  }

  private void run(long session) {
    handle.beginRun();
    Native.run(session);
  }

  /**
   * A view of an output, without a copy.
   *
   * @param name the output's
   * @return the output
   * @throws SkiffException {@link Status#INVALID_ARGUMENT}: where the last run failed, or there was none
   */
  public @NotNull Tensor output(@NotNull String name) {
    int index = signature.outputIndex(name);
    long[] type = new long[Tensor.TYPE_SIZE];
    long session = handle.enter(this);
    try {
      ByteBuffer buffer = Native.output(session, index, type);
      return Tensor.viewOf(this, handle.runs(), name, signature.outputs().get(index).quantization(), type,
          buffer, buffer.asReadOnlyBuffer());
    } finally {
      handle.exit();
    }
  }

  /**
   * A view of a variable: what the last run left. It may be read and written between runs, which is how an
   * application keeps and restores state.
   *
   * @param name the variable's
   * @return the variable
   * @throws IllegalArgumentException when the model has no variable of this name
   */
  public @NotNull Tensor variable(@NotNull String name) {
    if (name == null)
      throw Arguments.isNull("name", "the name of a variable; the model has " + variables);
    int index = variables.indexOf(name);
    if (index < 0) {
      throw new IllegalArgumentException("the model has no variable '" + name + "'; it has " + variables);
    }
    long[] type = new long[Tensor.TYPE_SIZE];
    long session = handle.enter(this);
    try {
      ByteBuffer buffer = Native.variable(session, index, type);
      return Tensor.viewOf(this, SessionHandle.ANY_RUN, name, null, type, buffer, buffer);
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

  /**
   * What the session runs on: that of the options, or {@link Target#CPU} where it fell back.
   *
   * @return the target
   */
  public @NotNull Target target() {
    long session = handle.enter(this);
    try {
      return Target.of(Native.target(session));
    } finally {
      handle.exit();
    }
  }

  /**
   * What this session holds now.
   *
   * @return bytes, by purpose
   */
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

  private void give(InputValue value) {
    long session = handle.enter(this);
    try {
      give(session, value);
    } finally {
      handle.exit();
    }
  }

  private void give(long session, InputValue value) {
    if (value.value instanceof Pixels)
      ((Pixels) value.value).write(session, modelAddress, signatureIndex, value.index);
    else
      value.write(session);
    handle.bound[value.index] = null;
  }

  /** What it runs. */
  @Override
  public @NotNull String toString() {
    return "session of " + signature + (handle.isClosed() ? " (closed)" : "");
  }
}
