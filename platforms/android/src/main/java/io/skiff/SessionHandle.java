package io.skiff;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** A native session, used by one thread at a time. */
final class SessionHandle extends Handle {
  /**
   * The buffers that inputs were bound to. They are kept here because during a native call the Session itself
   * may already be unreachable; this handle is reachable as long as it is open.
   */
  final ByteBuffer[] bound;

  private final ModelHandle model;
  /** Held during each use. */
  private final ReentrantLock use = new ReentrantLock();
  private volatile boolean closing;
  /** Written with `use` and this object's monitor held; cancel() takes the monitor alone. */
  private long address;

  /** Takes over an acquire() of the model. */
  SessionHandle(Session owner, long address, ModelHandle model, int inputs) {
    super(owner);
    this.address = address;
    this.model = model;
    this.bound = new ByteBuffer[inputs];
  }

  /** The native session, for this thread alone until exit(). */
  long enter() {
    if (closing || !use.tryLock()) {
      throw new IllegalStateException(closing
              ? "the session is closed"
              : "another thread is using this session; a session belongs to one thread at a time");
    }
    if (address == 0) {
      use.unlock();
      throw new IllegalStateException("the session is closed");
    }
    return address;
  }

  void exit() {
    use.unlock();
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
    try {
      destroy();
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

  private synchronized void destroy() {
    Native.destroySession(address);
    address = 0;
    model.release();
  }
}
