#pragma once

#include <stdexcept>

namespace tdsl::ir::algebra {

/// Thrown for an expression without a type: invalid key or block dimensions, incompatible kernels and blocks, operands
/// with and without sites. `what()` is one sentence.
class AlgebraError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tdsl::ir::algebra
