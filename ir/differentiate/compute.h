#pragma once

#include <string>

#include "ir/differentiate/activity.h"
#include "ir/differentiate/adjoints.h"
#include "ir/graph/extent_facts.h"

namespace tdsl::ir {

/// A construct between the variables and the loss that has no derivative here.
struct NotDifferentiable {
  SourceRange range;
  std::string message;        ///< "a reduction by the monoid `add` cannot be differentiated"
  SourceRange gradient = {};  ///< location of the Gradient
};

/// Adds to the adjoints of the node's operands, given those of its results:
///
///     adjoint(T)[subscripts] += sum over the points of adjoint(result) * d body / d read
///
/// for every differentiable read. A product gives products, a stencil a stencil, a gather a scatter. Values of the
/// forward pass are read, not recomputed. Throws NotDifferentiable.
void add_adjoints(const Node& node, const Compute& compute, const ExtentFacts& facts, const Activity& activity,
                  NodeWriter& writer, Adjoints& adjoints);

/// The derivatives of an element of `X[left] op= value` with respect to each of the values combined into it, and to its
/// old value, for `op` one of `*`, `min`, `max`.
struct MeetingSlopes {
  Expr point;    ///< with respect to the value of a point; over the out labels
  Expr element;  ///< with respect to the old element; over `NodeWriter::labels_of` the result's shape
};

/// `compute` has one body, store subscripts, a combining monoid and no reduce labels. Equal optima share equally; a
/// product is correct where factors are 0.
[[nodiscard]] MeetingSlopes meeting_slopes(const Compute& compute, const Type& type, const std::string& name,
                                           const SourceRange& range, NodeWriter& writer);

}  // namespace tdsl::ir
