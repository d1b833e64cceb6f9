#pragma once

#include <string>

#include "ir/differentiate/adjoints.h"

namespace tdsl::ir {

/// How an element of `X[left] op= value` changes with each of the values that meet in it, and with what it was before,
/// for `op` one of `*`, `min`, `max`.
struct MeetingSlopes {
  Expr point;    ///< by the value of a point; over the out labels
  Expr element;  ///< the derivative by the old element; over `plain_labels` of the result
};

/// `compute` has one body, a left side, a combining monoid and no reduce labels. Equal optima share equally; a product
/// is right where factors are 0.
[[nodiscard]] MeetingSlopes meeting_slopes(const Compute& compute, const Type& type, const std::string& name,
                                           const SourceRange& range, NodeWriter& writer);

}  // namespace tdsl::ir
