#pragma once

#include <memory>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/eval/procedure.h"
#include "ir/graph/foreign.h"

namespace tdsl::ir::eval {

// How a user function propagates rounding is unknown: the bounds of its results are 0 if its operands are exact, else
// open. A signal in the function stops the program at `place`, the location of the call.

/// The result of a `fn` for these arguments, one per parameter.
[[nodiscard]] Slot call_foreign(const Foreign& function, const std::vector<Slot>& arguments, const SourceRange& place);

/// Runs a kernel: one operand per `in`, one result per `out`, already with their types and shapes.
void run_foreign(const Foreign& kernel, const std::vector<const Array*>& operands,
                 const std::vector<std::shared_ptr<Array>>& results, const SourceRange& place);

}  // namespace tdsl::ir::eval
