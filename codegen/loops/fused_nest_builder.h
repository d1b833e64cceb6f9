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

/// The nest of fused operators: for each block of rows, the Computes of all members, one after the other. Members that
/// are not results are tensors of one block. Each part has its own file.
class FusedNestBuilder final : public ComputeNest {
 public:
  FusedNestBuilder(const NestRequest& request, const OperationStep& step);

  BuiltNest run();

 private:
  using Member = FusedKernel::Member;

  [[nodiscard]] const Member& result() const { return fused_.members.back(); }
  /// True for the last member, and for all members in a packed result.
  [[nodiscard]] bool is_result(const Member& m) const { return &m == &result() || m.place.has_value(); }
  [[nodiscard]] static Expr identity(const Member& m) { return ir::identity_of(*m.compute.monoid, m.type); }
  /// The operation's label for shared label number `f`.
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
  /// Adds the operation's labels as indices. Only shared ones are cut, the last one into blocks. Other loops run over
  /// the members' indices (`indices_of`), whose names have priority.
  void add_indices();
  /// Index variables of a member, in the order of its labels. Members share equal ones.
  std::vector<int> indices_of(const Member& m);
  [[nodiscard]] std::string unused_name(const std::string& name) const;
  /// The index with these properties that is not in `used`; adds it under a unique name if there is none.
  int shared_index(nest::Index index, const std::vector<int>& used);
  /// Adds a member's variable: a result, or a tensor of the block's rows without the dimensions of outer loops.
  ValueId variable(const Member& m);
  /// Stores element-wise members in place of a member that they are the last to read, if each element depends on the
  /// replaced element only.
  void take_places();
  static bool same_elements(const Member& before, const Member& m);
  /// True if member number `k` is the last reader of the value, and reads only the element that it computes.
  [[nodiscard]] bool ends_in(const Member& before, std::size_t k) const;
  /// True for a read of a tensor at exactly these labels.
  [[nodiscard]] bool is_read(const ir::ExprNode& e, const std::vector<std::int32_t>& labels, ir::Scalar type) const;
  /// Bytes of the operands that are cut along the rows and of the tensors of a block.
  [[nodiscard]] Extent bytes_per_row() const;

  // --- Statements of one member: fused_members.cpp

  void statements(const Member& m);
  /// Labels from `first` to `end` without those of the loops around the blocks.
  static std::vector<int> inner_labels(const Member& m, int first, int end);
  Place element(const Member& m);
  /// A reduction along a label by the runtime (rt::rows), with its partial results.
  void row(ValueId total, int label);
  /// A reduction over the rows: rows outermost, the result's last dimension innermost; into a scalar for rank 0.
  void closing(const Member& m);
  void closing_scalar(const Member& m, const std::vector<int>& labels);
  /// A sum of rows by groups, `sum[i where c == a[i]](…)`: each row updates one element or line, that of its group.
  void grouped(const Member& m);
  /// A register-blocked reduction along each row with operands shared by all rows; false if impossible.
  bool blocked(const Member& m);
  /// A member's tensor at the current indices of the loops around the blocks.
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
  std::map<ValueId, ValueId> in_place_;   ///< members stored in place of others
  const ir::Compute* compute_ = nullptr;  ///< of the current member
  std::vector<int> labels_;               ///< its indices, by label
  bool blocked_ = false;
  rt::SimdLevel widest_ = rt::SimdLevel::kBaseline;
};

}  // namespace tdsl::codegen
