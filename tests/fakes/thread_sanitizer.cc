// What ThreadSanitizer has to be told about libraries that were not built with it. Of their own
// inner life it sees memory, but not what guards it; our side of the calls it sees whole.
#if defined(__SANITIZE_THREAD__)

#include <pthread.h>
#include <threads.h>

#include <cstdint>
#include <memory>

extern "C" const char* __tsan_default_suppressions();  // NOLINT: the sanitizer's name
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:librdkafka.so\n"
         "called_from_lib:libmicrohttpd.so\n"
         "thread:librdkafka.so\n";
}

namespace {

struct Start {
  thrd_start_t function;
  void* argument;
};

void* Run(void* raw) {
  const std::unique_ptr<Start> start(static_cast<Start*>(raw));
  return reinterpret_cast<void*>(static_cast<intptr_t>(start->function(start->argument)));
}

}  // namespace

// librdkafka's threads are C11's, which the sanitizer does not know: in one that it has not seen
// begin, its first allocation is a crash. Here they begin as any other thread.
extern "C" int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  if (::pthread_create(thread, nullptr, &Run, start.get()) != 0) {
    return thrd_error;
  }
  (void)start.release();
  return thrd_success;
}

extern "C" int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  if (::pthread_join(thread, &value) != 0) {
    return thrd_error;
  }
  if (result != nullptr) {
    *result = static_cast<int>(reinterpret_cast<intptr_t>(value));
  }
  return thrd_success;
}

#endif
