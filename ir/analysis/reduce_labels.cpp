#include "ir/analysis/reduce_labels.h"

#include <utility>

#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

std::vector<Expr> reduce_labels(Compute& c, const std::vector<bool>& kept) {
  TDSL_CHECK(c.reduce.empty() && c.combine, "only a combining store becomes a reduction");
  std::vector<Label> out;
  std::vector<Expr> number(c.out.size());
  std::vector<Expr> back;
  for (const bool keeps : {true, false}) {
    for (std::size_t l = 0; l < kept.size(); ++l) {
      if (kept[l] != keeps) continue;
      number[l] = index_ref(static_cast<std::int32_t>(out.size() + c.reduce.size()));
      back.push_back(index_ref(static_cast<std::int32_t>(l)));
      (keeps ? out : c.reduce).push_back(c.out[l]);
    }
  }
  for (Expr& e : c.bodies) e = with_labels(e, number);
  for (Expr& e : c.left) e = with_labels(e, number);
  c.guard = with_labels(c.guard, number);
  c.out = std::move(out);
  c.monoid = c.combine;
  return back;
}

}  // namespace tdsl::ir
