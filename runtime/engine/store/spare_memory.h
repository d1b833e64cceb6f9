#pragma once

/// The end of a run whose memory is used up takes memory, too: text, messages, exceptions.
namespace tdsl::rt {

/// Sets a mebibyte aside. The first operator new that fails gives it back and throws.
void keep_spare_memory();
/// Gives it back.
void spend_spare_memory() noexcept;

}  // namespace tdsl::rt
