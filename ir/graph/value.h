#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tdsl::ir {

/// Names one value of the index graph (SSA: defined once). Stable within a compilation and printed as `%7`.
struct ValueId {
  std::int32_t id = -1;
  [[nodiscard]] bool valid() const { return id >= 0; }
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

}  // namespace tdsl::ir

template <>
struct std::hash<tdsl::ir::ValueId> {
  std::size_t operator()(const tdsl::ir::ValueId& v) const noexcept { return std::hash<std::int32_t>{}(v.id); }
};
