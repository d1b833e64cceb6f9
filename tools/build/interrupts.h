#pragma once

#include <sys/types.h>

#include <csignal>
#include <string_view>

namespace tdsl::codegen {

/// Installs handlers for signals that end a process (HUP, INT, QUIT, PIPE, ALRM, TERM, USR1, USR2, XCPU): end the child
/// first, then remove temporary files, print one message (none for PIPE) and exit with code 128 + the signal's number.
/// `clean_up` is called before exiting and must be async-signal-safe. HUP and PIPE stay ignored if they are (nohup).
void handle_interrupts(void (*clean_up)());

/// Replaces the message "interrupted; no output file was written" from now on; truncated to 255 bytes.
void say_when_interrupted(std::string_view message);

/// The signal received, or 0.
[[nodiscard]] int interrupt_signal();

/// While one exists, a signal is recorded and forwarded to the child, but does not end this process: the last hold does
/// so, after temporary files are removed.
class InterruptHold {
 public:
  InterruptHold();
  ~InterruptHold();
  InterruptHold(const InterruptHold&) = delete;
  InterruptHold& operator=(const InterruptHold&) = delete;
};

/// While one exists, these signals stay pending.
class InterruptBlock {
 public:
  InterruptBlock();
  ~InterruptBlock();
  InterruptBlock(const InterruptBlock&) = delete;
  InterruptBlock& operator=(const InterruptBlock&) = delete;
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

/// Message to the keeper of a child (see WorkFolder).
struct KeeperOrder {
  pid_t child = 0;    ///< as for `kill`; 0: it has ended
  bool ends = false;  ///< it has been asked to end, and has limited time to do so
};
/// Async-signal-safe; no effect without a line.
void tell_keeper(int line, const KeeperOrder& order) noexcept;

/// Sets the child to which signals are forwarded, as for `kill` (a negative number is a process group); 0: none. INT is
/// forwarded as INT, all others as TERM. The keeper at the other end of `line`, if any, is notified.
void pass_interrupts_to(pid_t child, int line = -1);

}  // namespace tdsl::codegen
