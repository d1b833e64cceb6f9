#include "runtime/app/memory/memory_end.h"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/engine/store/spare_memory.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

/// Memory is exhausted if an allocation of this size fails.
constexpr std::size_t kProbeBytes = std::size_t{64} << 20;

struct sigaction abort_before {};

/// Only async-signal-safe calls here.
[[noreturn]] void end_without_memory() noexcept {
  constexpr char kMessage[] = "out of memory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  unlink_temporaries();
  ::_exit(static_cast<int>(ExitCode::kRunTime));
}

void end_uncaught() noexcept {
  spend_spare_memory();
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) { end_without_memory(); } catch (...) {
  }
  std::abort();
}

void end_aborted(int signal) {
  void* const probe = ::mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) end_without_memory();
  ::munmap(probe, kProbeBytes);
  ::sigaction(SIGABRT, &abort_before, nullptr);
  ::raise(signal);
}

}  // namespace

void catch_uncaught_bad_alloc() { std::set_terminate(end_uncaught); }

void catch_aborts_without_memory() {
  struct sigaction action {};
  action.sa_handler = end_aborted;
  action.sa_flags = SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGABRT, &action, &abort_before);
}

}  // namespace tdsl::rt
