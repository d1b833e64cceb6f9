#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/graph.h"
#include "passes/pass_context.h"

// What the passes of this folder share. They bring every Compute that becomes an operation into a form that is lowered
// one to one; what cannot be said in one Compute becomes nodes in front of it.

namespace tdsl::passes {

/// One Compute of one result on its way to legal form.
class Legalised {
 public:
  /// `part`: a node that this pass has put in front of another one.
  Legalised(ir::Program& program, ir::Node& node, bool part) : program_(program), node_(node), part_(part) {}

  [[nodiscard]] ir::Program& program() { return program_; }
  [[nodiscard]] const ir::Node& node() const { return node_; }
  [[nodiscard]] bool is_part() const { return part_; }
  [[nodiscard]] ir::Compute& compute() { return std::get<ir::Compute>(node_.op); }
  [[nodiscard]] ir::Type type() const { return program_.type(node_.results[0]); }
  /// What an element holds that nothing is written to, without a base.
  [[nodiscard]] ir::Expr fill();
  /// Out labels first, then reduce labels.
  [[nodiscard]] std::vector<ir::Label> labels();

  /// The subscript as an affine form. Label-free parts that are no polynomials count as values; `expression` knows
  /// them.
  [[nodiscard]] std::optional<ir::Affine> affine(const ir::Expr& subscript);
  /// See ir::Hoist.
  [[nodiscard]] std::optional<ir::ValueId> hoisted(const ir::Expr& e);
  [[nodiscard]] ir::Expr expression(const ir::Extent& e);
  /// The same for a size that may hold quotients: they become scalars of their own, so that what mentions them stays
  /// affine.
  [[nodiscard]] ir::Expr size(const ir::Extent& e);

  /// A new value of the shape of `compute`'s out labels, computed in front of this node; read back at those labels.
  [[nodiscard]] ir::Expr separately(ir::Compute compute, ir::Scalar scalar, const char* suffix);
  /// The same for a value of this shape; not read back.
  ir::ValueId in_front(ir::Compute compute, ir::Type type, const char* suffix);
  void in_front(ir::Op effect);

  [[nodiscard]] std::vector<ir::Node>& front() { return front_; }

 private:
  /// Whether it is a quotient or remainder that the index variables' ranges mention, so that it is computed before any
  /// point.
  [[nodiscard]] bool is_computed_for_ranges(const ir::Expr& e);

  ir::Program& program_;
  ir::Node& node_;
  bool part_;
  std::vector<ir::Node> front_;
  std::vector<ir::Expr> parts_;  ///< what hoisted values stand for
};

/// Applies `f` to every Compute that becomes an operation of its own: not in loops that run as one task, nor in nests
/// of operators. Nodes put in front come to `f` themselves.
[[nodiscard]] ir::Program legalised(const ir::Program& program, PassContext& context,
                                    const std::function<void(Legalised&)>& f);

/// Computes the reduced value in front of the node; the node keeps the rest of the work.
void split_reduction(Legalised& one);
/// Nothing if the store subscripts can be solved for the index variables: each variable has a subscript of its own,
/// `number * i + constant`. Otherwise, for each out label of the scatter, true if it has such a subscript; the other
/// labels are reduced.
[[nodiscard]] std::optional<std::vector<bool>> scattered_labels(Legalised& one);

}  // namespace tdsl::passes
