#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "codegen/nest/increments.h"
#include "codegen/print/nests/printer.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::nest {

using codegen::block;
using codegen::cpp_type;
using codegen::simple;
using codegen::Statements;
using ir::match;
using Role = Variable::Role;

Statements Printer::statements(const Body& body) {
  Statements result;
  for (std::size_t k = 0; k < body.size(); ++k) {
    const Statement& s = body[k];
    if (source_line_ && s.place.known() && s.place.line != last_line_) {
      last_line_ = s.place.line;
      result.push_back(simple(source_line_(s.place)));
    }
    if (std::optional<WholeReduction> whole = whole_reduction(body, k)) {
      result.push_back(std::move(whole->statement));
      k += whole->count - 1;
      continue;
    }
    for (codegen::Statement& line : statement(s)) result.push_back(std::move(line));
    const bool block =
        std::holds_alternative<Count>(s.op) || std::holds_alternative<While>(s.op) || std::holds_alternative<If>(s.op);
    if (block && s.place.known()) last_line_ = s.place.line;
  }
  return result;
}

std::optional<Printer::WholeReduction> Printer::whole_reduction(const Body& body, std::size_t k) {
  const auto* var = std::get_if<Var>(&body[k].op);
  const auto* r = k + 1 < body.size() ? std::get_if<RowReduction>(&body[k + 1].op) : nullptr;
  if (var == nullptr || r == nullptr || r->local != var->local || !var->value ||
      !ir::equal(var->value, first_value(*r)))
    return std::nullopt;
  if (body[k].place.known()) place_ = body[k].place;
  const auto value = [&] {
    std::string text;
    in_task_index(r->index, [&] { text = reduced(spelling_, *r); });
    return text;
  };
  const auto* store = k + 2 < body.size() ? std::get_if<Store>(&body[k + 2].op) : nullptr;
  if (store != nullptr && nest_.variable(store->to.variable).type.is_compressed()) store = nullptr;
  const auto* read = store == nullptr ? nullptr : std::get_if<ir::Read>(&store->value->op);
  if (read != nullptr && read->tensor == var->local && times_read(var->local) == 1)
    return WholeReduction{simple(fmt::format("{} = {};", place_text(store->to), value())), 3};
  const std::string text = value();
  return WholeReduction{simple(fmt::format("{} {} = {};", type_text(var->local), local_name(var->local), text)), 2};
}

Expr Printer::first_value(const RowReduction& r) {
  const ir::Monoid with{r.kind, {}, {}, {}};
  return ir::locates(with) ? ir::constant_i64(-1) : ir::identity_of(with, r.value->type);
}

int Printer::times_read(ValueId v) const {
  int times = 0;
  for_each_statement(nest_.body, [&](const Statement& s) {
    for_each_expr(s, [&](const Expr& e) {
      ir::for_each_node(e, [&](const ir::ExprNode& n) {
        const auto* r = std::get_if<ir::Read>(&n.op);
        times += r != nullptr && r->tensor == v ? 1 : 0;
      });
    });
  });
  return times;
}

