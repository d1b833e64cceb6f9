#pragma once

#include <cstdint>

#include "passes/loops/loop_body.h"

// Updates by associative operators.

namespace tdsl::passes {

/// The tensors that `value` may read in an update `x[i] = x[i] + value`: all but x, or all.
enum class ValueReads : std::uint8_t { kOthers, kAny };

/// Rewrites an update of `old` spelled `x = x + value` into the form `element combine= value`; other Computes stay.
/// True if it did.
bool normalise_accumulation(const ir::Program& program, ir::Compute& c, ir::ValueId old,
                            ValueReads allowed = ValueReads::kOthers);
/// Rewrites updates of the body spelled `x = x + value` into the form `element combine= value`. True if there are any.
bool normalise_accumulations(const ir::Program& program, LoopBody& body, ValueReads allowed = ValueReads::kOthers);

}  // namespace tdsl::passes
