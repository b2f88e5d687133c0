package io.skiff;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;

/**
 * Owns a native object until it is closed. If its owner (a Model, for example) was lost without having been
 * closed, the next one that is opened closes it: native memory is not leaked, but the log says that it was
 * forgotten.
 */
abstract class Handle extends PhantomReference<Object> {
  private static final ReferenceQueue<Object> LOST = new ReferenceQueue<>();
  /** Only a reference that is itself reachable is ever queued. */
  private static final Set<Handle> OPEN = Collections.newSetFromMap(new ConcurrentHashMap<Handle, Boolean>());

  private final String what;

  Handle(Object owner) {
    super(owner, LOST);
    what = owner.getClass().getSimpleName();
    OPEN.add(this);
  }

  /** Does nothing the second time. */
  final void close() {
    if (!OPEN.remove(this))
      return;
    clear();
    end();
  }

  /** Called once. */
  abstract void end();

  static void closeLost() {
    BufferOwner.forgetGone();
    for (Reference<?> lost = LOST.poll(); lost != null; lost = LOST.poll()) {
      Handle handle = (Handle) lost;
      if (!OPEN.remove(handle))
        continue;
      Logger.getLogger("io.skiff")
          .warning("a " + handle.what + " was not closed: use try-with-resources, or close()");
      handle.end();
    }
  }
}
