#pragma once

#include <map>
#include <optional>
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
  using Members = std::vector<const Member*>;

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
  /// True for a product of rows with rows whose exact result is symmetric: `sum[i](x[i, a] * (w[i] * x[i, b]))`.
  [[nodiscard]] bool is_symmetric(const Member& m) const;
  /// A product of matrices, or `sum[j](x[i, j] * v[j])` or `sum[i](x[i, j] * u[i])`, as one call; false for others.
  bool product(const Member& m);

  // --- Members that visit stored elements: fused_walks.cpp, Note [Walks]

  /// The members in order: walks, and others one by one.
  [[nodiscard]] std::vector<Members> in_walks() const;
  /// True if the columns of the matrix that walks visit may be coded. Totals of rows are then stored, so that the
  /// loops of a walk may run one after the other, each once per distinct value.
  [[nodiscard]] bool is_coded() const;
  [[nodiscard]] bool runs_by_value(const Members& walk, const nest::For& rows) const;
  /// True if the member's value is a tensor of the nest.
  [[nodiscard]] bool is_stored(const Member& m) const;
  /// The index of the rows or of the columns that a walk visits; `label`: that of the member.
  int walk_index(const Member& m, int label);
  [[nodiscard]] ValueId walked(const ir::StoredOperand& operand) const;
  /// The member with this value if it has a value per element, else null.
  [[nodiscard]] const Member* element_member(ValueId v) const;
  /// Adds the members whose values per element this one needs, in order.
  void add_elements(const Member& m, Members& needed) const;
  /// True if the member reads the value, or values per element that do.
  [[nodiscard]] bool needs_value(const Member& m, ValueId v) const;
  void add_matrices(const Member& m, std::vector<ValueId>& matrices) const;
  [[nodiscard]] nest::Stored stored_level(const std::vector<ValueId>& matrices, const std::vector<int>& outer) const;
  void walk(const Members& all);
  /// Elements of operands that are the same for the whole row are read once.
  void add_row_values(const Member& m);
  /// One loop over the elements of a row.
  void pass(const Members& members, const std::vector<ValueId>& matrices);
  void at_element(const Member& m);
  /// Elements and rows at the columns of a pass, to be prefetched.
  std::vector<nest::Place> ahead(const Members& members, const Members& needed);

  const OperationStep& step_;
  const RecordedOp& op_;
  const FusedKernel& fused_;
  std::size_t outer_ = 0;  ///< number of loops around the blocks
  int block_ = 0;          ///< the index of the rows
  std::vector<ValueId> operands_;
  std::map<ValueId, ValueId> values_;            ///< variables of members
  std::map<ValueId, ValueId> in_place_;          ///< members stored in place of others
  const ir::Compute* compute_ = nullptr;         ///< of the current member
  std::vector<int> labels_;                      ///< its indices, by label
  bool in_blocks_ = true;                        ///< rows are processed in blocks; false: one walk does everything
  std::optional<int> row_index_, column_index_;  ///< of walks
  std::map<ValueId, ValueId> row_values_;        ///< in a walk: scalars in place of members
  std::map<int, ValueId> row_elements_;          ///< likewise, of operands by number
  bool blocked_ = false;
  std::optional<ValueId> coded_;  ///< the matrix whose walks may run once per distinct value
  rt::SimdLevel widest_ = rt::SimdLevel::kBaseline;
};

}  // namespace tdsl::codegen
