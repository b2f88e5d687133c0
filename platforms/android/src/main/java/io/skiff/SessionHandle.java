package io.skiff;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jetbrains.annotations.Nullable;

/** A native session, used by one thread at a time. */
final class SessionHandle extends Handle {
  /** Of memory that stays as long as the session, as that of variables. */
  static final long ANY_RUN = -1;

  /** The buffers that inputs were bound to. */
  final ByteBuffer[] bound;

  private final ModelHandle model;
  /** Null where the session has threads of its own. */
  private final @Nullable SharedHandle threadPool;
  /** Its variables are this one's, so its native session lives as long. */
  private final @Nullable SessionHandle variablesOf;
  /** Held during each use; one for all sessions that share variables. */
  private final ReentrantLock use;
  /** The session while a call is in progress: nothing else may refer to it, and it must not be lost then. */
  @SuppressWarnings("unused") private @Nullable Session user;
  private volatile boolean closing;
  /** Written with `use` held. */
  private boolean closed;
  /** This one until it is closed, and those that share its variables. Changes with `use` held. */
  private int users = 1;
  /** Changes with this object's monitor held. */
  private long runs;
  /** Written with `use` and this object's monitor held; cancel() takes the monitor alone. */
  private long address;

  /** Takes over an acquire() of the model, and of the thread pool. `variablesOf` is entered. */
  SessionHandle(Session owner, long address, ModelHandle model, @Nullable SharedHandle threadPool, int inputs,
      @Nullable SessionHandle variablesOf) {
    super(owner);
    this.address = address;
    this.model = model;
    this.threadPool = threadPool;
    this.bound = new ByteBuffer[inputs];
    this.variablesOf = variablesOf;
    this.use = variablesOf == null ? new ReentrantLock() : variablesOf.use;
    if (variablesOf != null)
      ++variablesOf.users;
  }

  /** The native session, for this thread alone until exit(). */
  long enter(Session session) {
    if (closing || !use.tryLock()) {
      throw new IllegalStateException(closing
              ? "the session is closed"
              : "another thread is using this session, or one that shares its variables; they belong to one "
                  + "thread at a time");
    }
    if (closed) {
      use.unlock();
      throw new IllegalStateException("the session is closed");
    }
    user = session;
    return address;
  }

  void exit() {
    user = null;
    use.unlock();
  }

  /** Tensors of outputs cannot be read from now on. Called before each run. */
  synchronized void beginRun() {
    ++runs;
  }

  /** How many runs were begun. */
  synchronized long runs() {
    return runs;
  }

  /**
   * Why memory that was given after so many runs is no longer what it was; null where it may be read, as long
   * as the caller holds this object's monitor: neither a run nor the end can begin then.
   */
  @Nullable
  String whyUnreadable(long run) {
    if (address == 0 || closing)
      return "the session is closed";
    return run == ANY_RUN || run == runs ? null
                                         : "the session has run again; ask it for the output once more";
  }

  boolean isClosed() {
    return closing;
  }

  synchronized void cancel() {
    if (address != 0)
      Native.cancel(address);
  }

  /** Cancels a run in progress on another thread, and waits for its end. */
  @Override
  void end() {
    closing = true;
    waitForUse();
    closed = true;
    try {
      release();
    } finally {
      use.unlock();
    }
  }

  private void waitForUse() {
    boolean interrupted = false;
    while (true) {
      try {
        // A run that has not begun yet when it is cancelled goes on, hence again and again.
        if (use.tryLock() || use.tryLock(1, TimeUnit.MILLISECONDS))
          break;
        cancel();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted)
      Thread.currentThread().interrupt();
  }

  private void release() {
    if (--users > 0)
      return;
    destroy();
    if (threadPool != null)
      threadPool.release();
    model.release();
    if (variablesOf != null)
      variablesOf.release();
  }

  private synchronized void destroy() {
    Native.destroySession(address);
    address = 0;
  }
}
