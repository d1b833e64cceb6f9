#pragma once

#include <string>

#include "ir/differentiate/adjoints.h"

namespace tdsl::ir {

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
