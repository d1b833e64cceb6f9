#include "codegen/print/emit_rearranged.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "codegen/operations/describe.h"
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

/// Prints the parts of a rearranged matrix. Index vectors are operands behind the matrices.
class PartPrinter {
 public:
  PartPrinter(const OperationProgram& program, const OperationStep& step, ExprEmitter& expr)
      : program_(program), step_(step), expr_(expr), operands_(step.kernel->rearranged.size()) {}

  Code run() {
    std::string list;
    for (std::size_t k = 0; k < step_.kernel->rearranged.size(); ++k) {
      const ir::Rearranged& part = step_.kernel->rearranged[k];
      std::string box;
      for (std::size_t d = 0; d < 2; ++d) {
        const SymbolicLabel& label = step_.op->labels[d];
        box +=
            fmt::format("{}{{{}, {}}}", d == 0 ? "" : ", ", extreme("max", label.range.lo, part.range[d].from, expr_),
                        extreme("min", label.range.hi, part.range[d].to, expr_));
      }
      const std::string row = subscript(part, 0), column = subscript(part, 1);
      list += fmt::format("{}{{{}, {}, {}, {{{{{}}}}}}}", k == 0 ? "" : ", ", k, row, column, box);
    }
    code_.text = fmt::format("rt::rearranged_kernel<{}>({{{}}})", cpp_type(step_.kernel->type), list);
    code_.needs.add(Header::kRearranged);
    return std::move(code_);
  }

 private:
  std::string subscript(const ir::Rearranged& part, std::size_t d) {
    const ir::Rearranged::Subscript& s = part.at[d];
    const SymbolicLabel& label = step_.op->labels[static_cast<std::size_t>(s.label)];
    if (!s.index) {
      const std::string modulus = s.around ? expr_.text(label.range.hi) : "0";
      return fmt::format("{{{}, {}, {}, {}}}", s.label, s.factor, expr_.text(s.offset), modulus);
    }
    code_.needs.add(Helper::kPlace);
    return fmt::format("{{{}, 1, 0, 0, {{{}, {}, place({}), {}}}}}", s.label, operands_++, expr_.text(s.extent),
                       place_text(part.place),
                       string_literal(fmt::format("{}[{}]` of `{}", name_of(program_, *s.index), label.name,
                                                  name_of(program_, part.tensor))));
  }

  const OperationProgram& program_;
  const OperationStep& step_;
  ExprEmitter& expr_;
  std::size_t operands_;  ///< the number of the next index vector
  Code code_;
};

}  // namespace

Code rearranged_kernel(const OperationProgram& program, const OperationStep& step, ExprEmitter& expr) {
  return PartPrinter(program, step, expr).run();
}

}  // namespace tdsl::codegen
