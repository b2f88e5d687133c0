#include "core/print.h"

#include <atomic>

#include "core/platform.h"

namespace skiff {
namespace {

std::atomic<PrintSink> current_sink{nullptr};
std::atomic<void*> current_user{nullptr};

}  // namespace

void SetPrintSink(PrintSink sink, void* user) {
  current_user.store(user);
  current_sink.store(sink);
}

void PrintText(const char* text) {
  if (const PrintSink sink = current_sink.load()) {
    sink(current_user.load(), text);
  } else {
    platform::DefaultPrint(text);
  }
}

}  // namespace skiff
