#pragma once

#include <cstdint>

#include "runtime/check.h"

// Stops the run for invalid data. Not inline: emitted code has one call per possible failure.

namespace tdsl::rt {

/// Throws ProgramError with the message and location.
[[noreturn]] void stop(SourceLine place, const char* message);

/// The same with the sizes substituted for `{left}` and `{right}`.
[[noreturn]] void stop_sizes(SourceLine place, const char* message, Exact left, Exact right);

/// `subscript`, with this value, is outside a dimension of `extent`.
[[noreturn]] void stop_subscript(SourceLine place, std::int64_t value, std::int64_t extent, const char* subscript);

}  // namespace tdsl::rt
