#pragma once

#include "runtime/record/known.h"

namespace tdsl::rt::routines {

/// Where a program calls a routine. The routine's recording places are numbered from `first` on, its branches on data
/// from `branch` on: so many numbers are the call's own.
struct Site {
  Site(int first_place, int its_line, record::Known sizes = record::Known::kStart, int first_branch = 0)
      : first(first_place), line(its_line), known(sizes), branch(first_branch) {}

  int first;
  int line;
  record::Known known;  ///< what is known of the operands' sizes before the program runs
  int branch;
};

}  // namespace tdsl::rt::routines
