#include "ir/graph/group.h"

#include "ir/graph/expr_build.h"

namespace tdsl::ir {

std::optional<Group> group_of(const Compute& c) {
  const auto* equal = c.guard ? std::get_if<Binary>(&c.guard->op) : nullptr;
  if (!c.monoid || equal == nullptr || equal->op != BinaryOp::kEq) return std::nullopt;
  for (const auto& [label, number] : {std::pair(&equal->left, &equal->right), std::pair(&equal->right, &equal->left)}) {
    const auto* i = std::get_if<IndexRef>(&(*label)->op);
    if (i == nullptr || static_cast<std::size_t>(i->label) >= c.out.size() || (*number)->type != Scalar::kI64) continue;
    bool of_points = true;
    for (std::size_t l = 0; l < c.out.size(); ++l)
      of_points = of_points && !mentions_label(*number, static_cast<std::int32_t>(l));
    if (of_points) return Group{i->label, *number};
  }
  return std::nullopt;
}

}  // namespace tdsl::ir