Statements Printer::statement(const Statement& s) {
  if (s.place.known()) place_ = s.place;
  return match(
      s.op, [&](const For& f) { return loop(f); }, [&](const Let& l) { return Statements{simple(let_text(l))}; },
      [&](const Start& l) { return start(l); }, [&](const Narrow& n) { return Statements{simple(narrow(n))}; },
      [&](const Check& c) {
        return Statements{
            simple(fmt::format("const Index {} = {};", index_name(c.index), inside(expr_.text(c.value), c.bound)))};
      },
      [&](const Store& w) {
        if (nest_.variable(w.to.variable).assembled) return Statements{simple(put_entry(w.to, w.value))};
        if (nest_.variable(w.to.variable).type.is_compressed()) return Statements{simple(put(w))};
        const std::string target = place_text(w.to);
        const auto step = codegen::increment_of(w.value, [&](ValueId v) { return v == w.to.variable; });
        if (step && counters_.contains(w.to.variable))
          return Statements{simple(fmt::format("{} {}= {};", target, *step < 0 ? "-" : "+", std::abs(*step)))};
        return Statements{simple(
            fmt::format("{} = {};", target, nest_.form == Form::kKernel ? expr_.text(w.value) : assigned(w.value)))};
      },
      [&](const Update& u) {
        if (nest_.variable(u.to.variable).assembled) return Statements{simple(put_entry(u.to, u.value))};
        if (nest_.variable(u.to.variable).type.is_compressed()) return Statements{simple(add_element(u))};
        const std::string target = place_text(u.to);
        if (!count_.empty() && u.with.kind == ir::Monoid::Kind::kSum)
          return Statements{simple(fmt::format("rt::add_repeated({}, {}, {});", target, expr_.text(u.value), count_))};
        const ir::Scalar type = nest_.variable(u.to.variable).type.scalar;
        const bool claims = nest_.form == Form::kTask && u.with.kind == ir::Monoid::Kind::kUser;
        return accumulation(u.with, u.value, type, target, claims ? table_.claim("next") : "next");
      },
      [&](const If& i) { return branch(i); }, [&](const LineReduction& l) { return Statements{simple(line(l))}; },
      [&](const BlockedReduction& b) { return blocked(b); }, [&](const Fill& f) { return Statements{simple(fill(f))}; },
      [&](const Var& v) {
        const std::string value = v.value ? " = " + assigned(v.value) : "{}";
        if (nest_.form == Form::kKernel) set_local(v.local, nest_.variable(v.local).name);
        return Statements{
            simple(fmt::format("{}{} {}{};", unread(v.local), type_text(v.local), local_name(v.local), value))};
      },
      [&](const Count& c) { return count(c); }, [&](const While& w) { return repeat(w); },
      [&](const Require& r) {
        printed_.needs.add(codegen::Helper::kPlace);
        return Statements{simple(fmt::format("if (!({})) rt::stop(place({}), {});", expr_.text(r.condition),
                                             line_of(s.place), codegen::string_literal(r.message)))};
      },
      [&](const Return& r) { return Statements{simple(fmt::format("return {};", expr_.text(r.value)))}; },
      [&](const Copy& c) {
        return Statements{simple(fmt::format("rt::copy({}, {});", local_name(c.to), local_name(c.from)))};
      },
      [&](const Keep& k) {
        kept_.insert(k.local);
        return Statements{
            simple(fmt::format("const auto {} = rt::copied({});", local_name(k.local), local_name(k.from)))};
      },
      [&](const Resize& r) {
        return Statements{simple(fmt::format("{}.resize({});", local_name(r.local), extents_text(spelling_, r.local)))};
      },
      [&](const CheckLine& c) {
        printed_.needs.add(codegen::Helper::kInside);
        return Statements{simple(print(spelling_, c))};
      },
      [&](const RowReduction& r) {
        Statements result;
        in_task_index(r.index, [&] { result.push_back(simple(print(spelling_, r))); });
        return result;
      },
      [&](const AddProducts& p) {
        static_cast<void>(open_index(p.index));
        static_cast<void>(open_index(p.along));
        Statements result{simple(print(spelling_, p))};
        close_index(p.along);
        close_index(p.index);
        return result;
      },
      [&](const Locate& l) {
        return Statements{simple(fmt::format("rt::Best<{}> {}{{{}}};", cpp_type(l.of), local_name(l.local),
                                             l.kind == ir::Monoid::Kind::kArgMax ? "true" : "false"))};
      },
      [&](const Offer& o) {
        return Statements{
            simple(fmt::format("{}.add({}, {});", local_name(o.local), expr_.text(o.value), index_name(o.index)))};
      },
      [&](const Draw& d) {
        printed_.draws = true;
        return Statements{simple(print(spelling_, d))};
      },
      [&](const RequireSizes& r) {
        printed_.needs.add(codegen::Helper::kPlace);
        return Statements{simple(print(spelling_, r, s.place))};
      },
      [&](const SmallRoutine& r) {
        printed_.needs.add(codegen::Helper::kPlace);
        printed_.needs.add(codegen::Header::kSmallRoutines);
        return Statements{simple(print(spelling_, r, s.place))};
      },
      [&](const RowProducts& p) { return Statements{simple(row_products(p))}; },
      [&](const FillRows& f) { return Statements{simple(fill_rows(f))}; },
      [&](const Mirror& m) {
        return Statements{simple(fmt::format("rt::rows::mirror<{}>({}, {});", type_text(m.to), part_text({m.to, {}}),
                                             range_text(m.along, {})))};
      });
}

