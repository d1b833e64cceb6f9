#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/op.h"

namespace tdsl::plan {

/// A recorded operation of a region.
struct RegionOp {
  Op op;
  double weight = 1;                ///< how often it runs, as far as is known
  int run = 0;                      ///< the survey run that recorded it: tensors of different runs have nothing to do with each other
  std::vector<TensorId> last_uses;  ///< tensors that nothing after it mentions
};

/// What a program will do, as far as can be said before it runs: operations in order, each loop as its first and a middle iteration.
struct Region {
  std::vector<RegionOp> ops;
  bool whole = true;         ///< the region ends with the program
  std::string fence;         ///< else why it ends where it does
  std::uint64_t hash = 0;    ///< of everything but names
};

}  // namespace tdsl::plan
