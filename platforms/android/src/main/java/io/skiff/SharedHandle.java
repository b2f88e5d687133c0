package io.skiff;

/**
 * A native object that lives until it was closed and its last user, a session for example, has released it.
 */
abstract class SharedHandle extends Handle {
  private final String what;
  private final long address;
  private int users = 1;
  private boolean closed;

  /** {@code what} names it in messages. */
  SharedHandle(Object owner, long address, String what) {
    super(owner);
    this.address = address;
    this.what = what;
  }

  synchronized boolean isClosed() {
    return closed;
  }

  /** The native object, which stays alive until release(). */
  synchronized long acquire() {
    if (closed)
      throw new IllegalStateException("the " + what + " is closed");
    ++users;
    return address;
  }

  synchronized void release() {
    if (--users == 0)
      destroy(address);
  }

  /** Called once. */
  abstract void destroy(long address);

  @Override
  synchronized void end() {
    closed = true;
    release();
  }
}
