package io.skiff;

import java.util.ArrayList;
import java.util.List;
import org.jetbrains.annotations.NotNull;
import org.jetbrains.annotations.Nullable;

/** How a {@link Session} is made. Read during {@link Session#create} only. */
public final class SessionOptions {
  Target target = Target.CPU;
  Backend backend = Backend.PLANNED;
  int threads;
  @Nullable ThreadPool threadPool;
  @Nullable String signature;
  long memoryLimit;
  int keptShapes;
  boolean fallBack = true;
  boolean exact = false;
  @Nullable Session variablesOf;

  /**
   * Default: {@link Target#CPU}.
   *
   * @param target what runs the model
   * @return this
   */
  public @NotNull SessionOptions target(@NotNull Target target) {
    this.target = Arguments.given(target, "target", "what runs the model, Target.CPU for example");
    return this;
  }

  /**
   * Default: {@link Backend#PLANNED}.
   *
   * @param backend what computes
   * @return this
   */
  public @NotNull SessionOptions backend(@NotNull Backend backend) {
    this.backend = Arguments.given(backend, "backend", "what computes, Backend.PLANNED for example");
    return this;
  }

  /**
   * At most 256; 0, the default: as many as usable cores, at most 4.
   *
   * @param threads their number
   * @return this
   */
  public @NotNull SessionOptions threads(int threads) {
    this.threads = threads;
    return this;
  }

  /**
   * Threads that sessions share, instead of {@link #threads}. Null, the default: the session has its own.
   *
   * @param pool an open one
   * @return this
   */
  public @NotNull SessionOptions threadPool(@Nullable ThreadPool pool) {
    this.threadPool = pool;
    return this;
  }

  /**
   * Null, the default: the first one of the file.
   *
   * @param signature its name
   * @return this
   */
  public @NotNull SessionOptions signature(@Nullable String signature) {
    this.signature = signature;
    return this;
  }

  /**
   * Bytes; 0, the default: none. Creation fails when the session would pass it.
   *
   * @param bytes the limit
   * @return this
   */
  public @NotNull SessionOptions memoryLimit(long bytes) {
    if (bytes < 0)
      throw new IllegalArgumentException("the memory limit is " + bytes + "; it must be 0 or more bytes");
    this.memoryLimit = bytes;
    return this;
  }

  /**
   * Shapes that stay prepared, so that a run with one of the last ones costs nothing extra; 0, the
   * default: 2.
   *
   * @param shapes their number
   * @return this
   */
  public @NotNull SessionOptions keptShapes(int shapes) {
    this.keptShapes = shapes;
    return this;
  }

  /**
   * A session of the same model whose variables the new one shares, so that a step and a reset, say, see the
   * same state. The two then count as one session: they belong to one thread at a time, and closing the first
   * waits for the second's run. Null, the default: the session has its own.
   *
   * @param session an open one
   * @return this
   */
  public @NotNull SessionOptions variablesOf(@Nullable Session session) {
    this.variablesOf = session;
    return this;
  }

  /**
   * True, the default: where the target's device is absent, refuses the model or runs out of memory, the CPU
   * runs it, and {@link Session#target()} tells. False: creation fails.
   *
   * @param fallBack whether that is allowed
   * @return this
   */
  public @NotNull SessionOptions fallBack(boolean fallBack) {
    this.fallBack = fallBack;
    return this;
  }

  /**
   * True: convolutions add the products of their definition. False, the default: those of 3 x 3 may be
   * computed by Winograd's minimal filtering, which is faster, needs more memory for weights and rounds more.
   *
   * @param exact whether that is wanted
   * @return this
   */
  public @NotNull SessionOptions exact(boolean exact) {
    this.exact = exact;
    return this;
  }

  /** What differs from the defaults. */
  @Override
  public @NotNull String toString() {
    List<String> words = new ArrayList<>();
    add(words, target != Target.CPU, "target " + target);
    add(words, backend != Backend.PLANNED, "backend " + backend);
    add(words, threads != 0, "threads " + threads);
    add(words, threadPool != null, "threadPool (" + threadPool + ")");
    add(words, signature != null, "signature " + signature);
    add(words, memoryLimit != 0, "memoryLimit " + memoryLimit);
    add(words, keptShapes != 0, "keptShapes " + keptShapes);
    add(words, !fallBack, "fallBack false");
    add(words, exact, "exact true");
    add(words, variablesOf != null, "variablesOf (" + variablesOf + ")");
    if (words.isEmpty())
      return "the defaults";
    String list = words.toString();
    return list.substring(1, list.length() - 1);
  }

  private static void add(List<String> words, boolean differs, String word) {
    if (differs)
      words.add(word);
  }
}
