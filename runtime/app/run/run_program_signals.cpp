#include "runtime/app/run/run_program_signals.h"

#include <sys/prctl.h>
#include <unistd.h>
#include <atomic>
#include <csignal>

#include "runtime/app/memory/memory_kills.h"
#include "runtime/app/watch/life_sign.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

constexpr int kEndings[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGXCPU};

volatile std::sig_atomic_t speaks = 0;
volatile std::sig_atomic_t speaks_of_kills = 0;
volatile std::sig_atomic_t parent = 0;
volatile std::sig_atomic_t asked = 0;
volatile std::sig_atomic_t outputs = 0;

std::atomic_flag ending = ATOMIC_FLAG_INIT;

// Only async-signal-safe calls here.
void end_process(int signal) {
  if (ending.test_and_set()) return;  // another signal is being handled, perhaps in another thread
  end_unkilled();
  mark_life_sign(signal);
  unlink_temporaries();
  // A launcher terminates the remaining ranks when one is lost.
  const bool told = signal == SIGTERM && speaks_of_kills != 0 && report_memory_kill();
  if (speaks != 0 && signal != SIGPIPE && !told) {
    constexpr char kNone[] = "interrupted; no output file was written\n";
    constexpr char kSome[] = "interrupted; output files had been written\n";
    [[maybe_unused]] const auto written = outputs == 0 ? ::write(STDERR_FILENO, kNone, sizeof kNone - 1)
                                                       : ::write(STDERR_FILENO, kSome, sizeof kSome - 1);
  }
  ::_exit(128 + signal);
}

/// Also sent when only the launcher thread that started this process has exited.
void end_orphan(int) {
  if (::getppid() == parent) return;
  end_unkilled();
  unlink_temporaries();
  ::_exit(128 + SIGTERM);
}

void set_handler(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::atomic<int> asked_to_save = 0;
static_assert(std::atomic<int>::is_always_lock_free);
volatile std::sig_atomic_t terms = 0;

void ask_to_save(int signal) {
  if (signal == SIGTERM && terms > 0) end_process(signal);
  // A launcher terminates the remaining ranks when one is lost, and without that rank no checkpoint can be saved.
  if (signal == SIGTERM && speaks_of_kills != 0 && report_memory_kill()) {
    end_unkilled();
    mark_life_sign(signal);
    unlink_temporaries();
    ::_exit(128 + signal);
  }
  if (signal == SIGTERM) terms = 1;
  ++asked_to_save;
}

}  // namespace

void catch_checkpoint_signals() {
  set_handler(SIGUSR1, ask_to_save, SA_RESTART);
  set_handler(SIGTERM, ask_to_save, SA_RESTART);
}
int checkpoint_signals() { return asked_to_save; }
void take_checkpoint_signals(int count) { asked_to_save -= count; }

void handle_interrupts() {
  for (const int signal : kEndings) {
    if ((signal == SIGHUP || signal == SIGPIPE) && is_ignored(signal)) continue;
    set_handler(signal, end_process);
  }
  set_handler(
      SIGUSR2, [](int) { asked = 1; }, SA_RESTART);
  set_handler(SIGXFSZ, SIG_IGN);
}

void end_with_launcher() {
  parent = ::getppid();
  const int orphaned = SIGRTMIN + 3;
  set_handler(orphaned, end_orphan, SA_RESTART);
  ::prctl(PR_SET_PDEATHSIG, orphaned);
}

bool was_asked() {
  const bool now = asked != 0;
  asked = 0;
  return now;
}

void announce_interrupts() { speaks = 1; }
void announce_outputs() { outputs = 1; }
void announce_memory_kills() { speaks_of_kills = 1; }
void silence_interrupts() {
  speaks = 0;
  speaks_of_kills = 0;
  end_unkilled();
}

}  // namespace tdsl::rt