Statements Printer::count(const Count& c) {
  const std::string& i = local_name(c.local);
  std::string head = fmt::format("for (Index {0} = {1}; {0} {2} {3}; {4})", i, assigned(c.begin),
                                 c.step > 0 ? "<" : ">", assigned(c.end), codegen::next_text(i, c.step));
  return {block(std::move(head), statements(c.body))};
}

Statements Printer::repeat(const While& w) {
  if (w.before.empty()) {
    std::string head = fmt::format("while ({})", expr_.text(w.condition));
    return {block(std::move(head), statements(w.body))};
  }
  Statements all = statements(w.before);
  all.push_back(simple(fmt::format("if (!({})) break;", expr_.text(w.condition))));
  for (codegen::Statement& s : statements(w.body)) all.push_back(std::move(s));
  return {block("while (true)", std::move(all))};
}

std::pair<std::string, std::string> Printer::bounds(int index, const TaskRange& range) {
  const Index& i = nest_.index(index);
  if (i.whole) return {expr_.text(i.begin), expr_.text(i.end)};
  std::string begin = range.begin ? local_name(*range.begin) : range_name(index) + ".lo";
  return {std::move(begin), range.end ? local_name(*range.end) : range_name(index) + ".hi"};
}

Statements Printer::extent_loop(const For& f, const Range& over) {
  const std::string begin = expr_.text(over.begin);
  const std::string end = expr_.text(over.end);
  const std::string i = open_index(f.index);
  Statements result{
      f.parts ? parts(f, *f.parts, fmt::format("Interval{{{}, {}}}", begin, end))
              : block(fmt::format("for (Index {0} = {1}; {0} < {2}; ++{0})", i, begin, end), statements(f.body))};
  close_index(f.index);
  return result;
}

std::string Printer::range_text(int index, const TaskRange& range) {
  if (!range.begin && !range.end && !nest_.index(index).whole) return range_name(index);
  const auto [begin, end] = bounds(index, range);
  return fmt::format("Interval{{{}, {}}}", begin, end);
}

Statements Printer::loop(const For& f) {
  if (const auto* over = std::get_if<Stored>(&f.over)) return stored(f, *over);
  if (const auto* over = std::get_if<Range>(&f.over)) return extent_loop(f, *over);
  if (const auto* over = std::get_if<Blocks>(&f.over)) return blocks(f, *over);
  if (f.parts) return {parts(f, *f.parts, range_text(f.index, std::get<TaskRange>(f.over)))};
  const auto [begin, end] = bounds(f.index, std::get<TaskRange>(f.over));
  Statements result;
  Statements inner = statements(f.body);
  if (runs_over_rows(f))
    inner.insert(inner.begin(), simple(fmt::format("{}.row({});", out_name(), put_subscript(0, index_name(f.index)))));
  printed_.vectors = printed_.vectors || f.order == Order::kSimd;
  if (f.order == Order::kSimd && nest_.index(f.index).block >= 0) {
    std::string text;
    for (const codegen::Statement& s : inner) text += s.text + " ";
    return {simple(
        fmt::format("rt::rows::each({}, [&](Index {}) {{ {}}});", range_name(f.index), index_name(f.index), text))};
  }
  if (f.order == Order::kSimd) result.push_back(simple("#pragma omp simd"));
  result.push_back(
      block(fmt::format("for (Index {0} = {1}; {0} < {2}; ++{0})", index_name(f.index), begin, end), std::move(inner)));
  return result;
}

codegen::Statement Printer::parts(const For& f, const Parts& p, const std::string& range) {
  std::vector<std::string> arguments{range}, parameters;
  std::vector<std::string> until;
  for (const Side& side : p.sides) {
    until.push_back(side.until ? expr_.subscript(side.until)
                               : fmt::format("rt::whole({}, {})", range, expr_.text(side.condition)));
    parameters.push_back("auto " + set_local(side.local, table_.claim(nest_.variable(side.local).name)));
  }
  if (!until.empty()) arguments.push_back(fmt::format("{{{}}}", fmt::join(until, ", ")));
  if (p.inside) {
    arguments.push_back(inner_text(p));
    parameters.push_back("auto " + set_local(*p.inside, table_.claim(nest_.variable(*p.inside).name)));
  }
  parameters.push_back("Index " + index_name(f.index));
  const bool simd = f.order == Order::kSimd;
  printed_.needs.add(codegen::Header::kParts);
  printed_.vectors = printed_.vectors || simd;
  const std::string_view function = p.sides.empty() ? "inner" : p.inside ? "inner_part" : "part";
  Statements body = statements(f.body);
  for (const Side& side : p.sides) table_.release(local_name(side.local));
  if (p.inside) table_.release(local_name(*p.inside));
  return block(fmt::format("rt::each_{}{}({}, [&]({})", function, simd ? "_simd" : "", fmt::join(arguments, ", "),
                           fmt::join(parameters, ", ")),
               std::move(body), "});");
}

