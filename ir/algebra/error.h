#pragma once

#include <stdexcept>

namespace tdsl::ir::algebra {

/// An expression that has no type: a key dimension or block dimension that does not exist, kernels and blocks that do
/// not fit, operands with and without sites. `what()` is one sentence.
class AlgebraError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tdsl::ir::algebra
