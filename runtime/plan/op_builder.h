#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/plan/op.h"
#include "runtime/plan/point_bounds.h"

namespace tdsl::plan {

/// `i + 1` as one dimension of an access: label number, coefficient, constant.
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

/// Builds an Op step by step; emitted programs and `tdslc explain` use it. Labels are numbered in the order they are
/// added (out, label and reduce alike). (Not inline: emitted code that records operations shall compile quickly.)
class OpBuilder {
 public:
  OpBuilder(OpClass op_class, std::string_view name, int site, int line);
  ~OpBuilder();
  OpBuilder(const OpBuilder&);
  OpBuilder(OpBuilder&&) noexcept;
  OpBuilder& operator=(const OpBuilder&) = delete;
  OpBuilder& operator=(OpBuilder&&) = delete;

  /// A new output dimension of range.size() elements, written at label - range.lo.
  OpBuilder& out(std::string_view label, Interval range);
  OpBuilder& out(std::string_view label, Index extent) { return out(label, Interval{0, extent}); }
  /// A label that is neither an output dimension by itself nor reduced; `write` says where it goes.
  OpBuilder& label(std::string_view name, Interval range);
  OpBuilder& reduce(std::string_view label, Interval range);
  OpBuilder& reduce(std::string_view label, Index extent) { return reduce(label, Interval{0, extent}); }
  /// A dimension of an operand that is subscripted by data; see LabelDesc::from_data. An empty dimension still has its
  /// points, whose subscripts the kernel must see to refuse them.
  OpBuilder& gather(std::string_view label, Index extent);
  /// The output's shape and subscripts, for left sides that are not plain labels.
  OpBuilder& write(std::initializer_list<Index> shape, std::initializer_list<OutSubscript> subscripts);
  OpBuilder& write(std::vector<Index> shape, std::vector<OutSubscript> subscripts);
  /// The output dimension added last is never cut: each task gets all of it.
  OpBuilder& uncut();
  /// Elements not written keep those of `tensor`.
  OpBuilder& base(TensorId tensor);
  OpBuilder& read(TensorId tensor, std::initializer_list<DimAccess> dims);
  OpBuilder& read(TensorId tensor, std::vector<DimAccess> dims);
  OpBuilder& combine(Combine c);
  /// How the elements of an output of one dimension meet, piece by piece.
  OpBuilder& pieces(std::vector<PackedPiece> list);
  OpBuilder& flops(double per_point);
  /// Of all points together that have one value of each label that is cut: of a fused operator. `of_products`: those
  /// that BLAS does.
  OpBuilder& flops_per_row(Index flops, Index of_products = 0);
  OpBuilder& tile(std::initializer_list<Index> edges);
  OpBuilder& tile(std::vector<Index> edges);
  OpBuilder& run_ahead(Index bytes);
  /// The output is sized, with about `elements` elements stored.
  OpBuilder& stored(Storage storage, const Estimate& elements);
  /// The same, with elements at most where `walked` has some, or one of several.
  OpBuilder& stored_like(const TensorDesc& walked);
  OpBuilder& stored_like(const std::vector<const TensorDesc*>& walked);
  /// A matrix by rows whose elements are made of the points that are visited: as many as such a number of elements
  /// drawn at random hits, and in a row of its own no more than all columns for each element of `walked`.
  OpBuilder& stored_of_points(const TensorDesc& walked);
  /// A matrix by rows that has elements of these in other places, none of them twice.
  OpBuilder& stored_elements_of(const std::vector<const TensorDesc*>& operands);
  /// A matrix by rows of which nobody says how much of it is stored: of the points that are visited, a few.
  OpBuilder& stored_as_guessed();
  /// A matrix by rows with an element at each point that is visited; points are visited within bounds.
  OpBuilder& stored_at_visited();
  /// No more elements than `mask` has.
  OpBuilder& stored_within(const TensorDesc& mask);
  /// No elements outside of the bounds.
  OpBuilder& stored_within(const std::vector<PointBound>& bounds);
  /// Of the points those are visited at which `walked`, or one of several, has an element stored: `flops` are theirs.
  /// Of several calls: at which each says so.
  OpBuilder& visits(const TensorDesc& walked);
  OpBuilder& visits(const std::vector<const TensorDesc*>& walked);
  /// Of the points those within the bounds are visited: `flops` are theirs. Labels 0 and 1 are the dimensions of the
  /// result, and begin at 0.
  OpBuilder& visits_within(const std::vector<PointBound>& bounds);
  /// What is read behind the operands of a contraction belongs to its epilogue (Op::epilogue).
  OpBuilder& epilogue();
  OpBuilder& divisible();
  OpBuilder& overwrites();
  OpBuilder& replicated();
  OpBuilder& on_rank(Index rank);
  [[nodiscard]] Op& op() { return op_; }

 private:
  Op op_;
  void visit(double share);

  double visited_ = 1;                       ///< of all points
  std::shared_ptr<const RowCounts> within_;  ///< the points that are visited, by rows; null: all
};

}  // namespace tdsl::plan
