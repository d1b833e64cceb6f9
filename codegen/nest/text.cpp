#include "codegen/nest/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/text/print.h"

namespace tdsl::nest {

std::string_view name_of(RowProducts::Kind kind) {
  using Kind = RowProducts::Kind;
  switch (kind) {
    case Kind::kRows: return "rows";
    case Kind::kSums: return "sums";
    case Kind::kUpper: return "upper";
    case Kind::kDot: return "dot";
    case Kind::kScaled: return "scaled";
  }
  return "";
}

using ir::match;

namespace {

std::string value_text(ValueId v) { return fmt::format("%{}", v.id); }
std::string values_text(const std::vector<ValueId>& values) {
  std::string text;
  for (const ValueId v : values) text += (text.empty() ? "" : ", ") + value_text(v);
  return text;
}
std::string extent_text(const Extent& e) { return e.to_string(value_text); }

std::string range_text(const ir::SourceRange& r) {
  return r.known() ? fmt::format(" @{}:{}:{}-{}:{}", r.file, r.line, r.column, r.end_line, r.end_column) : "";
}

class TextPrinter {
 public:
  explicit TextPrinter(const Nest& nest) : nest_(nest), values_(values_of(nest)) {
    for (const Index& i : nest.indices) names_.push_back(i.name);
  }

  std::string run() {
    constexpr std::array kForms = {"nest", "function", "task", "rows"};
    line("{} {}{}", kForms[static_cast<std::size_t>(nest_.form)], ir::quoted(nest_.name), range_text(nest_.place));
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) variable(static_cast<int>(k), nest_.variables[k]);
    for (const Index& i : nest_.indices) {
      const bool ranges = i.of_task || !(i.begin == Extent(0)) || !(i.end == Extent(0));
      line("index {}{}{}", ir::quoted(i.name),
           ranges ? fmt::format(" {} {}..{}", i.of_task ? "in" : "of", extent_text(i.begin), extent_text(i.end)) : "",
           i.whole        ? " whole"
           : i.block >= 0 ? fmt::format(" block {}", i.block)
                          : "");
    }
    if (!nest_.fresh.empty()) block("fresh", nest_.fresh);
    block(nest_.only_hit ? "body hit" : "body", nest_.body);
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  void block(const std::string& head, const Body& body) {
    open(head, body);
    line("}}");
  }
  void open(const std::string& head, const Body& body) {
    line("{} {{", head);
    ++depth_;
    for (const Statement& s : body) statement(s);
    --depth_;
  }

  [[nodiscard]] std::string type_text(const ir::Type& type) const {
    std::vector<std::string> dimensions;
    for (std::size_t d = 0; d < type.shape.size(); ++d) {
      dimensions.push_back(std::string(ir::prefix_of(type.format.level(d))) + extent_text(type.shape[d]));
    }
    return fmt::format("{}{}", ir::name_of(type.scalar),
                       dimensions.empty() ? "" : fmt::format("[{}]", fmt::join(dimensions, ", ")));
  }

  [[nodiscard]] std::string bound_text(const Bound& b) const {
    return fmt::format("in {} {}{}", extent_text(b.extent), ir::quoted(b.what), range_text(b.place));
  }

