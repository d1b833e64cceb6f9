#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/plan/schedules/einsum_costs.h"
#include "runtime/plan/value/plan_value.h"

// Costs of matrix products in the models of the papers, lower bounds, and the names that algorithms have. All counts
// are elements; the bytes that a run receives are counted elsewhere (cost_model.h).

namespace tdsl::plan {

/// A product C[rows, columns] = sum over inner of A[rows, inner] B[inner, columns], once per batch. Every number is the
/// product of several labels' extents, or of their parts.
struct ProductSizes {
  double rows = 1, inner = 1, columns = 1, batch = 1;

  [[nodiscard]] double left() const { return batch * rows * inner; }
  [[nodiscard]] double right() const { return batch * inner * columns; }
  [[nodiscard]] double result() const { return batch * rows * columns; }
};

/// The sizes of an expression with two operands and a reduction, whose labels each subscript at least one of them;
/// `numbers`: per slot, its extents or parts. Nothing for other expressions.
[[nodiscard]] std::optional<ProductSizes> product_sizes(const EinsumExpression& einsum,
                                                        const std::vector<Index>& numbers);

/// TRA, Table 4: BCAST costs elements x sites, SHUF elements.
struct TraCosts {
  double broadcast = 0;      ///< BCAST(B), A partitioned by rows
  double cross_product = 0;  ///< A by columns, B by rows; the partial results are shuffled
  double replication = 0;    ///< both operands replicated to a grid of sites, half of them along each
};
[[nodiscard]] TraCosts tra_costs(const ProductSizes& product, Index sites);

/// NumS, appendix A: elements between nodes on the critical path. Element-wise operations 0, inner products log2(k)
/// results, outer products 2 (sqrt(k) - 1) r blocks, other products ((k - 1) / sqrt(k) + log2(sqrt(k))) r blocks, for k
/// nodes of r workers.
[[nodiscard]] double nums_bound(const ProductSizes& product, Index nodes, Index workers);

/// What some rank must receive or send of the classical product, whatever the plan: the larger of
///   - Irony, Toledo and Tiskin: rows inner columns / (2 sqrt(2) p sqrt(M)) - M, for M elements of memory per rank;
///   - the bound without M, for results and operands spread over the ranks (Al Daas, Ballard, Grigori, Kumar and Rouse:
///     1-D, 2-D and 3-D ranges of p).
[[nodiscard]] double received_bound(const ProductSizes& product, Index ranks, double memory);

/// `SUMMA`, `2.5-D, c = 2`, `3-D`, `1-D by rows`, `cross-product`, ..: the algorithm whose parts these are.
[[nodiscard]] std::string product_name(const ProductSizes& parts);

/// The number of ranks along each slot of the operation's task space under a decision; empty if its text is invalid.
[[nodiscard]] PartitionVector parts_of(const Op& op, const Decision& decision, const Mesh& mesh);

/// Names of the products of a plan, by site. A product by columns whose result another one, possibly after maps,
/// consumes as its inner dimension, is `Megatron`, and so is the other one.
[[nodiscard]] std::map<int, std::string> product_names(const Region& region, const EinsumCosts& costs,
                                                       const PlanValue& plan);

}  // namespace tdsl::plan
