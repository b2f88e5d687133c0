/// The threads of a pthreadpool, in the place of pthreadpool's own pthreads.c; how it divides work stays
/// pthreadpool's.
///
/// Its workers spin a million times before they sleep, and the calling thread waits for each of them in each
/// call, also for one that the system has not let run: on a machine with other work, both take the core that
/// the other one needs. Here whoever waits spins for some microseconds and then sleeps, and a worker that
/// comes when the work is done is not waited for: the others have taken its share.
///
/// A worker that the system stops while it holds items has to be waited for. Where that takes longer than the
/// caller would have needed for all of the call, the calls of the next 20 ms, then 40, at most 1 s, run on
/// the calling thread. A worker that the system puts on the caller's core leaves for another one that it may
/// run on; where no other worker came to the call, the calls of the next 1 ms, then 2, at most 1 s, run on
/// the calling thread.
#pragma once

#include <pthreadpool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Makes a pool of `threads`, the calling one included: at least 1. 0, or the system's reason (an errno) why
/// there are only `made` threads beside the calling one.
__attribute__((visibility("hidden"))) int skiff_pool_create(size_t threads, pthreadpool_t* pool,
                                                            size_t* made);

#ifdef __cplusplus
}
#endif
