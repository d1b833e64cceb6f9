#pragma once

#include <map>
#include <optional>
#include <string>

#include "passes/loops/loop_body.h"

namespace tdsl::passes {

/// How iterations of a loop meet in one carried tensor.
struct CarriedAccess {
  enum class Kind : std::uint8_t {
    kUnchanged,    ///< never written
    kIndependent,  ///< iteration i writes only where dimension `dimension` is coefficient * i + offset
    kAccumulated,  ///< every write combines by the same associative operator and nothing else reads it
    kDropped,      ///< the value is not used after the loop nor carried
  };
  Kind kind = Kind::kUnchanged;
  std::size_t dimension = 0;
  std::int64_t coefficient = 0;
  ir::Extent offset;
};

/// What the iterations of a loop depend on. Every statement may run for all iterations before the next statement
/// starts.
struct LoopDependences {
  std::vector<CarriedAccess> carried;             ///< one per LoopBody::carried
  std::map<ir::ValueId, std::size_t> version_of;  ///< argument or update -> index in LoopBody::carried
};

/// Brings updates of the body into the form `element combine= value` where they are spelled `x = x + value`.
void normalise_accumulations(const ir::Program& program, LoopBody& body);

/// Decides whether the loop may become algebra; otherwise the dependence that forbids it. The body is normalised.
[[nodiscard]] std::optional<LoopDependences> find_dependences(const ir::Program& program, const LoopBody& body,
                                                              Refusal& refusal);

/// Whether a read of a version of a carried tensor sees the tensor as it was before the loop.
[[nodiscard]] bool reads_initial(const LoopBody& body, const CarriedAccess& access,
                                 const std::vector<ir::Expr>& subscripts);

}  // namespace tdsl::passes
