#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "passes/loops/loop_body.h"
#include "passes/loops/loop_ranges.h"

namespace tdsl::passes {

/// How the iterations of a loop access one carried tensor.
struct CarriedAccess {
  enum class Kind : std::uint8_t {
    kUnchanged,    ///< never written
    kIndependent,  ///< iteration i writes only elements with subscript coefficient * i + offset in `dimension`; or
                   ///< there are no reads, iterations never write the same element, and these are those of the first
                   ///< write
    kAccumulated,  ///< every write combines by the same associative operator, and no iteration reads elements that one
                   ///< writes
    kDropped,      ///< the value is neither carried nor used after the loop
  };
  Kind kind = Kind::kUnchanged;
  std::size_t dimension = 0;
  std::int64_t coefficient = 0;
  ir::Extent offset;
};

/// Dependences between the iterations of a loop that allow every statement to run for all iterations before the next
/// statement starts.
struct LoopDependences {
  std::vector<CarriedAccess> carried;             ///< one per LoopBody::carried
  std::map<ir::ValueId, std::size_t> version_of;  ///< argument or update -> index in LoopBody::carried
};

/// The dependences if the loop may become algebra, else nullopt and the dependence that forbids it. The body is
/// normalised. `around`: the loops around this one; `resolve`: sizes in terms of dimensions and params.
[[nodiscard]] std::optional<LoopDependences> find_dependences(
    const ir::Program& program, const LoopBody& body, const LoopRanges& around,
    const std::function<ir::Extent(const ir::Extent&)>& resolve, Refusal& refusal);

/// True if a read of a version of a carried tensor sees its value before the loop.
[[nodiscard]] bool reads_initial(const LoopBody& body, const CarriedAccess& access,
                                 const std::vector<ir::Expr>& subscripts);

}  // namespace tdsl::passes
