#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/plan/op.h"
#include "runtime/plan/sparsity.h"

namespace tdsl::plan {

/// `i + 1` as one dimension of an access: label number, constant, coefficient.
[[nodiscard]] DimAccess at(int label, Index constant = 0, Index coefficient = 1);
/// Several labels: `at({{0, 1}, {1, 2}}, -1)` is label 0 + 2 * label 1 - 1.
[[nodiscard]] DimAccess at(std::vector<Affine::Term> terms, Index constant = 0);
/// Neighbouring subscripts: label + every offset in [lo, hi).
[[nodiscard]] DimAccess near(int label, Index lo, Index hi);
/// (coefficients * labels + constant) / divisor.
[[nodiscard]] DimAccess quotient(std::vector<Affine::Term> terms, Index constant, Index divisor);
/// Fixed elements [lo, hi).
[[nodiscard]] DimAccess fixed(Index lo, Index hi);
[[nodiscard]] DimAccess whole();
/// A whole dimension of a compressed operand whose stored subscripts the label takes (DimAccess::walked).
[[nodiscard]] DimAccess walked(int label);

/// Removes labels with coefficient 0, which have no influence: some coefficients are sizes, and the compiler knows some
/// that are 0, the program others.
void drop_idle_labels(Access& access);

/// Builds an Op step by step; used by emitted programs and `tdslc explain`. Labels are numbered in the order in which
/// they are added (out, label and reduce alike). (Not inline, so that emitted recording code compiles quickly.)
class OpBuilder {
 public:
  OpBuilder(OpClass op_class, std::string_view name, int site, int line);
  /// Starts from an operation that lacks only its work, sparsity and outputs.
  explicit OpBuilder(Op op);
  ~OpBuilder();
  OpBuilder(const OpBuilder&);
  OpBuilder(OpBuilder&&) noexcept;
  OpBuilder& operator=(const OpBuilder&) = delete;
  OpBuilder& operator=(OpBuilder&&) = delete;

  /// Adds an output dimension of range.size() elements, written at label - range.lo.
  OpBuilder& out(std::string_view label, Interval range);
  OpBuilder& out(std::string_view label, Index extent) { return out(label, Interval{0, extent}); }
  /// A label that is neither an output dimension nor reduced; `write` maps it to the output.
  OpBuilder& label(std::string_view name, Interval range);
  OpBuilder& reduce(std::string_view label, Interval range);
  OpBuilder& reduce(std::string_view label, Index extent) { return reduce(label, Interval{0, extent}); }
  /// An operand dimension with a data-dependent subscript; see LabelDesc::from_data. An empty dimension still has its
  /// points, so that the kernel can reject their subscripts.
  OpBuilder& gather(std::string_view label, Index extent);
  /// The output's shape and subscripts, for left-hand sides that are not plain labels.
  OpBuilder& write(std::initializer_list<Index> shape, std::initializer_list<OutSubscript> subscripts);
  OpBuilder& write(std::vector<Index> shape, std::vector<OutSubscript> subscripts);
  /// The last added output dimension is never cut: each task covers it completely.
  OpBuilder& uncut();
  /// Elements that are not written keep the values of `tensor`.
  OpBuilder& base(TensorId tensor);
  OpBuilder& read(TensorId tensor, std::initializer_list<DimAccess> dims);
  OpBuilder& read(TensorId tensor, std::vector<DimAccess> dims);
  OpBuilder& combine(Combine c);
  /// The operators that combine elements of a one-dimensional output, range by range.
  OpBuilder& pieces(std::vector<PackedPiece> list);
  OpBuilder& flops(double per_point);
  /// Flops of a fused operator for all points with one value of each cut label. `of_products`: those done by BLAS;
  /// `dense`: those that `visits` does not reduce.
  OpBuilder& flops_per_row(Index flops, Index of_products = 0, Index dense = 0);
  OpBuilder& tile(std::initializer_list<Index> edges);
  OpBuilder& tile(std::vector<Index> edges);
  OpBuilder& run_ahead(Index bytes);
  /// The output is sized, with about `elements` stored elements.
  OpBuilder& stored(Storage storage, const Estimate& elements);
  /// The output is sized, with elements at most where `walked` (or any of several) stores one.
  OpBuilder& stored_like(const TensorDesc& walked);
  OpBuilder& stored_like(const std::vector<const TensorDesc*>& walked);
  /// A matrix stored by rows whose elements come from the visited points: as many as the distinct elements hit by that
  /// number of random draws, and per element of `walked` at most one full row of columns.
  OpBuilder& stored_of_points(const TensorDesc& walked);
  /// A matrix stored by rows that consists of parts with the elements of these operands at other positions, each at
  /// most once per part.
  OpBuilder& stored_elements_of(const std::vector<const TensorDesc*>& operands);
  /// The same, each any number of times: as many as an equal share of the operands' points has.
  OpBuilder& stored_selected_from(const std::vector<const TensorDesc*>& operands);
  /// The same if every row, or every column, has elements of one row of each operand: at most as many as the fullest.
  OpBuilder& stored_rows_selected_from(const std::vector<const TensorDesc*>& operands);
  /// The same with one column of each operand.
  OpBuilder& stored_columns_selected_from(const std::vector<const TensorDesc*>& operands);
  /// A matrix stored by rows with unknown density: a small share of the visited points is assumed.
  OpBuilder& stored_as_guessed();
  /// A matrix stored by rows with one element per visited point; points are visited within bounds.
  OpBuilder& stored_at_visited();
  /// A tensor of at least two dimensions stored by rows, assembled from an entry per point.
  OpBuilder& stored_assembled();
  /// Limits the stored elements to those of `mask`.
  OpBuilder& stored_within(const TensorDesc& mask);
  /// No stored elements outside the bounds.
  OpBuilder& stored_within(const std::vector<PointBound>& bounds);
  /// Visits only the points at which `walked` (or any of several) stores an element; `flops` counts these. Several
  /// calls intersect.
  OpBuilder& visits(const TensorDesc& walked);
  OpBuilder& visits(const std::vector<const TensorDesc*>& walked);
  /// Visits only the points within the bounds; `flops` counts these. Labels 0 and 1 are the dimensions of the result
  /// and begin at 0.
  OpBuilder& visits_within(const std::vector<PointBound>& bounds);
  /// All calls above that the sparsity requires; `tensor`: descriptors of operands.
  OpBuilder& sparsity(const Sparsity<Index>& sparsity, const std::function<const TensorDesc*(TensorId)>& tensor);
  /// Reads after the operands of a contraction belong to its epilogue (Op::epilogue).
  OpBuilder& epilogue() { return set(&Op::epilogue); }
  OpBuilder& divisible() { return set(&Op::divisible); }
  OpBuilder& by_blocks() { return set(&Op::by_blocks); }
  OpBuilder& overwrites() { return set(&Op::overwrites); }
  OpBuilder& moves();
  OpBuilder& replicated() { return set(&Op::replicated); }
  OpBuilder& on_rank(Index rank);
  [[nodiscard]] Op& op() { return op_; }

 private:
  OpBuilder& set(bool Op::*flag);
  void visit(double share);

  Op op_;
  double visited_ = 1;                       ///< share of all points
  std::shared_ptr<const RowCounts> within_;  ///< the visited points by rows; null: all
};

}  // namespace tdsl::plan
