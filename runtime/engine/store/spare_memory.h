#pragma once

/// Spare memory for the report of a run that is out of memory: text, messages, exceptions.
namespace tdsl::rt {

/// Reserves one mebibyte. The first operator new that fails releases it and throws.
void keep_spare_memory();
/// Releases it.
void spend_spare_memory() noexcept;

}  // namespace tdsl::rt
