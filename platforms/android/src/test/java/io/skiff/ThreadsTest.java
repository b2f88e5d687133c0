package io.skiff;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
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

  @Test
  public void sessionsOfOneModelRunInParallel() throws Exception {
    List<Future<Void>> results = new ArrayList<>();
    for (int i = 0; i < 4; ++i) {
      results.add(workers.submit(() -> {
        try (Session session = Session.create(model, new SessionOptions().threads(1))) {
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

  @Test
  public void anotherThreadMayNotUseIt() throws Exception {
    try (Session session = slowSession()) {
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
