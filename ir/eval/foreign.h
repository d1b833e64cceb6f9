#pragma once

#include <memory>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/eval/procedure.h"
#include "ir/graph/foreign.h"

namespace tdsl::ir::eval {

// Nothing is known of how a user's function passes rounding on: the bounds of its results are 0 where its operands are
// exact, else open. A signal that ends the function stops the program at `place`, where it is called.

/// The result of a `fn` for these arguments, one per parameter.
[[nodiscard]] Slot call_foreign(const Foreign& function, const std::vector<Slot>& arguments, const SourceRange& place);

/// Runs a kernel: one operand per `in`, one result per `out`, which have their types and shapes already.
void run_foreign(const Foreign& kernel, const std::vector<const Array*>& operands,
                 const std::vector<std::shared_ptr<Array>>& results, const SourceRange& place);

}  // namespace tdsl::ir::eval
