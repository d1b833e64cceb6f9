#pragma once

#include <optional>
#include <vector>

#include "passes/schedule/isl.h"
#include "passes/schedule/points.h"

namespace tdsl::passes {

/// An instance of statement `to` must stay behind one of `from`. `loop` is the loop whose iterations separate them;
/// none if they are in one iteration of all common loops.
struct Dependence {
  std::size_t from = 0;
  std::size_t to = 0;
  std::optional<std::size_t> loop = {};
  bool reads_first = false;  ///< `from` only reads what `to` overwrites
};

/// All dependences between statements: pairs of accesses to one element, at least one a write. Updates of one element
/// by the same associative operator do not depend on each other. Nothing if the limit of `sets` is reached.
[[nodiscard]] std::optional<std::vector<Dependence>> dependences(const Scop& scop, const Resolve& resolve,
                                                                 IntegerSets& sets);

/// True if a statement needs elements of a live variable that it has written itself: it remains in a loop.
[[nodiscard]] bool recurs(const Scop& scop, const Resolve& resolve, IntegerSets& sets);

/// Gives iterations their own copies of variables that they overwrite before they read them, and that are not used
/// afterwards: dependences between iterations by such variables vanish. Copies are added from the innermost loop
/// outwards while there is a tensor in the nest that is at least as large as all copies together. `measure` comes
/// first.
void privatise(const ir::Program& program, Scop& scop, const Resolve& resolve, IntegerSets& sets);

}  // namespace tdsl::passes
