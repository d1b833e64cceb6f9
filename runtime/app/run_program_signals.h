#pragma once

namespace tdsl::rt {

/// From now on Ctrl-C and a launcher's request to end (SIGTERM, mpirun's answer to Ctrl-C) remove temporary files and end
/// the process with exit code 130; rank 0 prints one message.
void handle_interrupts(int rank);
/// A failure has been reported: what ends the process from now on is its consequence and says nothing.
void silence_interrupts();

}  // namespace tdsl::rt
