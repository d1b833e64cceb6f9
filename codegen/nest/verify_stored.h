#pragma once

#include <string>
#include <vector>

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// Violated invariants of loops over stored elements and of compressed tensors, one sentence each:
/// - compressed are operands and results of kernels, of rank 2; results are not continued;
/// - a loop over stored elements walks levels of compressed operands whose outer levels' indices run around it; it runs
/// one by one, in order;
/// - what is fetched ahead is an element without checks, the elements at all values of the last index, or what lies at
/// the outermost index of a compressed operand, and moves with the loop's index;
/// - a dense result that is written where only stored elements are visited has first values everywhere;
/// - a compressed result is stored once, in two loops, the outer one over its rows; or it is updated, in one place,
/// where the outermost loop is that
///   over its rows and another one is that over its columns, by a sum or `any`.
[[nodiscard]] std::vector<std::string> verify_stored(const Nest& nest);

}  // namespace tdsl::nest