std::string Printer::inner_text(const Parts& p) {
  std::vector<std::string> fields;
  const auto field = [&](std::string_view name, std::string_view extreme, const std::vector<Expr>& values) {
    std::vector<std::string> list;
    for (const Expr& e : values) list.push_back(expr_.subscript(e));
    if (list.size() == 1) fields.push_back(fmt::format(".{} = {}", name, list.front()));
    if (list.size() > 1)
      fields.push_back(fmt::format(".{} = std::{}<Index>({{{}}})", name, extreme, fmt::join(list, ", ")));
  };
  field("from", "max", p.from);
  field("to", "min", p.to);
  if (p.where) fields.push_back(fmt::format(".where = {}", expr_.text(p.where)));
  return fmt::format("{{{}}}", fmt::join(fields, ", "));
}

Statements Printer::start(const Start& s) {
  const ir::Scalar type = nest_.variable(s.local).type.scalar;
  const std::string from = place_text(s.from);
  if (nest_.form == Form::kKernel) set_local(s.local, nest_.variable(s.local).name);
  return {simple(fmt::format("{} {} = {};", cpp_type(type), local_name(s.local),
                             s.fresh ? fmt::format("t.fresh ? {} : {}", expr_.text(s.fresh), from) : from))};
}

std::string Printer::narrow(const Narrow& n) {
  const auto [begin, end] = bounds(n.index, n.within);
  std::string value = expr_.text(n.value);
  // Avoids overflow for the largest integer.
  if (n.past) value = fmt::format("std::min<Index>({}, {} - 1) + 1", value, end);
  const std::string& side = n.begins ? begin : end;
  std::string text = fmt::format("std::{}<Index>({}, {})", n.begins ? "max" : "min", side, value);
  if (!n.safe) text = fmt::format("{} < {} ? {} : {}", begin, end, text, side);
  return fmt::format("const Index {} = {};", local_name(n.local), text);
}

Statements Printer::branch(const If& i) {
  const std::string condition = match(
      i.condition, [&](const Expr& e) { return expr_.text(e); },
      [&](const HasPoints& p) {
        std::vector<std::string> parts;
        for (const int k : p.indices) parts.push_back(fmt::format("!{}.empty()", range_name(k)));
        return fmt::format("{}", fmt::join(parts, " && "));
      },
      [&](const IsMine& m) { return mine(m); },
      [&](const Nonempty& n) {
        std::vector<std::string> parts;
        for (const Range& r : n.ranges)
          parts.push_back(fmt::format("{} < {}", expr_.text(r.begin, 6), expr_.text(r.end, 6)));
        return fmt::format("{}", fmt::join(parts, " && "));
      },
      [&](const Within& w) {
        const Index& i = nest_.index(w.index);
        return fmt::format("const Index {0} = {1}; {2} <= {0} && {0} < {3}", index_name(w.index), expr_.text(w.value),
                           expr_.text(i.begin, 6), expr_.text(i.end, 6));
      });
  codegen::Statement result = block(fmt::format("if ({})", condition), statements(i.body));
  result.otherwise = statements(i.otherwise);
  return {std::move(result)};
}

std::string Printer::mine(const IsMine& m) {
  std::vector<std::string> parts;
  for (const IsMine::Member& member : m.members) {
    const std::string interval =
        member.dimension < 0 ? range_name(member.index) : fmt::format("t.out_box[{}]", member.dimension);
    parts.push_back(fmt::format("{0}.lo <= {1} && {1} < {0}.hi", interval, index_name(member.index)));
  }
  return fmt::format("{}", fmt::join(parts, " && "));
}

std::string Printer::fill(const Fill& f) {
  return fmt::format("rt::fill<{}>({}, {});", type_text(f.result), local_name(f.result), expr_.text(f.value));
}

}  // namespace tdsl::nest
