#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// A line of a source file.
struct SourcePlace {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  friend auto operator<=>(const SourcePlace&, const SourcePlace&) = default;
};

/// For kernels that compute floating-point values of other lines than their operation's, which never exist as blocks:
/// those lines, by the operation's line.
[[nodiscard]] std::map<SourcePlace, std::set<SourcePlace>> inner_lines(const OperationProgram& program);

}  // namespace tdsl::codegen
