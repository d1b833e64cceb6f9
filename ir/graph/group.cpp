#include "ir/graph/group.h"

#include "ir/graph/expr_build.h"

namespace tdsl::ir {

std::optional<Group> group_of(const Compute& c) {
  const auto* equal = c.guard ? std::get_if<Binary>(&c.guard->op) : nullptr;
  if (!c.monoid || equal == nullptr || equal->op != BinaryOp::kEq) return std::nullopt;
  for (const auto& [label, number] : {std::pair(&equal->left, &equal->right), std::pair(&equal->right, &equal->left)}) {
    const std::int32_t group = bare_label(*label);
    if (group < 0 || static_cast<std::size_t>(group) >= c.out.size() || (*number)->type != Scalar::kI64) continue;
    const std::set<std::int32_t> used = labels_in(*number);
    if (used.empty() || static_cast<std::size_t>(*used.begin()) >= c.out.size()) return Group{group, *number};
  }
  return std::nullopt;
}

}  // namespace tdsl::ir
