#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/graph.h"
#include "passes/pass_context.h"

// Helpers shared by the passes of this folder, which bring every Compute that becomes an operation into a form that is
// lowered one to one; work that does not fit one Compute becomes nodes in front of it.

namespace tdsl::passes {

/// One single-result Compute on its way to legal form.
class Legalised {
 public:
  /// `part`: this pass has inserted the node in front of another one.
  Legalised(ir::Program& program, ir::Node& node, bool part) : program_(program), node_(node), part_(part) {}

  [[nodiscard]] ir::Program& program() { return program_; }
  [[nodiscard]] const ir::Node& node() const { return node_; }
  [[nodiscard]] bool is_part() const { return part_; }
  [[nodiscard]] ir::Compute& compute() { return std::get<ir::Compute>(node_.op); }
  [[nodiscard]] ir::Type type() const { return program_.type(node_.results[0]); }
  /// True if the result is compressed, and its points store at computed positions.
  [[nodiscard]] bool assembles() const {
    return program_.type(node_.results[0]).is_compressed() && !std::get<ir::Compute>(node_.op).left.empty();
  }
  /// The value of elements that are not written, if there is no base.
  [[nodiscard]] ir::Expr fill();
  /// Out labels first, then reduce labels.
  [[nodiscard]] std::vector<ir::Label> labels();

  /// The subscript as an affine form. Label-free parts that are not polynomials count as values, which `expression`
  /// maps back.
  [[nodiscard]] std::optional<ir::Affine> affine(const ir::Expr& subscript);
  /// See ir::Hoist.
  [[nodiscard]] std::optional<ir::ValueId> hoisted(const ir::Expr& e);
  [[nodiscard]] ir::Expr expression(const ir::Extent& e);
  /// The same for a size that may contain quotients: they become separate scalars, so that expressions of the size stay
  /// affine.
  [[nodiscard]] ir::Expr size(const ir::Extent& e);

  /// Computes a new value over `compute`'s out labels in front of this node; returns its read at those labels.
  [[nodiscard]] ir::Expr separately(ir::Compute compute, ir::Scalar scalar, const char* suffix);
  /// Computes a value of this type in front of this node.
  ir::ValueId in_front(ir::Compute compute, ir::Type type, const char* suffix);
  void in_front(ir::Op effect);

  [[nodiscard]] std::vector<ir::Node>& front() { return front_; }

 private:
  /// True for a quotient or remainder that ranges of index variables mention, which is computed before any point.
  [[nodiscard]] bool is_computed_for_ranges(const ir::Expr& e);

  ir::Program& program_;
  ir::Node& node_;
  bool part_;
  std::vector<ir::Node> front_;
  std::vector<ir::Expr> parts_;  ///< expressions of hoisted values
};

/// Applies `f` to every Compute that becomes a separate operation, which excludes loops that run as one task and fused
/// nests. Inserted nodes are passed to `f` too.
[[nodiscard]] ir::Program legalised(const ir::Program& program, PassContext& context,
                                    const std::function<void(Legalised&)>& f);

/// Computes the reduced value in front of the node; the node keeps the rest of the work.
void split_reduction(Legalised& one);
/// Nullopt if the store subscripts can be solved for the index variables: each variable has its own subscript `number *
/// i + constant`. Otherwise, for each out label of the scatter, true if it has such a subscript; the other labels are
/// reduced.
[[nodiscard]] std::optional<std::vector<bool>> scattered_labels(Legalised& one);

}  // namespace tdsl::passes
