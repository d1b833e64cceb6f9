#pragma once

#include <vector>

#include "runtime/plan/search/solve.h"

// The cheapest assignment that fits into memory at every point of a program, by multipliers (Lagrangian relaxation; H.
// Everett, Operations Research 11, 1963). Bytes at a point become costs, multiplier x bytes, of the values that hold
// them, so that the network keeps its form. It is solved again and again: where a point exceeds the limit its
// multiplier is doubled; where all fit, the assignment is remembered and all multipliers shrink to 0.7. Each solution
// is improved by small changes (fitting_moves.h).

namespace tdsl::plan {

/// What may be held at the points of a program, and what is held there.
struct MemoryLimits {
  struct Term {
    int variable = 0;
    std::vector<double> bytes;  ///< per value of the variable: finite, not negative
  };
  struct Point {
    int name = 0;         ///< the caller's
    double constant = 0;  ///< bytes whatever is chosen
    std::vector<Term> terms;
  };
  double cap = 0;    ///< bytes, of every point
  double share = 1;  ///< positive: the first multiplier of a point is 2 % of the cost per so many bytes
  int solves = 24;
  std::vector<Point> points;
};

/// Bytes held at a point.
[[nodiscard]] double bytes_at(const MemoryLimits::Point& point, const Assignment& x);

/// What solve_within found: the cheapest that fits; if nothing did, what is allowed and exceeds the limit least.
struct FittingSolution {
  Solution solution;  ///< `exact`: nothing that fits is cheaper; with a cost of kForbidden: nothing is allowed, limits
                      ///< or not
  bool fits = false;
  double excess = 0;  ///< bytes above the limit at the worst point; 0 if it fits
  int worst = -1;     ///< the name of that point, of equal ones the first; -1 if it fits
  int solves = 0;     ///< how many it took
};

/// As solve(), with limits; `search.work` bounds all solves together. If `start` fits, so does the solution, which
/// costs no more.
[[nodiscard]] FittingSolution solve_within(const Network& network, const MemoryLimits& limits, const Assignment& start,
                                           const std::vector<Arc>& arcs, const SearchLimits& search = {});

}  // namespace tdsl::plan
