#pragma once

#include <string>
#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/search/linearise.h"

// EinDecomp's model (sections 6 to 8 of the paper, with its formulas corrected): costs in elements, which include
// blocks that a rank already owns. The schedules `eindecomp` and `sqrt` follow it; every other count of the planner is
// exact.

namespace tdsl::plan {

/// A partition vector: numbers of parts per slot of a task space (result dimensions, then reduce labels).
using PartitionVector = std::vector<Index>;

/// An operation as an expression Z = agg(join(X, Y, ..)).
struct EinsumExpression {
  struct Operand {
    TensorId tensor = -1;
    std::vector<Index> extents;
    std::vector<int> slots;  ///< per dimension; -1: every call reads all of it
  };
  std::vector<Index> extents;  ///< per slot
  std::size_t result = 0;      ///< number of result dimensions
  std::vector<Operand> operands;

  /// The product of the parts: the number of kernel calls.
  [[nodiscard]] static double calls(const PartitionVector& d);
  /// Elements of all blocks that the calls read.
  [[nodiscard]] double join_cost(const PartitionVector& d) const;
  /// Elements of partial results that are moved to be combined.
  [[nodiscard]] double aggregation_cost(const PartitionVector& d) const;
  [[nodiscard]] double cost(const PartitionVector& d) const { return join_cost(d) + aggregation_cost(d); }
  /// Parts of an operand's dimensions.
  [[nodiscard]] static PartitionVector parts_of(const Operand& operand, const PartitionVector& d);
};

/// Elements moved from a producer's parts to a consumer's, both per dimension; 0 if they are equal.
[[nodiscard]] double repartition_cost(const std::vector<Index>& extents, const PartitionVector& producer,
                                      const PartitionVector& consumer);

/// All powers of two, at most `most` per slot, whose product is `calls`; the first slots have most parts first, so that
/// among equally cheap vectors those that combine nothing precede.
[[nodiscard]] std::vector<PartitionVector> viable_parts(const std::vector<Index>& most, Index calls);

/// The expression of one site that may be cut.
struct EinsumSite {
  int site = 0;
  std::size_t op = 0;  ///< its largest operation, in the region
  EinsumExpression einsum;
  std::vector<Index> most;  ///< limit on the parts per slot
  std::vector<PartitionVector>
      viable;  ///< partition vectors that make as many calls as processors, or as many as extents allow
};

/// The cheapest partition vectors, per site.
struct PartsChoice {
  std::vector<PartitionVector> parts;
  double cost = 0;
  bool exact = false;  ///< the expressions form trees, which dynamic programming solves; others are linearised
};

/// The expressions of a region with their costs as a network: a variable per site, whose values are its viable vectors.
/// Sources cost nothing in any layout; the final results may have any. An operation with a base follows its base and is
/// not part of it. Costs count once per execution.
class EinsumCosts {
 public:
  /// `processors`: rounded down to a power of two.
  EinsumCosts(const Region& region, const PlanInputs& inputs, Index processors);

  [[nodiscard]] const std::vector<EinsumSite>& sites() const { return sites_; }
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const std::vector<Arc>& arcs() const { return arcs_; }
  [[nodiscard]] PartsChoice cheapest() const;
  /// Every label of a site, reduced ones too, in `side` parts, or as many as its extent has elements: the paper's
  /// baseline SQRT.
  [[nodiscard]] static PartitionVector square(const EinsumSite& site, Index side);

 private:
  void add_sites(const Region& region, const PlanInputs& inputs, Index processors);
  void add_costs(const Region& region);
  [[nodiscard]] bool is_forest() const;

  std::vector<EinsumSite> sites_;
  Network network_;
  std::vector<Arc> arcs_;
};

/// `i:2 k:1 j:2`, in the names of slot_names.
[[nodiscard]] std::string text_of(const PartitionVector& parts, const std::vector<std::string>& names);

}  // namespace tdsl::plan
