/// Daemon threads at the interpreter's end.
#pragma once

#include <unistd.h>

namespace skiff::python {

/// Makes a call that asks for the GIL, or that runs code of Python, which gives it up and asks for it now and
/// then. The interpreter ends daemon threads where they ask for the GIL, by unwinding them: objects on the
/// way would be given back without it. Such a thread waits for the process's end instead, as those of newer
/// interpreters do. `call` is C, out of which nothing else comes; a handler of abi::__forced_unwind& would
/// bind a reference to nothing.
template <class Call>
void OrStop(Call&& call) {
  try {
    call();
  } catch (...) {
    while (true) pause();
  }
}

}  // namespace skiff::python
