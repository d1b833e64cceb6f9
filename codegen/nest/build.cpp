#include "codegen/nest/build.h"

#include <algorithm>

namespace tdsl::nest {

Named named(Nest& nest, Expr value, const codegen::BothBranches& both) {
  Named result;
  std::vector<std::pair<Expr, Expr>> names;
  const auto known = [&](const Expr& e) {
    const auto found = std::ranges::find_if(names, [&](const auto& n) { return ir::equal(n.first, e); });
    return found == names.end() ? Expr() : found->second;
  };
  for (const Expr& part : codegen::common_parts(value, both)) {
    const ValueId term = added_local(nest, "term", part->type);
    result.lets.push_back({term, with_parts(part, known, false)});
    names.emplace_back(part, scalar_read(nest, term));
  }
  result.value = with_parts(value, known, false);
  return result;
}

If branch(Expr condition, Body body, Body otherwise) {
  if (!body.empty()) return {std::move(condition), std::move(body), std::move(otherwise)};
  return {ir::unary(ir::UnaryOp::kNot, std::move(condition)), std::move(otherwise), {}};
}

}  // namespace tdsl::nest