  void variable(int k, const Variable& v) {
    std::string tail;
    if (v.role == Variable::Role::kCapture) tail = v.size ? "capture size" : "capture";
    if (v.turn != Variable::Turn::kNone) tail += v.turn == Variable::Turn::kFew ? " few" : " most";
    if (v.role == Variable::Role::kParameter) tail = "parameter";
    if (v.role == Variable::Role::kLocal) tail = v.resized ? "local resized" : "local";
    if (v.role == Variable::Role::kPosition) tail = "position";
    if (v.role == Variable::Role::kView) {
      tail = fmt::format("view of {}", value_text(v.of.value_or(ValueId{})));
      for (const Bound& b : v.bounds) tail += fmt::format(" check {} {}", b.dimension, bound_text(b));
    }
    if (v.role == Variable::Role::kOperand) {
      tail = fmt::format("operand {}", v.number);
      for (const Bound& b : v.bounds) tail += fmt::format(" check {} {}", b.dimension, bound_text(b));
    }
    if (v.role == Variable::Role::kResult) {
      tail = nest_.form == Form::kTask ? fmt::format("result {}", v.number) : "result";
      if (v.continued) tail += " continued";
      if (v.assembled) tail += " assembled";
      if (v.place) tail += fmt::format(" at [{}]", extent_text(*v.place));
      std::vector<std::string> origin;
      for (const Extent& e : v.origin) origin.push_back(extent_text(e));
      if (!origin.empty()) tail += fmt::format(" from [{}]", fmt::join(origin, ", "));
    }
    line("%{}:{} {} {}", k, type_text(v.type), ir::quoted(v.name), tail);
  }

  [[nodiscard]] std::string text(const Expr& e) const { return ir::print(values_, e, names_); }
  [[nodiscard]] std::string text(const Place& p) const {
    std::vector<std::string> subscripts;
    for (const Expr& s : p.subscripts) subscripts.push_back(text(s));
    return value_text(p.variable) + (subscripts.empty() ? "" : fmt::format("[{}]", fmt::join(subscripts, ", ")));
  }
  [[nodiscard]] std::string text(const ir::Monoid& m) const {
    if (m.kind != ir::Monoid::Kind::kUser) return std::string(ir::name_of(m.kind));
    return fmt::format("user({}, {}, {})", ir::quoted(m.name), text(m.identity), text(m.combine));
  }
  [[nodiscard]] static std::string text(const TaskRange& r) { return "task" + bounds(r); }
  [[nodiscard]] static std::string bounds(const TaskRange& r) {
    return fmt::format("{}{}", r.begin ? " from " + value_text(*r.begin) : "",
                       r.end ? " to " + value_text(*r.end) : "");
  }
  [[nodiscard]] static std::string text(const Range& r) {
    return fmt::format("{}..{}", extent_text(r.begin), extent_text(r.end));
  }
  [[nodiscard]] std::string text(const Fibre& f) const {
    std::string outer;
    for (const int k : f.outer) outer += index(k) + ", ";
    return fmt::format("{}[{}*]", value_text(f.operand), outer);
  }
  [[nodiscard]] std::string text(const Walk& w) const {
    return match(
        w, [](const TaskRange& r) { return "over " + text(r); }, [](const Range& r) { return "in " + text(r); },
        [this](const Stored& s) {
          std::string fibres, ahead;
          for (const Fibre& fibre : s.fibres)
            fibres += (fibres.empty() ? std::string() : fmt::format(" {} ", name_of(s.merge))) + text(fibre);
          for (const Place& p : s.ahead) ahead += " ahead " + text(p);
          for (const ValueId v : s.sums) ahead += " sums " + value_text(v);
          const std::string by = s.by == ir::ByValue::kNone ? "" : fmt::format(" by {}", ir::name_of(s.by));
          return fmt::format("over stored {}{}{}{}", fibres, by, bounds(s.within), ahead);
        },
        [](const Blocks& b) {
          return fmt::format("over blocks of {}{}{}", extent_text(b.bytes), b.products ? " products" : "",
                             b.codes ? " codes " + value_text(*b.codes) : "");
        });
  }
  [[nodiscard]] std::string text(const Parts& p) const {
    std::string result;
    for (const Side& side : p.sides)
      result += fmt::format(" side {} {}", value_text(side.local),
                            side.until ? "until " + text(side.until) : "if " + text(side.condition));
    if (!p.inside) return result;
    result += " inside " + value_text(*p.inside);
    for (const Expr& e : p.from) result += " from " + text(e);
    for (const Expr& e : p.to) result += " to " + text(e);
    return result + (p.where ? " where " + text(p.where) : "");
  }
  [[nodiscard]] std::string text(const Let& l) const {
    return fmt::format("let {} = {}", value_text(l.local), text(l.value));
  }
  [[nodiscard]] std::string index(int k) const { return text(ir::index_ref(k)); }
  [[nodiscard]] std::string indices(const std::vector<int>& list) const {
    std::vector<std::string> names;
    for (const int k : list) names.push_back(index(k));
    return fmt::format("[{}]", fmt::join(names, ", "));
  }

