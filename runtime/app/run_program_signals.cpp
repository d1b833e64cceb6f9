#include "runtime/app/run_program_signals.h"

#include <csignal>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

volatile std::sig_atomic_t speaks = 0;

// Only async-signal-safe calls in here.
void end_process(int) {
  unlink_temporaries();
  if (speaks != 0) {
    constexpr char kMessage[] = "interrupted; no output file was written\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  }
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace

void handle_interrupts(int rank) {
  speaks = rank == 0 ? 1 : 0;
  struct sigaction action {};
  action.sa_handler = end_process;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void silence_interrupts() { speaks = 0; }

}  // namespace tdsl::rt
