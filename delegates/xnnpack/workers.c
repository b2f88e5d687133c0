#include "delegates/xnnpack/workers.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// How pthreadpool's portable part divides work among the threads.
#include "threadpool-atomics.h"
#include "threadpool-common.h"
#include "threadpool-object.h"
#include "threadpool-utils.h"

// Fields of struct pthreadpool, and what they are here.
//
// command: the number of the call; workers wait for another one. kEnd ends them.
//
// has_active_threads: the gate, which is kOpen while there may be work, the call's number, and how many
// workers are inside.
//
// active_threads: how many workers sleep, or are about to.

enum {
  kCountBits = 12,
  kMostThreads = (1 << kCountBits) - 1,
};
static const uint32_t kOpen = UINT32_C(1) << 31;
static const uint32_t kCallerSleeps = UINT32_C(1) << 30;
static const uint32_t kCount = kMostThreads;
static const uint32_t kCallNumber = (UINT32_C(1) << 30) - (UINT32_C(1) << kCountBits);
static const uint32_t kEnd = UINT32_MAX;

// To be woken takes about as long. Longer, and a thread that has nothing to do keeps one with work from its
// core.
static const int64_t kWorkerSpin = 60000;  // Nanoseconds.
static const int64_t kCallerSpin = 30000;

// A worker that holds items and is not let run costs its core's time slice, some milliseconds, in each call
// that it enters. So after a call in which the caller waited for longer than it had computed, which is when
// it had been faster alone, it works alone for a while, and twice as long each time that this happens again
// at once.
static const int64_t kLate = 200000;
static const int64_t kPauseOfLate = 20000000;
static const int64_t kLongestPause = 1000000000;

// A worker that the system puts on the caller's core can only keep the caller from it, above all while it
// waits for the next call: there it does nothing but leave for another one. A call to which only such workers
// came counts as one with a late worker, but that the first while is as short as a move takes.
static const int64_t kPauseOfMoved = 1000000;

/// What the caller remembers of workers that did not help, and whose they are, in the room of one thread more
/// than there are.
struct Patience {
  int64_t alone_until;
  int64_t pause;
  pthreadpool_atomic_uint32_t core;  ///< The caller's.
  pid_t process;                     ///< A child that it forks has a copy of the pool, but no workers.
  // Of this call's workers.
  pthreadpool_atomic_uint32_t helping;
  pthreadpool_atomic_uint32_t on_its_core;
};
PTHREADPOOL_STATIC_ASSERT(sizeof(struct Patience) <= sizeof(struct thread_info), "no room for it");

static struct Patience* PatienceOf(struct pthreadpool* pool) {
  return (struct Patience*)&pool->threads[pool->threads_count.value];
}

static void Sleep(pthreadpool_atomic_uint32_t* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}
static void Wake(pthreadpool_atomic_uint32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX); }

static int64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Until (*word & mask) == value is `equal`; false when the time is over first.
static bool Spin(pthreadpool_atomic_uint32_t* word, uint32_t mask, uint32_t value, bool equal,
                 int64_t nanoseconds) {
  const int64_t end = Now() + nanoseconds;
  do {
    for (int i = 0; i < 16; ++i) {
      if (((atomic_load_explicit(word, memory_order_acquire) & mask) == value) == equal) return true;
      pthreadpool_yield();
    }
  } while (Now() < end);
  return false;
}

static bool IsOnCallersCore(struct pthreadpool* pool) {
  const int core = sched_getcpu();
  return core >= 0 && (uint32_t)core == atomic_load_explicit(&PatienceOf(pool)->core, memory_order_relaxed);
}

