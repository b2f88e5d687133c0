package io.skiff;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.After;
import org.junit.Test;

public class ThreadsTest {
  private final ExecutorService workers = Executors.newCachedThreadPool();
  private final Model model = Model.open(TestModels.CHARACTERS);

  @After
  public void close() throws InterruptedException {
    workers.shutdown();
    assertTrue(workers.awaitTermination(1, TimeUnit.MINUTES));
    model.close();
  }

  private Session slowSession() {
    Session session = Session.create(model, new SessionOptions().backend(Backend.REFERENCE));
    session.inputBuffer("image");
    return session;
  }

  /** Runs again and again until something is thrown, which is the result. */
  private Future<RuntimeException> runUntilThrown(Session session) throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    Future<RuntimeException> result = workers.submit(() -> {
      begun.countDown();
      while (true) {
        try {
          session.run();
        } catch (RuntimeException e) {
          return e;
        }
      }
    });
    begun.await();
    return result;
  }

  /** The numbers of the process's threads. Those of one that has ended may stay for a moment. */
  private static Set<String> threads() {
    return new HashSet<>(Arrays.asList(new File("/proc/self/task").list()));
  }

  private static Set<String> threadsSince(Set<String> before) {
    Set<String> started = threads();
    started.removeAll(before);
    return started;
  }

  private void runInParallel(SessionOptions options) throws Exception {
    List<Future<Void>> results = new ArrayList<>();
    for (int i = 0; i < 4; ++i) {
      results.add(workers.submit(() -> {
        try (Session session = Session.create(model, options)) {
          session.setInput("image", TestModels.reference("input_image.npy"));
          for (int run = 0; run < 50; ++run) {
            session.run();
            TestModels.assertIsReference(session.output("logits"));
          }
        }
        return null;
      }));
    }
    for (Future<Void> result : results) result.get();
  }

  @Test
  public void sessionsOfOneModelRunInParallel() throws Exception {
    runInParallel(new SessionOptions().threads(1));
  }

  @Test
  public void sessionsShareAThreadPool() throws Exception {
    try (ThreadPool pool = new ThreadPool(3)) {
      runInParallel(new SessionOptions().threadPool(pool));
    }
  }

  /** The workers of 50 sessions are those of their pool. (The machine may start a thread meanwhile.) */
  @Test
  public void aPoolBoundsTheThreads() {
    Set<String> before = threads();
    List<Session> sessions = new ArrayList<>();
    try (ThreadPool pool = new ThreadPool(3)) {
      SessionOptions options = new SessionOptions().threadPool(pool);
      for (int i = 0; i < 50; ++i) sessions.add(Session.create(model, options));
      int started = threadsSince(before).size();
      assertTrue(started + " threads", started >= 2 && started < 10);
    } finally {
      for (Session session : sessions) session.close();
    }
  }

  @Test
  public void aSessionOutlivesItsPoolsClosing() throws IOException {
    ThreadPool pool = new ThreadPool(2);
    SessionOptions options = new SessionOptions().threadPool(pool);
    try (Session session = Session.create(model, options)) {
      pool.close();
      pool.close();
      session.setInput("image", TestModels.reference("input_image.npy"));
      session.run();
      TestModels.assertIsReference(session.output("logits"));
      IllegalStateException closed =
          assertThrows(IllegalStateException.class, () -> Session.create(model, options));
      assertEquals("the thread pool is closed", closed.getMessage());
    }
  }

  /** What a failed creation has taken it gives back: the threads end. */
  @Test
  public void aSessionThatIsNotMadeReleasesThePool() throws InterruptedException {
    Set<String> before = threads();
    Set<String> started;
    try (ThreadPool pool = new ThreadPool(40)) {
      SessionOptions options = new SessionOptions().threadPool(pool).memoryLimit(1);
      assertThrows(SkiffException.class, () -> Session.create(model, options));
      started = threadsSince(before);
      assertTrue(started.size() + " threads", started.size() >= 39);
    }
    for (int tries = 0; tries < 1000 && started.size() >= 39; ++tries) {
      Thread.sleep(10);
      started.retainAll(threads());
    }
    assertTrue(started.size() + " threads", started.size() < 39);
  }

  @Test
  public void threadsHaveALimit() {
    for (int threads : new int[] {-1, 257, Integer.MAX_VALUE}) {
      SkiffException refused = assertThrows(SkiffException.class, () -> new ThreadPool(threads));
      assertEquals(Status.INVALID_ARGUMENT, refused.status());
      assertTrue(refused.getMessage(), refused.getMessage().contains("it must be 0 to 256"));
      SessionOptions options = new SessionOptions().threads(threads);
      assertEquals(refused.getMessage(),
          assertThrows(SkiffException.class, () -> Session.create(model, options)).getMessage());
    }
  }

  @Test
  public void anotherThreadCancels() throws Exception {
    try (Session session = slowSession()) {
      session.cancel();
      session.run();
      Future<RuntimeException> stopped = runUntilThrown(session);
      while (!stopped.isDone()) session.cancel();
      assertEquals(Status.CANCELLED, ((SkiffException) stopped.get()).status());
      session.run();
    }
  }

  /** What eight threads open, run, cancel for each other and close computes what one of them does alone. */
  @Test
  public void manyThreadsOpenRunCancelAndClose() throws Exception {
    AtomicReferenceArray<Session> published = new AtomicReferenceArray<>(8);
    try (ThreadPool pool = new ThreadPool(2); Session alone = Session.create(model)) {
      alone.inputBuffer("image");
      alone.run();
      float[] expected = alone.output("logits").toFloatArray();
      List<Future<Integer>> threads = new ArrayList<>();
      for (int number = 0; number < published.length(); ++number) {
        final int own = number;
        threads.add(workers.submit(() -> {
          int completed = 0;
          for (int i = 0; i < 10; ++i) {
            SessionOptions options =
                i % 2 == 0 ? new SessionOptions().threadPool(pool) : new SessionOptions().threads(1);
            try (Model opened = Model.open(TestModels.CHARACTERS);
                 Session session = Session.create(opened, options)) {
              session.inputBuffer("image");
              published.set(own, session);
              for (int run = 0; run < 20; ++run) {
                Session other = published.get((own + run) % published.length());
                if (run % 5 == 4 && other != null)
                  other.cancel();
                try {
                  session.run();
                } catch (SkiffException e) {
                  assertEquals(Status.CANCELLED, e.status());
                  continue;
                }
                assertArrayEquals(expected, session.output("logits").toFloatArray(), 0f);
                ++completed;
              }
              published.set(own, null);
            }
          }
          return completed;
        }));
      }
      // A call of cancel, one for five runs, ends one at most.
      for (Future<Integer> thread : threads) assertTrue(thread.get() > 10 * 20 / 2);
    }
  }

  @Test
  public void anotherThreadMayNotUseIt() throws Exception {
    try (Session session = slowSession()) {
      session.run(); // From now on there are outputs to ask for.
      Future<RuntimeException> stopped = runUntilThrown(session);
      IllegalStateException refused = null;
      while (refused == null && !stopped.isDone()) {
        try {
          session.output("logits");
        } catch (IllegalStateException e) {
          refused = e;
        }
      }
      // Whoever came second was refused, the runner or this thread.
      if (refused == null) {
        refused = (IllegalStateException) stopped.get();
      } else {
        while (!stopped.isDone()) session.cancel();
      }
      assertTrue(refused.getMessage(), refused.getMessage().contains("another thread"));
    }
  }

  @Test
  public void closingStopsARun() throws Exception {
    for (int i = 0; i < 50; ++i) {
      Session session = slowSession();
      Future<RuntimeException> stopped = runUntilThrown(session);
      session.close();
      RuntimeException thrown = stopped.get();
      if (thrown instanceof SkiffException) {
        assertEquals(Status.CANCELLED, ((SkiffException) thrown).status());
        thrown = assertThrows(IllegalStateException.class, () -> session.run());
      }
      assertEquals("the session is closed", thrown.getMessage());
    }
  }

  @Test
  public void cancellingMayMeetClosing() throws Exception {
    for (int i = 0; i < 200; ++i) {
      Session session = slowSession();
      Future<Void> canceller = workers.submit(() -> {
        for (int call = 0; call < 1000; ++call) session.cancel();
        return null;
      });
      session.close();
      canceller.get();
    }
  }

  /** What is copied while another thread runs, at sizes that move memory, and closes is whole or refused. */
  @Test
  public void copyingMayMeetRunningAndClosing() throws Exception {
    try (Model types = Model.open(TestModels.TYPES)) {
      Session session = Session.create(types);
      AtomicReference<Tensor> newest = new AtomicReference<>();
      Future<Integer> copier = workers.submit(() -> {
        int copies = 0;
        while (true) {
          Tensor tensor = newest.get();
          try {
            if (tensor != null)
              for (float element : tensor.toFloatArray()) assertEquals(tensor.size(), element, 0f);
            copies += tensor == null ? 0 : 1;
          } catch (IllegalStateException e) {
            if (e.getMessage().equals("the session is closed"))
              return copies;
          }
        }
      });
      for (int i = 0; i < 2000; ++i) {
        float[] values = new float[1 + i * 37 % 100];
        Arrays.fill(values, values.length);
        for (TensorType input : session.signature().inputs())
          session.inputBuffer(input.name(), values.length);
        session.setInput("f32", values);
        session.run();
        newest.set(session.output("of_f32"));
      }
      Thread.sleep(10);
      session.close();
      assertTrue(copier.get() > 0);
    }
  }

  /** An interrupt does not end the wait for a run's end, and is not lost. */
  @Test
  public void closingKeepsTheInterrupt() throws InterruptedException, ExecutionException {
    Session session = slowSession();
    Future<RuntimeException> stopped = runUntilThrown(session);
    Thread.currentThread().interrupt();
    session.close();
    assertTrue(Thread.interrupted());
    stopped.get();
  }
}
