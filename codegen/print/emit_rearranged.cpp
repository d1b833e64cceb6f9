#include "codegen/print/emit_rearranged.h"

#include <fmt/format.h>

#include <vector>

#include "codegen/print/names.h"

namespace tdsl::codegen {

namespace {

/// `std::max<Index>({0, p})`, or the only one.
std::string extreme(const char* function, const Extent& whole, std::vector<Extent> limits, ExprEmitter& expr) {
  std::erase(limits, whole);
  std::string list = expr.text(whole);
  if (limits.empty()) return list;
  for (const Extent& e : limits) list += ", " + expr.text(e);
  return fmt::format("std::{}<Index>({{{}}})", function, list);
}

std::string subscript_text(const OperationStep& step, std::size_t part, std::size_t d, ExprEmitter& expr) {
  const ir::Rearranged& one = step.kernel->rearranged[part];
  const ir::Rearranged::Subscript& s = one.at[d];
  const Extent& end = step.op->labels[static_cast<std::size_t>(s.label)].range.hi;
  return fmt::format("{{{}, {}, {}, {}}}", s.label, s.factor, expr.text(s.offset), s.around ? expr.text(end) : "0");
}

}  // namespace

Code rearranged_kernel(const OperationStep& step, ExprEmitter& expr) {
  std::string list;
  for (std::size_t k = 0; k < step.kernel->rearranged.size(); ++k) {
    std::string box;
    for (std::size_t d = 0; d < 2; ++d) {
      const ir::Rearranged::Range& range = step.kernel->rearranged[k].range[d];
      const SymbolicLabel& label = step.op->labels[d];
      box += fmt::format("{}{{{}, {}}}", d == 0 ? "" : ", ", extreme("max", label.range.lo, range.from, expr),
                         extreme("min", label.range.hi, range.to, expr));
    }
    list += fmt::format("{}{{{}, {}, {}, {{{{{}}}}}}}", k == 0 ? "" : ", ", k, subscript_text(step, k, 0, expr),
                        subscript_text(step, k, 1, expr), box);
  }
  Code code{fmt::format("rt::rearranged_kernel<{}>({{{}}})", cpp_type(step.kernel->type), list), {}};
  code.needs.add(Header::kRearranged);
  return code;
}

}  // namespace tdsl::codegen
