package io.skiff;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps a session reachable as long as a buffer over its memory is: a buffer from the native library cannot
 * refer to anything itself. On the desktop's virtual machine buffers made from it refer to it.
 */
final class BufferOwner extends PhantomReference<ByteBuffer> {
  private static final ReferenceQueue<ByteBuffer> GONE = new ReferenceQueue<>();
  private static final Set<BufferOwner> KEPT =
      Collections.newSetFromMap(new ConcurrentHashMap<BufferOwner, Boolean>());

  @SuppressWarnings("unused") private final Session session;

  private BufferOwner(Session session, ByteBuffer buffer) {
    super(buffer, GONE);
    this.session = session;
  }

  static void keep(Session session, ByteBuffer buffer) {
    forgetGone();
    KEPT.add(new BufferOwner(session, buffer));
  }

  /** The sessions of buffers that are gone may be lost now. */
  static void forgetGone() {
    for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) KEPT.remove(gone);
  }
}
