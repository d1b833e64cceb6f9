#pragma once

#include <string>
#include <vector>

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// Violated invariants of loops over stored elements and of compressed tensors, one sentence each:
///   - compressed variables are operands and results of kernels, of rank 2; results are not continued;
///   - a loop over stored elements iterates over levels of compressed operands whose outer levels' indices belong to
///     enclosing loops; it is serial, in order;
///   - a loop that runs by value is over the rows of a matrix, and contains one over the elements of the row;
///   - a prefetch is of an element without checks, the elements at all values of the last index, or the contents at the
///     outermost index of a compressed operand, and depends on the loop's index;
///   - a dense result that is written only at stored elements is initialised everywhere;
///   - a compressed result is stored once, in two loops, the outer one over its rows; or it is updated, in one
///   statement,
///     in an outermost loop over its rows and another loop over its columns, by a sum or `any`.
[[nodiscard]] std::vector<std::string> verify_stored(const Nest& nest);

}  // namespace tdsl::nest