/// To another core, where the thread is allowed one. The system wakes it where it slept last, unless that
/// core's neighbours are seen to be idle, and moves only threads that have waited for some time, which one
/// that does nothing here never has.
static bool LeaveCore(void) {
  cpu_set_t allowed;
  const int core = sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return false;
  cpu_set_t others = allowed;
  CPU_CLR((size_t)core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return false;
  sched_setaffinity(0, sizeof(allowed), &allowed);
  return true;
}

static uint32_t WaitForCall(struct pthreadpool* pool, uint32_t last) {
  if (IsOnCallersCore(pool) || !Spin(&pool->command, UINT32_MAX, last, /*equal=*/false, kWorkerSpin)) {
    // The caller looks for sleepers after it has changed the command, and this thread the other way round.
    atomic_fetch_add(&pool->active_threads, 1);
    while (atomic_load(&pool->command) == last) Sleep(&pool->command, last);
    atomic_fetch_sub(&pool->active_threads, 1);
  }
  return atomic_load_explicit(&pool->command, memory_order_acquire);
}

/// Into the call that is going on, whose number is left in *call; false where there is none, or this thread
/// knows it.
static bool Enter(struct pthreadpool* pool, uint32_t* call) {
  uint32_t gate = atomic_load_explicit(&pool->has_active_threads, memory_order_relaxed);
  do {
    if ((gate & kOpen) == 0 || (gate & kCallNumber) == *call) return false;
  } while (!atomic_compare_exchange_weak_explicit(&pool->has_active_threads, &gate, gate + 1,
                                                  memory_order_acquire, memory_order_relaxed));
  *call = gate & kCallNumber;
  return true;
}

static void Leave(struct pthreadpool* pool) {
  const uint32_t before = atomic_fetch_sub_explicit(&pool->has_active_threads, 1, memory_order_acq_rel);
  if ((before & kCallerSleeps) != 0 && (before & kCount) == 1) Wake(&pool->has_active_threads);
}

static void Work(struct pthreadpool* pool, struct thread_info* thread, thread_function_t function,
                 uint32_t flags) {
  if ((flags & PTHREADPOOL_FLAG_DISABLE_DENORMALS) == 0) {
    function(pool, thread);
    return;
  }
  const struct fpu_state state = get_fpu_state();
  disable_fpu_denormals();
  function(pool, thread);
  set_fpu_state(state);
}

static void* RunWorker(void* argument) {
  struct thread_info* const thread = argument;
  struct pthreadpool* const pool = thread->threadpool;
  uint32_t command = 0;
  uint32_t call = 0;
  while ((command = WaitForCall(pool, command)) != kEnd) {
    if (IsOnCallersCore(pool)) {
      atomic_fetch_add_explicit(&PatienceOf(pool)->on_its_core, 1, memory_order_relaxed);
      if (!LeaveCore()) continue;
    }
    if (!Enter(pool, &call)) continue;
    atomic_fetch_add_explicit(&PatienceOf(pool)->helping, 1, memory_order_relaxed);
    Work(pool, thread, (thread_function_t)pthreadpool_load_relaxed_void_p(&pool->thread_function),
         pthreadpool_load_relaxed_uint32_t(&pool->flags));
    Leave(pool);
  }
  return NULL;
}

/// Ends the workers that were made: those of the threads [1, end).
static void Join(struct pthreadpool* pool, size_t end) {
  if (PatienceOf(pool)->process != getpid()) return;
  atomic_store(&pool->command, kEnd);
  Wake(&pool->command);
  for (size_t i = 1; i < end; ++i) pthread_join(pool->threads[i].thread_object, NULL);
  pthread_mutex_destroy(&pool->execution_mutex);
}

int skiff_pool_create(size_t threads, pthreadpool_t* result, size_t* made) {
  *made = 0;
  if (threads > kMostThreads) return EAGAIN;
  struct pthreadpool* const pool = pthreadpool_allocate(threads + 1);  // Of zeros.
  if (pool == NULL) return ENOMEM;
  pool->threads_count = fxdiv_init_size_t(threads);
  atomic_store_explicit(&PatienceOf(pool)->core, UINT32_MAX, memory_order_relaxed);
  PatienceOf(pool)->process = getpid();
  for (size_t i = 0; i < threads; ++i) {
    pool->threads[i].thread_number = i;
    pool->threads[i].threadpool = pool;
  }
  pthread_mutex_init(&pool->execution_mutex, NULL);
  for (size_t i = 1; i < threads; ++i) {
    const int error = pthread_create(&pool->threads[i].thread_object, NULL, &RunWorker, &pool->threads[i]);
    if (error != 0) {
      Join(pool, i);
      pthreadpool_deallocate(pool);
      return error;
    }
    ++*made;
  }
  *result = pool;
  return 0;
}

struct pthreadpool* pthreadpool_create(size_t threads) {
  pthreadpool_t pool = NULL;
  size_t made = 0;
  const int error =
      skiff_pool_create(threads == 0 ? (size_t)sysconf(_SC_NPROCESSORS_ONLN) : threads, &pool, &made);
  if (error != 0) errno = error;
  return pool;
}

void pthreadpool_destroy(struct pthreadpool* pool) {
  if (pool == NULL) return;
  Join(pool, pool->threads_count.value);
  pthreadpool_deallocate(pool);
}

/// An equal share for each thread; whoever is done takes from the ends of the others'. Who works alone has
/// all: what lies side by side is computed one after the other.
static void Divide(struct pthreadpool* pool, size_t items, bool alone) {
  struct fxdiv_result_size_t share = {0, 0};
  if (!alone) share = fxdiv_divide_size_t(items, pool->threads_count);
  for (size_t i = 0, start = 0; i < pool->threads_count.value; ++i) {
    struct thread_info* const thread = &pool->threads[i];
    const size_t length = alone ? (i == 0 ? items : 0) : share.quotient + (i < share.remainder ? 1 : 0);
    pthreadpool_store_relaxed_size_t(&thread->range_start, start);
    pthreadpool_store_relaxed_size_t(&thread->range_end, start + length);
    pthreadpool_store_relaxed_size_t(&thread->range_length, length);
    start += length;
  }
}

static void CallWorkers(struct pthreadpool* pool) {
  struct Patience* const patience = PatienceOf(pool);
  atomic_store_explicit(&patience->core, (uint32_t)sched_getcpu(), memory_order_relaxed);
  atomic_store_explicit(&patience->helping, 0, memory_order_relaxed);
  atomic_store_explicit(&patience->on_its_core, 0, memory_order_relaxed);
  uint32_t call =
      (atomic_load_explicit(&pool->command, memory_order_relaxed) + 1) & (kCallNumber >> kCountBits);
  if (call == 0) call = 1;  // What workers begin with.
  atomic_store_explicit(&pool->has_active_threads, kOpen | call << kCountBits, memory_order_release);
  atomic_store(&pool->command, call);
  if (atomic_load(&pool->active_threads) != 0) Wake(&pool->command);
}

static void WaitForWorkers(struct pthreadpool* pool) {
  // Whoever comes now finds nothing to do. Those that are inside have items that they began.
  uint32_t gate = atomic_fetch_and_explicit(&pool->has_active_threads, ~kOpen, memory_order_acq_rel);
  if ((gate & kCount) == 0 || Spin(&pool->has_active_threads, kCount, 0, /*equal=*/true, kCallerSpin)) return;
  gate = atomic_fetch_or(&pool->has_active_threads, kCallerSleeps) | kCallerSleeps;
  while ((gate & kCount) != 0) {
    Sleep(&pool->has_active_threads, gate);
    gate = atomic_load_explicit(&pool->has_active_threads, memory_order_acquire);
  }
}

static void Learn(struct Patience* patience, int64_t computed, int64_t waited, int64_t now) {
  const bool late = waited > kLate && waited > computed;
  const bool in_the_way = atomic_load_explicit(&patience->on_its_core, memory_order_relaxed) > 0 &&
                          atomic_load_explicit(&patience->helping, memory_order_relaxed) == 0;
  if (late || in_the_way) {
    const int64_t shortest = late ? kPauseOfLate : kPauseOfMoved;
    const int64_t twice = 2 * patience->pause;
    patience->pause = twice < shortest ? shortest : twice > kLongestPause ? kLongestPause : twice;
    patience->alone_until = now + patience->pause;
  } else if (now - patience->alone_until > patience->pause) {
    patience->pause = 0;
  }
}

PTHREADPOOL_INTERNAL void pthreadpool_parallelize(struct pthreadpool* pool, thread_function_t function,
                                                  const void* params, size_t params_size, void* task,
                                                  void* context, size_t items, uint32_t flags) {
  pthread_mutex_lock(&pool->execution_mutex);
  pthreadpool_store_relaxed_void_p(&pool->thread_function, (void*)function);
  pthreadpool_store_relaxed_void_p(&pool->task, task);
  pthreadpool_store_relaxed_void_p(&pool->argument, context);
  pthreadpool_store_relaxed_uint32_t(&pool->flags, flags);
  if (params_size != 0) memcpy(&pool->params, params, params_size);

  struct Patience* const patience = PatienceOf(pool);
  const int64_t begin = Now();
  const bool alone = begin < patience->alone_until;
  Divide(pool, items, alone);
  if (!alone) CallWorkers(pool);
  Work(pool, &pool->threads[0], function, flags);
  if (!alone) {
    const int64_t end = Now();
    WaitForWorkers(pool);
    const int64_t now = Now();
    Learn(patience, end - begin, now - end, now);
  }
  pthread_mutex_unlock(&pool->execution_mutex);
}
