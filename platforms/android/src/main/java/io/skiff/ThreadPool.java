package io.skiff;

import org.jetbrains.annotations.NotNull;

/**
 * Worker threads that several sessions share ({@link SessionOptions#threadPool}): an application with many
 * sessions then has one set of threads, not one for each. {@link #close()} it.
 *
 * <p>Sessions that share a pool may run at the same time, on different threads. An operator whose work is
 * shared out has the whole pool until it is done, and those of other sessions wait; small operators wait for
 * nobody.
 */
public final class ThreadPool implements AutoCloseable {
  private static final class PoolHandle extends SharedHandle {
    PoolHandle(ThreadPool owner, long address) {
      super(owner, address, "thread pool");
    }

    @Override
    void destroy(long address) {
      Native.destroyThreadPool(address);
    }
  }

  private final PoolHandle handle;
  private final int threads;

  /**
   * @param threads with the one that calls {@link Session#run}; at most 256; 0: as many as usable cores, at
   *     most 4
   * @throws SkiffException {@link Status#INVALID_ARGUMENT}: not a possible number; {@link
   *     Status#UNSUPPORTED}: this build runs everything on the calling thread
   */
  public ThreadPool(int threads) {
    Handle.closeLost();
    handle = new PoolHandle(this, Native.createThreadPool(threads));
    this.threads = threads;
  }

  /**
   * No session can be made with it any more. Those that were go on, and the threads end with the last of
   * them. Does nothing the second time.
   */
  @Override
  public void close() {
    handle.close();
  }

  /** How many threads it was asked for. */
  @Override
  public @NotNull String toString() {
    return "thread pool of "
        + (threads == 0 ? "as many threads as usable cores, at most 4" : threads + " threads")
        + (handle.isClosed() ? " (closed)" : "");
  }

  SharedHandle handle() {
    return handle;
  }
}
