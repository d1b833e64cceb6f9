#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/families/family_builder.h"
#include "ir/analysis/contraction.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

namespace tdsl::codegen {

/// How partial results of a monoid meet; kNone for those that must not be cut (users' monoids, argmin, argmax).
[[nodiscard]] plan::Combine combine_of(const ir::Monoid& m);
/// Arithmetic of one evaluation; subscripts do not count.
[[nodiscard]] double flops_of(const Expr& e);
/// The Compute of the node with families' values, but for its base.
[[nodiscard]] ir::Compute resolved(FamilyBuilder& builder, const ir::Node& node, const ir::Compute& compute);

/// One result of one Compute on its way to one or more operations. The Compute has one body and resolved values. The
/// parts live in one file each.
class ComputeLowering {
 public:
  ComputeLowering(FamilyBuilder& builder, ValueId target, ir::Compute compute, SourceRange range)
      : builder_(builder), target_(target), compute_(std::move(compute)), range_(range), type_(builder.type(target)) {}

  void run();
  /// The operation visits stored elements only.
  void walk(const ir::StoredWalk& walk) { walk_ = walk; }
  /// The result has elements of compressed matrices in other places.
  void rearrange() { rearranges_ = true; }
  /// The result is compressed, and computed at all points.
  void compress() { compresses_ = true; }
  /// The operation of a Compute that needs no other one, and is no host arithmetic; checks in front of it are added.
  /// For an epilogue.
  [[nodiscard]] OperationStep operation();

 private:
  // --- The operation: operation.cpp
  void host_arithmetic();
  [[nodiscard]] std::vector<Extent> extents();
  /// A value computed by an operation of its own: `compute` over `out` labels; read back at the labels.
  Expr separately(ir::Compute compute, ir::Scalar scalar, const char* suffix);
  /// An i64 expression for a label's begin or end; quotients become host values of their own, so it is affine.
  [[nodiscard]] Expr expr_of(const Extent& e);
  [[nodiscard]] bool places_once() const;
  [[nodiscard]] std::string name() const;
  void labels(RecordedOp& op) const;
  void left(RecordedOp& op);
  /// One label times a number plus a constant, or a constant: what an output tile's elements can be solved for.
  [[nodiscard]] std::optional<AffineForm> plain_subscript(const Expr& e);
  /// Points outside the result would not be visited by any task: whether the guard keeps them all away is computed
  /// first.
  void guarded_left(const AffineForm& form, const std::vector<ir::Label>& labels, const Extent& extent,
                    const std::string& text);
  /// What matrix multiplication can do (ir/analysis/contraction.h).
  [[nodiscard]] bool is_contraction();
  [[nodiscard]] bool plain_or_shifted_left();
  /// The labels of a read whose subscripts are sums of labels, each once and moving forwards, and constants; nothing
  /// for anything else.
  [[nodiscard]] std::optional<ir::LabelSet> single_labels(const ir::Read& r);
  /// Whether a factor of an index variable is known to be positive wherever there is a point: a number and what index
  /// variables run up to.
  [[nodiscard]] bool moves_forwards(const Extent& coefficient) const;

  // --- Walks over stored elements: stored_operation.cpp
  /// Refuses what no kernel does with compressed tensors.
  void check_compressed() const;
  /// What distinguishes the operation from one over all points.
  void stored(RecordedOp& op, ComputeKernel& kernel) const;
  /// How a label of a walk is cut.
  [[nodiscard]] plan::LabelRole stored_role(int label) const;

  // --- Compressed results with elements of others in other places: rearranged_operation.cpp
  [[nodiscard]] OperationStep rearranged();

  // --- Left sides that cannot be solved: scatter.cpp
  /// Labels that no solvable subscript places are reduced.
  void reduce_scattered();

  // --- Operands subscripted by data: gather.cpp
  /// The label templates, subscripts and checks of the lookup that is part of the operation.
  void inline_lookup(RecordedOp& op, ComputeKernel& kernel);

  FamilyBuilder& builder_;
  ValueId target_;
  ir::Compute compute_;
  SourceRange range_;
  ir::Type type_;
  std::optional<ir::StoredWalk> walk_;
  bool rearranges_ = false;
  bool compresses_ = false;
};

}  // namespace tdsl::codegen
