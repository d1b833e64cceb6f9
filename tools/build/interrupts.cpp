#include "tools/build/interrupts.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tdsl::codegen {

namespace {

constexpr int kInterrupts[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t child_process = 0;
volatile std::sig_atomic_t keeper_line = -1;
volatile std::sig_atomic_t holds = 0;
void (*clean_up_at_end)() = nullptr;
char message[256] = "interrupted; no output file was written\n";

// Only async-signal-safe calls in the next two functions, and in tell_keeper.
[[noreturn]] void end_process() {
  const int signal = received;
  if (clean_up_at_end != nullptr) clean_up_at_end();
  if (signal != SIGPIPE) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, std::strlen(message));
  }
  ::_exit(128 + signal);
}

void on_signal(int signal) {
  if (received == 0) received = signal;
  if (child_process != 0) {
    ::kill(child_process, signal == SIGINT ? SIGINT : SIGTERM);
    tell_keeper(keeper_line, {child_process, true});
  }
  if (holds == 0) end_process();
}

bool stays_ignored(int signal) {
  struct sigaction action {};
  return (signal == SIGHUP || signal == SIGPIPE) && ::sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

void handle_interrupts(void (*clean_up)()) {
  clean_up_at_end = clean_up;
  for (const int signal : kInterrupts) {
    if (stays_ignored(signal)) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    ::sigfillset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

void say_when_interrupted(std::string_view text) {
  const InterruptBlock block;
  const std::size_t size = std::min(text.size(), sizeof(message) - 1);
  text.copy(message, size);
  message[size] = 0;
}

int interrupt_signal() { return received; }

InterruptHold::InterruptHold() {
  const InterruptBlock block;
  holds = holds + 1;
}

InterruptHold::~InterruptHold() {
  const InterruptBlock block;
  holds = holds - 1;
  if (holds == 0 && received != 0) end_process();
}

InterruptBlock::InterruptBlock() {
  sigset_t all;
  ::sigemptyset(&all);
  for (const int signal : kInterrupts) ::sigaddset(&all, signal);
  ::sigprocmask(SIG_BLOCK, &all, &before_);
}

InterruptBlock::~InterruptBlock() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

void tell_keeper(int line, const KeeperOrder& order) noexcept {
  if (line < 0) return;
  [[maybe_unused]] const auto sent = ::send(line, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void pass_interrupts_to(pid_t child, int line) {
  child_process = 0;
  keeper_line = line;
  child_process = child;
}

}  // namespace tdsl::codegen
