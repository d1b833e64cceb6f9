#pragma once

#include <cstdint>

#include "runtime/check.h"

// How kernels refuse data. Not inline: emitted code has one call per place that may fail.

namespace tdsl::rt {

/// Throws ProgramError with the message at that place.
[[noreturn]] void stop(SourceLine place, const char* message);

/// The same with the sizes in the places of `{left}` and `{right}`.
[[noreturn]] void stop_sizes(SourceLine place, const char* message, Exact left, Exact right);

/// `subscript` is `value`, outside of a dimension of `extent`.
[[noreturn]] void stop_subscript(SourceLine place, std::int64_t value, std::int64_t extent, const char* subscript);

}  // namespace tdsl::rt
