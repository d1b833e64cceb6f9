#include "codegen/loops/matrix_product.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/analysis/contraction.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

std::optional<MatrixProduct> matrix_product(const FusedKernel::Member& m) {
  const ir::Compute& c = m.compute;
  const auto product = ir::is_real(m.type) && !m.walks() ? ir::contraction_of(c) : std::nullopt;
  if (!product) return std::nullopt;
  const bool from_zero = std::ranges::all_of(c.out, [](const ir::Label& l) { return l.begin == Extent(0); });
  if (c.reduce.size() != 1 || !from_zero) return std::nullopt;
  const auto reads = [&](const Expr& e, const std::vector<std::int32_t>& labels) {
    const auto* r = std::get_if<ir::Read>(&e->op);
    return r != nullptr && e->type == m.type && std::ranges::equal(r->subscripts, labels, ir::is_label);
  };
  const auto shared = static_cast<std::int32_t>(m.shared.size());
  const bool of_rows = m.closes();
  if (c.out.size() != (of_rows ? 2 : m.shared.size() + 1) || (of_rows && shared != 1)) return std::nullopt;
  for (const auto& [x, y] : {std::pair(&product->left, &product->right), std::pair(&product->right, &product->left)}) {
    if (of_rows) {
      if (reads(*x, {2, 0}) && reads(*y, {2, 1})) return MatrixProduct{x->id(), y->id(), true, false, 0};
      continue;
    }
    std::vector<std::int32_t> labels = m.shared;
    labels.push_back(shared + 1);
    if (!reads(*x, labels)) continue;
    for (std::int32_t prefix = 0; prefix < shared; ++prefix) {
      for (const bool transposed : {false, true}) {
        labels.assign(m.shared.begin(), m.shared.begin() + prefix);
        for (const std::int32_t l : {shared + (transposed ? 0 : 1), shared + (transposed ? 1 : 0)}) labels.push_back(l);
        if (reads(*y, labels))
          return MatrixProduct{x->id(), y->id(), false, transposed, static_cast<std::size_t>(prefix)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace tdsl::codegen
