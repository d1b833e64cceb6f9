#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tdsl::rt::routines {

/// What `solve` knows of its matrix: nothing; it reads the lower or the upper triangle only; it is symmetric and
/// positive definite, and the lower triangle is read.
enum class SolveKind : std::uint8_t { kGeneral, kLower, kUpper, kPositive };

/// The word behind `kind=`.
[[nodiscard]] constexpr std::string_view name_of(SolveKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"general", "lower", "upper", "positive"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace tdsl::rt::routines
