#pragma once

namespace tdsl::rt {

/// From now on what ends a process from outside (HUP, INT, QUIT, PIPE, ALRM, TERM, USR1, XCPU) first removes its
/// temporary files; the exit code is 128 + the signal's number. HUP and PIPE stay ignored where they are (nohup). A
/// file that grows beyond the user's limit fails with a message.
void handle_interrupts();
/// From now on USR1 and TERM are counted instead, and wait to be acted upon. A second TERM ends the process.
void catch_checkpoint_signals();
/// Those that nobody has acted upon.
[[nodiscard]] int checkpoint_signals();
void take_checkpoint_signals(int count);
/// The process also ends when its parent does. A launcher that is killed cannot end its ranks.
void end_with_launcher();
/// This process prints the message about an interrupt.
void announce_interrupts();
/// From now on files have the names of outputs: that message says so.
void announce_outputs();
/// This process, or another one of its node, says when others were killed for memory.
void announce_memory_kills();
/// Whether somebody has asked where the ranks are, by SIGUSR2, since the last call.
[[nodiscard]] bool was_asked();
/// A failure has been reported: what ends the process from now on is its consequence and says nothing.
void silence_interrupts();

}  // namespace tdsl::rt
