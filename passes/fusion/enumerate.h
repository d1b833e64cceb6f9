#pragma once

#include <cstdint>
#include <vector>

// Which values that several operators read are stored, and which are computed again by each of them: the cheapest
// choice by a cost model, after Boehm et al., On Optimizing Operator Fusion Plans for Large-Scale Machine Learning in
// SystemML (2018), section 4.
//
// An assignment has a bit for every interesting point, an edge from a consumer to a target: true means that the
// consumer reads the stored target, false that it computes the target in its own loops. Every operator that is stored
// (the roots, and targets of true points) is one fused operator with everything above it up to what is stored; its cost
// is
//
//     write + max(reads of its distinct operands, compute of its operators)
//
// so that an operator in two fused operators computes twice. What differs from the paper: the lower bound adds the
// reads of stored targets inside the maximum (outside, it loses optima), and sub-problems are the components of a graph
// of points that some fused operator could hold together, which needs no notion of above and below.

namespace tdsl::passes::fusion_plans {

/// An operator of a partition. Operators come after those whose values they read.
struct Operator {
  std::vector<int> operands;  ///< operators, whose values may be computed in this one's loops
  std::vector<int> sources;   ///< what is stored anyway
  double compute = 0;         ///< seconds, or any other unit
  double read = 0;            ///< of its value, where that is stored
  double write = 0;
};

/// A decision: whether `consumer` reads the stored value of `target`.
struct Point {
  int target = 0;
  int consumer = 0;
};

struct Partition {
  std::vector<Operator> operators;
  std::vector<double> source_reads;  ///< by source
  std::vector<int> roots;            ///< operators that are stored in any case
  std::vector<Point> points;         ///< at most 63; other edges are always fused
};

/// Bit k of an assignment: point k.
using Assignment = std::uint64_t;

/// The cost of an assignment.
[[nodiscard]] double cost_of(const Partition& partition, Assignment assignment);
/// No assignment that has these bits, and perhaps more, costs less.
[[nodiscard]] double lower_bound(const Partition& partition, Assignment assignment);

struct Pruning {
  bool by_cost = true;       ///< by lower bounds
  bool by_structure = true;  ///< by components and cut sets
};

struct Best {
  Assignment assignment = 0;
  double cost = 0;
  std::int64_t costed = 0;  ///< assignments whose cost was computed
};

/// The cheapest assignment; of equal ones the first in the order of the enumeration, which begins with all false.
[[nodiscard]] Best enumerate(const Partition& partition, Pruning pruning = {});

}  // namespace tdsl::passes::fusion_plans