  void statement(const Statement& s) {
    if (s.place.known()) line("{}", range_text(s.place).substr(1));
    match(
        s.op,
        [&](const For& f) {
          block(fmt::format("for {} {}{}{}", index(f.index), text(f.over), f.order == Order::kSimd ? " simd" : "",
                            f.parts ? text(*f.parts) : ""),
                f.body);
        },
        [&](const Let& l) { line("{}", text(l)); },
        [&](const Start& l) {
          line("start {} from {}{}", value_text(l.local), text(l.from), l.fresh ? " fresh " + text(l.fresh) : "");
        },
        [&](const Narrow& n) {
          line("narrow {} = {} of {} over {} by {}{}{}", value_text(n.local), n.begins ? "begin" : "end",
               index(n.index), text(n.within), text(n.value), n.past ? " past" : "", n.safe ? "" : " unsafe");
        },
        [&](const Check& c) { line("check {} = {} {}", index(c.index), text(c.value), bound_text(c.bound)); },
        [&](const Store& w) { line("{} = {}", text(w.to), text(w.value)); },
        [&](const Update& u) { line("{} combine {} = {}", text(u.to), text(u.with), text(u.value)); },
        [&](const If& i) { branch(i); },
        [&](const LineReduction& l) {
          line("lanes {} {} along {} over {}{} {{", ir::name_of(l.kind), value_text(l.local), index(l.index),
               text(l.over), l.parts ? text(*l.parts) : "");
          using Mask = LineReduction::Mask;
          const std::string_view how = l.masks == Mask::kOnly ? "only " : l.masks == Mask::kFirst ? "first " : "";
          if (l.mask) line("  {}where {}", how, text(l.mask));
          lines(l.lets, "");
          line("  yield {}", text(l.value));
          line("}}");
        },
        [&](const BlockedReduction& b) { blocked(b); },
        [&](const Fill& f) { line("fill {} {}", value_text(f.result), text(f.value)); },
        [&](const Var& v) { line("var {}{}", value_text(v.local), v.value ? " = " + text(v.value) : ""); },
        [&](const Count& c) {
          block(fmt::format("count {} from {} to {} by {}", value_text(c.local), text(c.begin), text(c.end), c.step),
                c.body);
        },
        [&](const While& w) {
          if (!w.before.empty()) open("repeat", w.before);
          block(fmt::format("{}while {}", w.before.empty() ? "" : "} ", text(w.condition)), w.body);
        },
        [&](const Require& r) { line("require {} {}", text(r.condition), ir::quoted(r.message)); },
        [&](const Return& r) { line("return {}", text(r.value)); },
        [&](const Copy& c) { line("copy {} to {}", value_text(c.from), value_text(c.to)); },
        [&](const Keep& k) { line("keep {} = {}", value_text(k.local), value_text(k.from)); },
        [&](const Resize& r) { line("resize {}", value_text(r.local)); },
        [&](const CheckLine& c) {
          line("inside {} step {} count {} of {} dimension {} {}", extent_text(c.first), c.step, extent_text(c.count),
               value_text(c.tensor), c.bound.dimension, bound_text(c.bound));
        },
        [&](const RowReduction& r) {
          const std::string over = match(
              r.over, [](const Range& range) { return "in " + text(range); },
              [](const TaskRange& range) { return "over " + text(range); });
          line("lines {}{} {} along {} {} {{", ir::name_of(r.kind), r.dot ? " dot" : "", value_text(r.local),
               index(r.index), over);
          lines(r.lets, "");
          line("  yield {}", text(r.value));
          line("}}");
        },
        [&](const AddProducts& p) {
          line("products {} along {} in {} line {} in {} {{", text(p.to), index(p.index), text(p.over), index(p.along),
               text(p.line));
          line("  scale {}", text(p.scale));
          line("  yield {}", text(p.value));
          line("}}");
        },
        [&](const Locate& l) {
          line("locate {} {} of {}", ir::name_of(l.kind), value_text(l.local), ir::name_of(l.of));
        },
        [&](const Offer& o) { line("offer {} {} at {}", value_text(o.local), text(o.value), index(o.index)); },
        [&](const Draw& d) {
          std::vector<std::string> iterations;
          for (const Expr& e : d.iterations) iterations.push_back(text(e));
          line("draw {} {} {} [{}]", value_text(d.local), d.kind == ir::Random::Kind::kUniform ? "uniform" : "normal",
               d.site, fmt::join(iterations, ", "));
        },
        [&](const RequireSizes& r) {
          line("sizes {} {} {}{} {}", extent_text(r.left),
               r.relation == ir::Check::Relation::kEqual ? "equal" : "atmost", extent_text(r.right),
               r.guard ? " where " + text(r.guard) : "", ir::quoted(r.message));
        },
        [&](const SmallRoutine& r) {
          line("routine {}{} [{}] to [{}]", ir::name_of(r.kind),
               r.solves == ir::Routine::SolveKind::kGeneral ? "" : fmt::format(" {}", name_of(r.solves)),
               values_text(r.operands), values_text(r.results));
        },
        [&](const RowProducts& p) {
          line("multiply {} {} by {} with {}{} block {} over {}", name_of(p.kind), text(p.to), text(p.x), text(p.y),
               p.transposed ? " transposed" : "", p.block, indices(p.along));
        },
        [&](const FillRows& f) { line("clear {} block {} {}", text(f.to), f.block, text(f.value)); },
        [&](const Mirror& m) { line("mirror {} over {}", value_text(m.to), index(m.along)); });
  }

