#pragma once

namespace tdsl::rt {

/// Makes fatal signals from outside (HUP, INT, QUIT, PIPE, ALRM, TERM, USR1, XCPU) remove the process's temporary files
/// first; the exit code is 128 + the signal number. HUP and PIPE stay ignored if they are already (nohup). Exceeding
/// the file size limit fails with a message.
void handle_interrupts();
/// Counts USR1 and TERM instead of exiting, until they are handled. A second TERM ends the process.
void catch_checkpoint_signals();
/// Number of signals not handled yet.
[[nodiscard]] int checkpoint_signals();
void take_checkpoint_signals(int count);
/// Makes the process exit when its parent does: a killed launcher cannot end its ranks.
void end_with_launcher();
/// Makes this process print the message about an interrupt.
void announce_interrupts();
/// Output files have their final names from now on; the interrupt message says so.
void announce_outputs();
/// Makes this process, or another one of its node, report kills for memory.
void announce_memory_kills();
/// True if a status report was requested by SIGUSR2 since the last call.
[[nodiscard]] bool was_asked();
/// A failure has been reported: later signals are consequences and print nothing.
void silence_interrupts();

}  // namespace tdsl::rt
