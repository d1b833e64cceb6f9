#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/operations/builder.h"
#include "ir/analysis/contraction.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

namespace tdsl::codegen {

/// How partial results of a monoid are combined; kNone if it must not be cut (user monoids, argmin, argmax).
[[nodiscard]] plan::Combine combine_of(const ir::Monoid& m);
/// Floating-point operations of one evaluation, without subscripts.
[[nodiscard]] double flops_of(const Expr& e);
/// The node's Compute with values of the operation program, except for its base.
[[nodiscard]] ir::Compute resolved(ProgramBuilder& builder, const ir::Node& node, const ir::Compute& compute);

/// Lowers one result of a Compute to one or more operations. The Compute has one body and resolved values. Each part of
/// the lowering has its own file.
class ComputeLowering {
 public:
  ComputeLowering(ProgramBuilder& builder, ValueId target, ir::Compute compute, SourceRange range)
      : builder_(builder),
        target_(target),
        compute_(std::move(compute)),
        range_(range),
        type_(builder.type(target)),
        iteration_(ir::stored_loops(compute_)) {}
  ComputeLowering(const ComputeLowering&) = delete;
  ComputeLowering& operator=(const ComputeLowering&) = delete;

  void run();
  /// For an epilogue: the operation of a Compute that becomes a single operation and is not host arithmetic. Adds the
  /// checks that precede it.
  [[nodiscard]] OperationStep operation();

 private:
  // --- The operation: operation.cpp
  void host_arithmetic();
  [[nodiscard]] std::vector<Extent> extents();
  /// The value of `compute`, computed by a separate operation over `out` labels and read at these labels.
  Expr separately(ir::Compute compute, ir::Scalar scalar, const char* suffix);
  /// An i64 expression for the begin or end of a label's range; quotients become separate host values, so it is affine.
  [[nodiscard]] Expr expr_of(const Extent& e);
  [[nodiscard]] bool places_once() const;
  [[nodiscard]] std::string name() const;
  void labels(RecordedOp& op) const;
  void left(RecordedOp& op);
  /// The affine form of an invertible store subscript: a label times a number plus a constant, or a constant.
  [[nodiscard]] std::optional<AffineForm> plain_subscript(const Expr& e);
  /// Adds a separate operation that checks a guarded store subscript, because no task visits points outside the result.
  void guarded_left(const AffineForm& form, const std::vector<ir::Label>& labels, const Extent& extent,
                    const std::string& text);
  /// True if matrix multiplication computes it (ir/analysis/contraction.h).
  [[nodiscard]] bool is_contraction();
  [[nodiscard]] bool plain_or_shifted_left();
  /// The labels of a read whose subscripts are sums of constants and labels, each label once and with a positive
  /// factor; nothing for other reads.
  [[nodiscard]] std::optional<ir::LabelSet> single_labels(const ir::Read& r);
  /// True if a factor of an index variable is positive whenever there is a point: a positive number times ends of
  /// ranges that begin at 0.
  [[nodiscard]] bool moves_forwards(const Extent& coefficient) const;

  // --- Sparse iteration: stored_operation.cpp
  [[nodiscard]] bool uses_compressed() const;
  /// Turns the operation over all points into a sparse iteration.
  void stored(RecordedOp& op, ComputeKernel& kernel) const;
  /// The role of a label of a sparse iteration.
  [[nodiscard]] plan::LabelRole stored_role(int label) const;

  // --- Compressed results with elements of other tensors at other positions: rearranged_operation.cpp
  [[nodiscard]] OperationStep rearranged();

  // --- Store subscripts that cannot be inverted: scatter.cpp
  /// Turns labels that occur in no invertible store subscript into reduce labels.
  void reduce_scattered();
  /// True if the result is compressed, and its points store at computed positions.
  [[nodiscard]] bool assembled() const {
    return compute_.iteration && compute_.iteration->result == ir::SparseIteration::Result::kAssembled;
  }
  /// The store subscript if it is inverted: of a compressed result only that of the rows, without a guard.
  [[nodiscard]] std::optional<AffineForm> inverted(std::size_t dimension);

  // --- Operands with data-dependent subscripts: gather.cpp
  /// Adds the labels, subscripts and checks of the lookup that is part of the operation.
  void inline_lookup(RecordedOp& op, ComputeKernel& kernel);

  ProgramBuilder& builder_;
  ValueId target_;
  ir::Compute compute_;
  SourceRange range_;
  ir::Type type_;
  const ir::SparseIteration* iteration_;  ///< its loops over stored elements, or null
  bool once_ = false;                     ///< an assembly by `=`
};

}  // namespace tdsl::codegen
