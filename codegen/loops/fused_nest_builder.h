#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/loops/compute_nest.h"
#include "codegen/nest/facts.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

/// The nest of fused operators: the Computes of its members over blocks of rows, one after the other. Members other
/// than results are tensors that exist for one block. Each part has its own file.
class FusedNestBuilder final : public ComputeNest {
 public:
  FusedNestBuilder(const NestRequest& request, const OperationStep& step);

  BuiltNest run();

 private:
  using Member = FusedKernel::Member;

  [[nodiscard]] const Member& result() const { return fused_.members.back(); }
  /// One of several, or the last member.
  [[nodiscard]] bool is_result(const Member& m) const { return &m == &result() || m.place.has_value(); }
  [[nodiscard]] static Expr identity(const Member& m) { return ir::identity_of(*m.compute.monoid, m.type); }
  /// The operation's label for number `f` of the shared ones.
  [[nodiscard]] int shared_label(std::size_t f) const;

  // --- Variables, expressions: fused_nest.cpp

  Expr part(const Expr& e) override;
  Extent size(ValueId v) override { return Extent::of(captured(v)); }
  [[nodiscard]] bool takes_both(const ir::Select& s) const override { return nest::takes_both(nest_, {}, s); }
  nest::For enter(int label) override;
  void leave(int /*label*/) override {}
  [[nodiscard]] bool vectorises(int label, const Body& body) const override;
  bool line(ValueId total, std::span<const int> labels) override;

  [[nodiscard]] std::size_t number_of(const Expr& read) const;
  [[nodiscard]] bool is_local(ValueId v) const { return nest_.variable(v).role == Role::kLocal; }
  ValueId captured(ValueId v);
  /// Host values and sizes in numerical order, which determines how sizes are printed.
  void add_captures();
  /// Those of the operation. Only the shared ones are cut; the last one, in blocks, names the rows of a block.
  void add_indices();
  /// Index variables of a member, in the order of its labels. Members share equal ones.
  std::vector<int> indices_of(const Member& m);
  /// An index with these properties, other than those in `used`; the name is unique in the nest.
  int shared_index(nest::Index index, const std::vector<int>& used);
  /// A result, or a tensor of the block's rows, without outer dimensions.
  ValueId variable(const Member& m);
  /// An element-wise operator that is the last to read a value of the block takes its place, if every element needs the
  /// one there alone.
  void take_places();
  static bool same_elements(const Member& before, const Member& m);
  /// True if the last reader of the value is member number `k`, which reads the element it computes only.
  [[nodiscard]] bool ends_in(const Member& before, std::size_t k) const;
  /// True for a read of a tensor at exactly these labels.
  [[nodiscard]] bool is_read(const ir::ExprNode& e, const std::vector<std::int32_t>& labels, ir::Scalar type) const;
  /// Of operands that are cut along the rows, and of values that exist for a block.
  [[nodiscard]] Extent bytes_per_row() const;

  // --- Statements of one member: fused_members.cpp

  void statements(const Member& m);
  /// Labels from `first` to `end` without those of the loops around the blocks.
  static std::vector<int> inner_labels(const Member& m, int first, int end);
  Place element(const Member& m);
  /// A reduction along a label through the runtime's partial results.
  void row(ValueId total, int label);
  /// Rows outermost, the result's last dimension innermost; without dimensions, into a scalar.
  void closing(const Member& m);
  void closing_scalar(const Member& m, const std::vector<int>& labels);
  /// A sum of rows by groups, `sum[i where c == a[i]](…)`: every row changes the one element, or line, of its group.
  void grouped(const Member& m);
  /// A reduction of rows with operands shared by all rows, by blocks that stay in registers.
  bool blocked(const Member& m);
  /// A member's tensor, at the loops around the blocks.
  Place whole(const Member& m) { return at_outer(values_.at(m.value), outer_); }
  Place at_outer(ValueId v, std::size_t count);
  Place operand(const ir::ExprNode& read, std::size_t shared);
  /// A product of matrices, or `sum[j](x[i, j] * v[j])` or `sum[i](x[i, j] * u[i])`, as one call; false for others.
  bool product(const Member& m);

  const OperationStep& step_;
  const RecordedOp& op_;
  const FusedKernel& fused_;
  std::size_t outer_ = 0;  ///< number of loops around the blocks
  int block_ = 0;          ///< the index of the rows
  std::vector<ValueId> operands_;
  std::map<ValueId, ValueId> values_;     ///< variables of members
  std::map<ValueId, ValueId> in_place_;   ///< members that take the place of others
  const ir::Compute* compute_ = nullptr;  ///< of the current member
  std::vector<int> labels_;               ///< its indices, by label
  bool blocked_ = false;
  rt::SimdLevel widest_ = rt::SimdLevel::kBaseline;
};

}  // namespace tdsl::codegen
