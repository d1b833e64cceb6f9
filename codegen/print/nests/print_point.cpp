#include <fmt/format.h>

#include <map>
#include <set>

#include "ir/graph/expr_build.h"

#include "codegen/print/nests/printer.h"

namespace tdsl::nest {

using codegen::cpp_type;
using Role = Variable::Role;

namespace {

/// True if the loop covers the whole interval of the task.
bool is_whole(const TaskRange& range) { return !range.begin && !range.end; }

/// The body inside loops over indices `next` and so on, in order. A vector loop sets `vectors`.
const Body* inside_loops(const Body& body, int& next, bool& vectors) {
  const For* f = body.size() == 1 ? std::get_if<For>(&body.front().op) : nullptr;
  if (f == nullptr) return &body;
  const auto* range = std::get_if<TaskRange>(&f->over);
  if (range == nullptr || f->index != next || f->parts || !is_whole(*range)) return nullptr;
  ++next;
  vectors = f->order == Order::kSimd;
  return inside_loops(f->body, next, vectors);
}

/// Separates leading lets from the single statement after them.
const Statement* behind_lets(const Body& body, std::vector<Let>& lets) {
  for (std::size_t k = 0; k + 1 < body.size(); ++k) {
    const auto* let = std::get_if<Let>(&body[k].op);
    if (let == nullptr) return nullptr;
    lets.push_back(*let);
  }
  return body.empty() ? nullptr : &body.back();
}

/// True if a point outside of the guard may contribute the identity. Not in float sums: -0.0 + 0.0 is 0.0.
bool may_be_guarded(const Update& u) {
  const bool adds = u.with.kind == ir::Monoid::Kind::kSum || u.with.kind == ir::Monoid::Kind::kProd;
  return !adds || !ir::is_float(u.value->type);
}

/// `if guard { total = … }`, or without the guard.
std::optional<Point> update_of(const Statement& s, Point p) {
  const Statement* last = &s;
  if (const auto* branch = std::get_if<If>(&s.op)) {
    const auto* guard = std::get_if<Expr>(&branch->condition);
    if (guard == nullptr || branch->body.size() != 1 || !branch->otherwise.empty() || !p.lets.empty())
      return std::nullopt;
    p.guard = *guard;
    last = &branch->body.front();
  }
  const auto* update = std::get_if<Update>(&last->op);
  if (update == nullptr || update->with.kind == ir::Monoid::Kind::kUser || (p.guard && !may_be_guarded(*update)))
    return std::nullopt;
  p.reduces = update->with;
  p.value = update->value;
  return p;
}

/// `total += …` inside further loops, or another reduction.
std::optional<Point> reduction_of(const Statement& s, int& next) {
  bool vectors = false;
  const Body one{s};
  const Body* inner = inside_loops(one, next, vectors);
  Point p;
  const Statement* last = inner == nullptr ? nullptr : behind_lets(*inner, p.lets);
  if (last == nullptr) return std::nullopt;
  const auto* line = std::get_if<LineReduction>(&last->op);
  if (line == nullptr) return update_of(*last, std::move(p));
  if (!p.lets.empty() || line->parts || line->mask || line->kind != ir::Monoid::Kind::kSum || line->index != next++ ||
      !is_whole(line->over))
    return std::nullopt;
  return Point{line->lets, nullptr, ir::Monoid{line->kind, {}, {}, {}}, {}, line->value, true};
}

std::optional<Point> point_of(const Nest& nest, int& next) {
  if (!nest.fresh.empty() || nest.only_hit) return std::nullopt;
  bool vectors = false;
  const Body* inner = inside_loops(nest.body, next, vectors);
  if (inner == nullptr || inner->empty()) return std::nullopt;
  const auto* start = std::get_if<Start>(&inner->front().op);
  if (start != nullptr) return start->fresh && inner->size() == 3 ? reduction_of((*inner)[1], next) : std::nullopt;
  Point p;
  const Statement* last = behind_lets(*inner, p.lets);
  p.store = last == nullptr ? nullptr : std::get_if<Store>(&last->op);
  if (p.store == nullptr) return std::nullopt;
  p.value = p.store->value;
  p.vectors = vectors;
  return p;
}

}  // namespace

std::optional<PrintedPoint> Printer::point(const Point& p) {
  std::string text;
  for (const Let& let : p.lets) text += let_text(let) + " ";
  std::string value = expr_.text(p.value, p.guard ? 1 : 0);
  if (p.guard)
    value = fmt::format("{} ? {} : {}", expr_.text(p.guard, 1), value,
                        expr_.text(ir::identity_of(*p.reduces, p.value->type), 1));
  text +=
      p.store == nullptr ? fmt::format("return {};", value) : fmt::format("{} = {};", place_text(p.store->to), value);
  if (printed_.needs.has(codegen::Helper::kInside) || expr_.reports_faults()) return std::nullopt;
  const ir::Type& type = result().type;
  std::string list =
      p.store == nullptr ? "" : fmt::format("Out<{}, {}> {}", cpp_type(type.scalar), type.rank(), out_name());
  for (const std::string& parameter : parameters_of(p)) list += (list.empty() ? "" : ", ") + parameter;
  printed_.vectors = p.vectors;
  PrintedPoint printed{finished(fmt::format("[]({}) {{ {} }}", list, text))};
  if (p.reduces) printed.reduces = p.reduces->kind;
  const auto* read = std::get_if<ir::Read>(&p.value->op);
  const bool captured = read != nullptr && nest_.variable(read->tensor).role == Role::kCapture;
  const bool everywhere = p.store != nullptr && p.lets.empty() &&
                          place_text(p.store->to) == fmt::format("{}({})", out_name(), fmt::join(expr_.labels(), ", "));
  if (everywhere && (captured || std::holds_alternative<ir::Constant>(p.value->op))) printed.constant = value;
  return printed;
}

std::vector<std::string> Printer::parameters_of(const Point& p) {
  std::set<int> used;
  const auto scan = [&](const Expr& e) { used.merge(ir::labels_in(e)); };
  for (const Let& let : p.lets) scan(let.value);
  scan(p.value);
  if (p.guard) scan(p.guard);
  if (p.store != nullptr) std::ranges::for_each(p.store->to.subscripts, scan);
  std::map<int, const Variable*> operands;
  for (const Variable& v : nest_.variables) {
    if (v.role == Role::kOperand) operands[v.number] = &v;
  }
  std::vector<std::string> list;
  for (const auto& [number, v] : operands) {
    const auto view = views_.find(number);
    list.push_back(fmt::format("In<{}, {}>{}", cpp_type(v->type.scalar), v->type.rank(),
                               view == views_.end() ? "" : " " + view->second));
  }
  for (std::size_t k = 0; k < nest_.indices.size(); ++k) {
    list.push_back(used.contains(static_cast<int>(k)) ? "Index " + index_name(static_cast<int>(k)) : "Index");
  }
  for (const ValueId v : printed_.captures) list.push_back(parameter(v));
  return list;
}

std::optional<PrintedPoint> print_point(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures) {
  int next = 0;
  std::optional<Point> p = point_of(nest, next);
  if (!p || next != static_cast<int>(nest.indices.size())) return std::nullopt;
  return Printer(nest, procedures).point(*p);
}

}  // namespace tdsl::nest