  void lines(const std::vector<Let>& lets, std::string_view head) {
    for (const Let& l : lets) line("  {}{}", head, text(l));
  }

  void branch(const If& i) {
    open("if " + match(
                     i.condition, [&](const Expr& e) { return text(e); },
                     [&](const HasPoints& p) { return "points " + indices(p.indices); },
                     [&](const IsMine& m) {
                       std::vector<std::string> members;
                       for (const IsMine::Member& member : m.members)
                         members.push_back(index(member.index) +
                                           (member.dimension < 0 ? "" : fmt::format(" of {}", member.dimension)));
                       return fmt::format("mine [{}]", fmt::join(members, ", "));
                     },
                     [](const Nonempty& n) {
                       std::vector<std::string> ranges;
                       for (const Range& r : n.ranges) ranges.push_back(text(r));
                       return fmt::format("nonempty [{}]", fmt::join(ranges, ", "));
                     },
                     [&](const Within& w) { return fmt::format("within {} = {}", index(w.index), text(w.value)); }),
         i.body);
    if (!i.otherwise.empty()) open("} else", i.otherwise);
    line("}}");
  }

  void blocked(const BlockedReduction& b) {
    line("blocked {} {} rows {} columns {} along {}{} {{", text(b.with), text(b.to), index(b.row), index(b.column),
         indices(b.along), b.numbers ? " numbers" : "");
    if (b.points) line("  at {}", text(b.points));
    lines(b.x, "x ");
    lines(b.y, "y ");
    if (b.guard) line("  where {}", text(b.guard));
    line("  yield {}", text(b.value));
    line("}}");
  }

  const Nest& nest_;
  ir::Program values_;
  std::vector<std::string> names_;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace

ir::Program values_of(const Nest& nest) {
  ir::Program program;
  program.name = nest.name;
  for (const Variable& v : nest.variables) {
    ir::ValueInfo info;
    info.name = v.name;
    info.type = v.type;
    program.values.push_back(std::move(info));
  }
  return program;
}

std::string print(const Nest& nest) { return TextPrinter(nest).run(); }

}  // namespace tdsl::nest
