#pragma once

#include <cstdint>
#include <vector>

// Decides which values with several readers are stored and which are recomputed by each reader: the cheapest choice by
// a cost model, after Boehm et al., On Optimizing Operator Fusion Plans for Large-Scale Machine Learning in SystemML
// (2018), section 4.
//
// An assignment has one bit per interesting point, an edge from a consumer to a target: true means that the consumer
// reads the stored target, false that it computes the target in its own loops. Every stored operator (a root, or the
// target of a true point) forms a fused operator with its producers, up to stored values; its cost is
//
//     write + max(reads of its distinct operands, compute of its operators)
//
// so an operator in two fused operators is computed twice. Differences from the paper: the lower bound adds the reads
// of stored targets inside the maximum (outside, it misses optima), and sub-problems are the connected components of
// points that one fused operator could contain, which needs no order of operators.

namespace tdsl::passes::fusion_plans {

/// An operator of a partition. Operators come after their producers.
struct Operator {
  std::vector<int> operands;  ///< operators whose values this one's loops may compute
  std::vector<int> sources;   ///< values that are stored in any case
  double compute = 0;         ///< seconds, or any other unit
  double read = 0;            ///< of its value, if stored
  double write = 0;
};

/// A decision: true if `consumer` reads the stored value of `target`.
struct Point {
  int target = 0;
  int consumer = 0;
};

struct Partition {
  std::vector<Operator> operators;
  std::vector<double> source_reads;  ///< by source
  std::vector<int> roots;            ///< operators that are always stored
  std::vector<Point> points;         ///< at most 63; other edges are always fused
};

/// Bit k of an assignment: point k.
using Assignment = std::uint64_t;

/// The cost of an assignment.
[[nodiscard]] double cost_of(const Partition& partition, Assignment assignment);
/// A lower bound of the cost of all assignments that contain these bits.
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

/// The cheapest assignment; ties go to the first one in enumeration order, which starts from all false.
[[nodiscard]] Best enumerate(const Partition& partition, Pruning pruning = {});

}  // namespace tdsl::passes::fusion_plans
