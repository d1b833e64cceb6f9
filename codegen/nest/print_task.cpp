#include "codegen/nest/print_task.h"

#include <fmt/format.h>

#include "codegen/print/line_reduction.h"
#include "codegen/print/names.h"

namespace tdsl::nest {

using codegen::cpp_type;
using codegen::string_literal;
using Role = Variable::Role;

namespace {

/// `total += x;`
std::string meeting(ir::Monoid::Kind kind, ir::Scalar s, const std::string& target, const std::string& value) {
  const bool sum = kind == ir::Monoid::Kind::kSum;
  if (ir::is_float(s) && (sum || kind == ir::Monoid::Kind::kProd))
    return fmt::format("{} {}= {};", target, sum ? "+" : "*", value);
  const std::string_view function = sum                               ? "add"
                                    : kind == ir::Monoid::Kind::kProd ? "multiply"
                                    : kind == ir::Monoid::Kind::kMin  ? "least"
                                                                      : "greatest";
  return fmt::format("{0} = scalar::{1}({0}, {2});", target, function, value);
}

}  // namespace

std::string extents_text(const Spelling& s, ValueId tensor) {
  std::string sizes;
  for (const Extent& e : s.nest.variable(tensor).type.shape) sizes += (sizes.empty() ? "" : ", ") + s.expr.text(e);
  return "{" + sizes + "}";
}

std::string interval_text(const Spelling& s, const Range& r) {
  return fmt::format("Interval{{{}, {}}}", s.expr.text(r.begin), s.expr.text(r.end));
}

std::string print(const Spelling& s, const CheckLine& c) {
  return fmt::format("rt::check_line({}, {}, {}, {}.extent[{}], place, {}, {});", s.expr.text(c.first), c.step,
                     s.expr.text(c.count), s.name(c.tensor), c.bound.dimension, s.line(c.bound.place),
                     string_literal(c.bound.what));
}

std::string reduced(const Spelling& s, const RowReduction& r) {
  const std::string_view scalar = cpp_type(r.value->type);
  const std::string index = s.index(r.index);
  if (!r.dot) return codegen::line_reduction(r.kind, scalar, interval_text(s, r.over), index, s.expr.text(r.value));
  const auto& times = std::get<ir::Binary>(r.value->op);
  const auto element = [&](const Expr& e) {
    return fmt::format("[&](Index {}) -> const {}& {{ return {}; }}", index, scalar, s.expr.text(e));
  };
  return fmt::format("rt::dot<{}>({}, {}, {})", scalar, interval_text(s, r.over), element(times.left),
                     element(times.right));
}

std::string print(const Spelling& s, const RowReduction& r) {
  return meeting(r.kind, r.value->type, s.name(r.local), reduced(s, r));
}

std::string print(const Spelling& s, const AddProducts& p) {
  return fmt::format(
      "rt::add_products<{0}>({1}, {2}, [&](Index {4}) -> {0}& {{ return {5}; }}, [&](Index {3}) {{ return {6}; }}, "
      "[&](Index {3}, Index {4}) -> const {0}& {{ return {7}; }});",
      cpp_type(p.value->type), interval_text(s, p.over), interval_text(s, p.line), s.index(p.index), s.index(p.along),
      s.place(p.to), s.expr.text(p.scale), s.expr.text(p.value));
}

std::string print(const Spelling& s, const Draw& d) {
  std::string iterations;
  for (const Expr& e : d.iterations) iterations += (iterations.empty() ? "" : ", ") + s.expr.subscript(e);
  const std::string_view type = cpp_type(s.nest.variable(d.local).type.scalar);
  return fmt::format("const {0} {1} = rt::draw_{2}<{0}>(seed, {3}ULL, {{{4}}});", type, s.name(d.local),
                     d.kind == ir::Random::Kind::kUniform ? "uniform" : "normal", d.site, iterations);
}

std::string print(const Spelling& s, const RequireSizes& r, const ir::SourceRange& place) {
  const std::string left = s.expr.exact(r.left);
  const std::string right = s.expr.exact(r.right);
  const std::string guard = r.guard ? s.expr.text(r.guard, 2) + " && " : "";
  return fmt::format("if ({}!({} {} {})) rt::stop_sizes(place({}), {}, {}, {});", guard, left,
                     r.relation == ir::Check::Relation::kEqual ? "==" : "<=", right, s.line(place),
                     string_literal(r.message), left, right);
}

std::string declaration(const Spelling& s, ValueId v) {
  const Variable& variable = s.nest.variable(v);
  const std::string_view type = cpp_type(variable.type.scalar);
  const std::size_t rank = variable.type.rank();
  if (variable.role == Role::kOperand && rank == 0)
    return fmt::format("const {} {} = t.in<{}, 0>({})();", type, s.name(v), type, variable.number);
  if (variable.role == Role::kOperand)
    return fmt::format("const auto {} = rt::elements_in<{}, {}>(t, {});", s.name(v), type, rank, variable.number);
  if (variable.role == Role::kResult && rank > 0)
    return fmt::format("const auto {} = rt::elements_out<{}, {}>(t, {});", s.name(v), type, rank, variable.number);
  if (variable.role != Role::kLocal || rank == 0) return "";
  if (variable.resized) return fmt::format("rt::Resized<{}, {}> {};", type, rank, s.name(v));
  return fmt::format("const rt::Local<{}, {}> {}({});", type, rank, s.name(v), extents_text(s, v));
}

}  // namespace tdsl::nest
