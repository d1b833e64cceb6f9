#include "ir/algebra/check/verify.h"

#include <fmt/format.h>

#include "ir/algebra/text/text.h"

namespace tdsl::ir::algebra {

std::vector<std::string> verify(const Program& program) {
  const std::vector<Expr> nodes = nodes_of(program.roots());
  const std::map<int, int> numbers = numbers_of(nodes);
  std::vector<std::string> violations;
  const auto report = [&](const Expr& e, const std::string& problem) {
    violations.push_back(fmt::format("{}: {}", line_text(e, numbers), problem));
  };
  for (const Expr& e : nodes) {
    for (const std::string& problem : e->problems) report(e, problem);
  }
  for (const Program::Result& result : program.results) {
    const RelationType& type = result.value->type;
    if (!type.holes_are_zero) report(result.value, "the result has absent blocks of unknown value");
    if (type.pieces) report(result.value, "the result is partial: its pieces are not aggregated");
  }
  return violations;
}

std::vector<std::string> verify(const Expr& e) { return verify(Program{{{"", e}}}); }

}  // namespace tdsl::ir::algebra
