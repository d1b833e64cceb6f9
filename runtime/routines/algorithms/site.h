#pragma once

#include "runtime/record/known.h"

namespace tdsl::rt::routines {

/// The call site of a routine. Recording places of the routine are numbered from `first`, its data-dependent branches
/// from `branch`; the call reserves all these numbers.
struct Site {
  Site(int first_place, int its_line, record::Known sizes = record::Known::kStart, int first_branch = 0)
      : first(first_place), line(its_line), known(sizes), branch(first_branch) {}

  int first;
  int line;
  record::Known known;  ///< when the operands' sizes are known
  int branch;
};

}  // namespace tdsl::rt::routines
