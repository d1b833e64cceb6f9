#pragma once

#include <string>
#include <vector>

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// Violated invariants of loops over stored elements and of compressed tensors, one sentence each:
/// - compressed are operands and results of kernels, of rank 2; results are not continued;
/// - `rows` walks a compressed operand, and `row` the one whose rows run around it; both one by one, in order;
/// - what is fetched ahead is an element without checks that moves with the loop's index;
/// - a dense result that is written where only stored elements are visited has first values everywhere;
/// - a compressed result is stored once, right inside a `row`, at the walked element.
[[nodiscard]] std::vector<std::string> verify_stored(const Nest& nest);

}  // namespace tdsl::nest
