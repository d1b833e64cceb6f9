#pragma once

#include <cstdint>

namespace tdsl::record {

/// What is known of a condition or of a loop's range before the program runs.
enum class Known : std::uint8_t {
  kStart,  ///< it follows from params, extents and the machine alone
  kLoop,   ///< it changes with the iterations of a loop around it or before it
  kData,   ///< it comes from computed data
};

/// What is known of a loop.
struct Loop {
  constexpr Loop(Known known) : range(known) {}  // NOLINT: a loop that records is described by its range alone
  constexpr Loop(Known known, bool does_record) : range(known), records(does_record) {}

  Known range;          ///< of a `while`: its condition; kData or not
  bool records = true;  ///< false: it computes scalars that every rank knows, and nothing else
};
/// A loop that computes scalars only.
inline constexpr Loop kScalars{Known::kStart, false};

}  // namespace tdsl::record
