#pragma once

#include <sys/types.h>

#include <csignal>
#include <string_view>

namespace tdsl::codegen {

/// From now on what ends a process from outside (HUP, INT, QUIT, PIPE, ALRM, TERM, USR1, USR2, XCPU) ends this one in
/// good order: its child first, then its temporary files, with one message (none for PIPE) and exit code 128 + the
/// signal's number. `clean_up` is called before and must be async-signal-safe. HUP and PIPE stay ignored where they are
/// (nohup).
void handle_interrupts(void (*clean_up)());

/// What is said in place of "interrupted; no output file was written" from now on; cut at 255 bytes.
void say_when_interrupted(std::string_view message);

/// The signal that has come, or 0.
[[nodiscard]] int interrupt_signal();

/// While one lives, a signal is noted and passed on to the child, but does not end this process: that is for the last
/// hold to do, when temporary files are gone.
class InterruptHold {
 public:
  InterruptHold();
  ~InterruptHold();
  InterruptHold(const InterruptHold&) = delete;
  InterruptHold& operator=(const InterruptHold&) = delete;
};

/// While one lives, no such signal is handled; they wait.
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

/// What the keeper of a child (see WorkFolder) is told.
struct KeeperOrder {
  pid_t child = 0;    ///< as `kill` takes it; 0: it has ended
  bool ends = false;  ///< it has been asked to end, and has only so much time for that
};
/// Async-signal-safe; nothing happens without a line.
void tell_keeper(int line, const KeeperOrder& order) noexcept;

/// The child that signals are passed on to, as `kill` takes it (a negative number is a process group); 0: none. What is
/// passed on is INT, or TERM for all others. The keeper at the other end of `line`, if there is one, is told.
void pass_interrupts_to(pid_t child, int line = -1);

}  // namespace tdsl::codegen
