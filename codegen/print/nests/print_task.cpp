#include "codegen/print/nests/print_task.h"

#include <fmt/format.h>

#include "codegen/print/names.h"
#include "runtime/message_id.h"

namespace tdsl::nest {

using codegen::cpp_type;
using codegen::string_literal;
using Role = Variable::Role;

namespace {

/// `total += x;`
std::string accumulated(ir::Monoid::Kind kind, ir::Scalar s, const std::string& target, const std::string& value) {
  using Kind = ir::Monoid::Kind;
  if (ir::is_float(s) && (kind == Kind::kSum || kind == Kind::kProd))
    return fmt::format("{} {}= {};", target, kind == Kind::kSum ? "+" : "*", value);
  if (kind == Kind::kAny || kind == Kind::kAll)
    return fmt::format("{0} = {1} {2} {0};", target, value, kind == Kind::kAny ? "||" : "&&");
  const std::string_view function = kind == Kind::kSum    ? "add"
                                    : kind == Kind::kProd ? "multiply"
                                    : kind == Kind::kMin  ? "least"
                                                          : "greatest";
  return fmt::format("{0} = scalar::{1}({0}, {2});", target, function, value);
}

/// `rt::rows::sum<double>(Interval{0, n}, ` and the like.
std::string reduction_call(ir::Monoid::Kind kind, std::string_view type, const std::string& range) {
  using Kind = ir::Monoid::Kind;
  if (kind == Kind::kAny || kind == Kind::kAll)
    return fmt::format("rt::rows::reduce<{0}>({1}, {2}, [&]({0} a, {0} b) {{ return b {3} a; }}, ", type, range,
                       kind == Kind::kAll, kind == Kind::kAny ? "||" : "&&");
  const std::string_view function = kind == Kind::kSum      ? "sum"
                                    : kind == Kind::kProd   ? "prod"
                                    : kind == Kind::kMin    ? "least"
                                    : kind == Kind::kMax    ? "greatest"
                                    : kind == Kind::kArgMin ? "arg_min"
                                                            : "arg_max";
  return fmt::format("rt::rows::{}<{}>({}, ", function, type, range);
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
  const auto range = [&] {
    return ir::match(
        r.over, [&](const Range& over) { return interval_text(s, over); },
        [&](const TaskRange& over) { return s.range(r.index, over); });
  };
  std::string lets;
  for (const Let& let : r.lets) lets += s.let(let) + " ";
  if (!r.dot)
    return fmt::format("{}[&](Index {}) {{ {}return {}; }})", reduction_call(r.kind, scalar, range()), index, lets,
                       s.expr.text(r.value));
  const auto& times = std::get<ir::Binary>(r.value->op);
  const auto element = [&](const Expr& e) {
    return fmt::format("[&](Index {}) -> const {}& {{ return {}; }}", index, scalar, s.expr.text(e));
  };
  return fmt::format("rt::dot<{}>({}, {}, {})", scalar, range(), element(times.left), element(times.right));
}

std::string print(const Spelling& s, const RowReduction& r) {
  return accumulated(r.kind, r.value->type, s.place({r.local, {}}), reduced(s, r));
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
  const bool equal = r.relation == ir::Check::Relation::kEqual;
  return fmt::format("if ({}!({} {} {})) rt::stop_sizes(place({}), {}, {}, {});", guard, left,
                     equal ? "==" : "<=", right, s.line(place),
                     string_literal(rt::with_id(r.message, equal ? "shape-mismatch" : "out-of-bounds")), left, right);
}

std::string print(const Spelling& s, const SmallRoutine& r, const ir::SourceRange& place) {
  std::string names;
  for (const std::vector<ValueId>* list : {&r.operands, &r.results}) {
    for (const ValueId v : *list) names += ", " + s.name(v);
  }
  if (r.kind == ir::Routine::Kind::kDet)
    return fmt::format("{} = rt::small::det({});", s.name(r.results[0]), s.name(r.operands[0]));
  if (r.solves != ir::Routine::SolveKind::kGeneral) names += ", " + codegen::solve_kind_text(r.solves);
  return fmt::format("rt::small::{}(place({}){});", ir::name_of(r.kind), s.line(place), names);
}

void declare_view(codegen::Writer& w, const std::string& name, std::string_view function, const ir::Type& type,
                  const std::string& arguments) {
  const std::string call = fmt::format("{}<{}, {}>", function, cpp_type(type.scalar), type.rank());
  w.declare("const auto", fmt::format("{} = {}({})", name, call, arguments), call);
}

void declare(codegen::Writer& w, const Spelling& s, ValueId v) {
  const Variable& variable = s.nest.variable(v);
  const ir::Type& type = variable.type;
  const std::string_view scalar = cpp_type(type.scalar);
  const std::string elements = fmt::format("<{}, {}>", scalar, type.rank());
  const std::string number = fmt::format("t, {}", variable.number);
  if (variable.role == Role::kOperand && type.rank() == 0) {
    w.declare(fmt::format("const {}", scalar), fmt::format("{} = t.in{}({})()", s.name(v), elements, variable.number));
  } else if (variable.role == Role::kOperand) {
    declare_view(w, s.name(v), "rt::elements_in", type, number);
  } else if (variable.role == Role::kResult && type.rank() > 0) {
    declare_view(w, s.name(v), "rt::elements_out", type, number);
  } else if (variable.role == Role::kLocal && type.rank() > 0) {
    if (variable.resized) return w.declare("rt::Resized" + elements, s.name(v));
    w.declare("const rt::Local" + elements, fmt::format("{}({})", s.name(v), extents_text(s, v)));
  }
}

}  // namespace tdsl::nest
