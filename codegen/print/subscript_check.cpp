#include "codegen/print/subscript_check.h"

#include <fmt/format.h>

#include "codegen/print/names.h"
#include "ir/graph/affine.h"

namespace tdsl::codegen {

std::string subscript_check(const SubscriptStep& step, const std::string& line, ExprEmitter& expr) {
  std::string nonempty;
  std::string low;
  std::string high;
  const auto append = [](std::string& text, const std::string& part, std::string_view between) {
    text += (text.empty() ? "" : std::string(between)) + part;
  };
  for (const Term& t : step.subscript.terms) {
    const ir::Label& l = step.labels[static_cast<std::size_t>(t.label)];
    const std::string first = expr.text(l.begin * t.coefficient);
    const std::string last = expr.text((l.end - Extent(1)) * t.coefficient);
    const auto constant = t.coefficient.constant();
    append(low, !constant ? fmt::format("std::min<Index>({}, {})", first, last) : *constant > 0 ? first : last, " + ");
    append(high, !constant ? fmt::format("std::max<Index>({}, {})", first, last) : *constant > 0 ? last : first, " + ");
  }
  // If the signs are known at compile time, the sums can be simplified, too.
  if (const auto hull = ir::hull_of(step.subscript, step.labels)) {
    low = expr.text(hull->low);
    const Extent end = hull->high + Extent(1);
    // The largest integer plus one wraps around to the smallest, which the check refuses, too.
    const bool sum = !end.constant() && !end.as_value();
    high = sum ? fmt::format("scalar::add<Index>({}, 1)", expr.text(hull->high)) : expr.text(end);
  } else if (!(step.subscript.constant == Extent(0))) {
    append(low, expr.text(step.subscript.constant, 6), " + ");
    append(high, expr.text(step.subscript.constant + Extent(1), 6), " + ");
  } else {
    append(high, "1", " + ");
  }
  for (const ir::Label& l : step.labels) {
    const Extent count = l.end - l.begin;
    if (count.constant().value_or(0) > 0) continue;
    append(nonempty, fmt::format("{} < {}", expr.text(l.begin, 6), expr.text(l.end, 6)), " && ");
  }
  return fmt::format("{}session.check_subscript({}, Interval{{{}, {}}}, {}, {});",
                     nonempty.empty() ? "" : "if (" + nonempty + ") ", line, low, high, expr.text(step.extent),
                     string_literal(step.text));
}

}  // namespace tdsl::codegen
