#pragma once

#include <vector>

#include "runtime/plan/search/solve.h"

// The cheapest assignment that fits in memory at every point of a program, by multipliers (Lagrangian relaxation; H.
// Everett, Operations Research 11, 1963). Bytes held at a point become costs, multiplier x bytes, of the values that
// hold them, so the network keeps its structure. It is solved repeatedly: the multiplier of each point above the limit
// is doubled; when all points fit, the assignment is recorded and all multipliers are scaled by 0.7. Each solution is
// improved by local changes (fitting_moves.h).

namespace tdsl::plan {

/// Memory limits at the points of a program, and the bytes that values hold there.
struct MemoryLimits {
  struct Term {
    int variable = 0;
    std::vector<double> bytes;  ///< per value of the variable: finite, not negative
  };
  struct Point {
    int name = 0;         ///< chosen by the caller
    double constant = 0;  ///< bytes independent of the assignment
    std::vector<Term> terms;
  };
  double cap = 0;    ///< limit in bytes, for every point
  double share = 1;  ///< positive: a point's first multiplier is 2 % of the cost per this many bytes
  int solves = 24;
  std::vector<Point> points;
};

/// Bytes held at a point.
[[nodiscard]] double bytes_at(const MemoryLimits::Point& point, const Assignment& x);

/// Result of solve_within: the cheapest feasible assignment; if there is none, the allowed one with the least excess.
struct FittingSolution {
  Solution solution;  ///< `exact`: no feasible assignment is cheaper; with a cost of kForbidden: nothing is allowed
                      ///< even without limits
  bool fits = false;
  double excess = 0;  ///< bytes above the limit at the worst point; 0 if it fits
  int worst = -1;     ///< the name of that point, the first among equals; -1 if it fits
  int solves = 0;     ///< number of solves
};

/// Like solve(), with limits; `search.work` bounds all solves together. If `start` fits, the solution also fits and
/// costs no more.
[[nodiscard]] FittingSolution solve_within(const Network& network, const MemoryLimits& limits, const Assignment& start,
                                           const std::vector<Arc>& arcs, const SearchLimits& search = {});

}  // namespace tdsl::plan
