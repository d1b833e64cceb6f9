#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/affine.h"
#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// How partial results of a monoid meet; kNone for those that must not be cut (users' monoids, argmin, argmax).
[[nodiscard]] plan::Combine combine_of(const ir::Monoid& m);
/// Arithmetic of one evaluation; subscripts do not count.
[[nodiscard]] double flops_of(const Expr& e);
/// argmin or argmax.
[[nodiscard]] bool locates(const ir::Monoid& m);

/// One result of one Compute on its way to one or more operations. The Compute has one body and resolved values. The
/// parts live in one file each.
class ComputeLowering {
 public:
  ComputeLowering(FamilyBuilder& builder, ValueId target, ir::Compute compute, SourceRange range)
      : builder_(builder), target_(target), compute_(std::move(compute)), range_(range), type_(builder.type(target)) {}

  void run();

 private:
  // --- The operation: operation.cpp
  void host_arithmetic();
  [[nodiscard]] Expr fill() const;
  /// A left side that names all out labels in order and covers the result is no left side.
  void plain_left();
  [[nodiscard]] std::vector<Extent> extents();
  /// Several points meet in one element where an out label does not occur on the left: that is a reduction.
  void unplaced_labels();
  /// Out labels that are not `kept` become reduce labels of the combining operator.
  void move_to_reduction(const std::vector<bool>& kept_labels);
  /// A value computed by an operation of its own: `compute` over `out` labels; read back at the labels.
  Expr separately(ir::Compute compute, ir::Scalar scalar, const char* suffix);
  /// An i64 expression for a label's begin or end; quotients become host values of their own, so it is affine.
  [[nodiscard]] Expr expr_of(const Extent& e);
  void operation();
  void replace_read_base();
  [[nodiscard]] bool places_once() const;
  /// See ring.h.
  void unroll_rings(const OpTemplate& op, KernelTemplate& kernel);
  [[nodiscard]] std::string name() const;
  void labels(OpTemplate& op) const;
  void left(OpTemplate& op);
  /// One label times a number plus a constant, or a constant: what an output tile's elements can be solved for.
  [[nodiscard]] std::optional<AffineForm> plain_subscript(const Expr& e);
  /// Points outside the result would not be visited by any task: whether the guard keeps them all away is computed first.
  void guarded_left(const AffineForm& form, const OpTemplate& op, const Extent& extent, const std::string& text);
  /// A sum of products of two tensors, each label at most once per tensor: what matrix multiplication can do.
  [[nodiscard]] bool is_contraction();
  [[nodiscard]] bool plain_or_shifted_left();
  /// The labels of a read whose subscripts are sums of labels, each once and moving forwards, and constants; nothing for anything else.
  [[nodiscard]] std::optional<std::set<int>> single_labels(const Expr& e);
  /// Whether a factor of an index variable is known to be positive wherever there is a point: a number and what index variables run up to.
  [[nodiscard]] bool moves_forwards(const Extent& coefficient) const;

  // --- Reductions: reduction.cpp
  /// Reductions accumulate into elements that begin as the identity or as the base. Whatever else the Compute does with
  /// the reduced value is done by a second operation, so that partial results of a reduction can always be combined.
  /// With `always` even where both combine alike.
  void split_reduction(bool always);
  /// argmin and argmax: first the optimum, then the smallest label that has it. Both can be cut into any parts.
  void locate();
  [[nodiscard]] ir::Compute reduction_only() const;

  // --- Left sides in which several labels count a position: unflatten.cpp
  void flat_left();
  /// Of one dimension; whether its labels were replaced by one.
  bool flat_left(std::size_t d);
  /// Whether it is known not to be negative: a number or a size of a tensor that the operation reads or writes.
  [[nodiscard]] bool is_size(const Extent& e);

  // --- Left sides that cannot be solved: scatter.cpp
  [[nodiscard]] bool scatters();
  void scatter();
  /// `=`: each element at most once.
  void write_once();
  /// The result's own labels and subscripts, for what is done element by element.
  [[nodiscard]] std::vector<ir::Label> element_labels();
  [[nodiscard]] std::vector<Expr> element() const;
  void over_elements(const Expr& body);
  /// A scatter with a combining operator into a tensor of its own, of the result's shape; read element by element.
  Expr scattered(ir::Compute compute, ir::Scalar scalar, const char* suffix);
  void scatter_operation();
  /// Tensors below a mebibyte are nobody's trouble.
  void warn_scatter();

  // --- Operands subscripted by data: gather.cpp
  struct Lookup;
  /// Reads whose subscripts are data become reads of tensors gathered before, but for one that this operation can do.
  void separate_lookups();
  /// The label templates, subscripts and checks of the lookup that is left.
  void inline_lookup(OpTemplate& op, KernelTemplate& kernel);
  [[nodiscard]] std::vector<Lookup> lookups();
  /// The lookup that becomes part of this operation, if one can.
  [[nodiscard]] const Lookup* inlined(const std::vector<Lookup>& list);
  [[nodiscard]] std::optional<Expr> gathered(const Lookup& lookup);

  FamilyBuilder& builder_;
  ValueId target_;
  ValueId said_ = target_;  ///< whose name messages say: of a part of a result, the result
  ir::Compute compute_;
  SourceRange range_;
  ir::Type type_;
};

}  // namespace tdsl::codegen
