#include "codegen/emit_loop.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/affine.h"
#include "codegen/compute_lowering.h"
#include "codegen/describe.h"
#include "codegen/emit_expr.h"
#include "codegen/host_values.h"
#include "codegen/loop_bounds.h"
#include "codegen/names.h"
#include "codegen/writer.h"
#include "ir/check.h"
#include "ir/loop_variables.h"

namespace tdsl::codegen {

namespace {

using ir::match;
using ir::Monoid;

class LoopEmitter {
 public:
  explicit LoopEmitter(const LoopRequest& request)
      : request_(request), step_(request.step), program_(request.program), values_(values_of(request.program)),
        variables_(values_, *request.step.loop), bounds_(*request.step.loop, request.step.sizes), last_line_(request.place.line) {
    for (const auto& [outside, here] : step_.outer) {
      const auto size = step_.sizes.find(outside);
      const bool written_out = size != step_.sizes.end() && size->second.constant();
      if (program_.is_host(here) && !written_out) static_cast<void>(table_.claim(request_.value_name(here)));
    }
  }

  EmittedLoop run() {
    count_uses();
    body_.indent();
    outermost();
    Writer w;
    w.indent();
    for (std::size_t k = 0; k < step_.reads.size(); ++k) operand(w, k);
    outputs(w);
    w.raw(body_.text());
    std::string signature = fmt::format("void {}(const rt::TaskArgs& t", request_.name);
    for (const ValueId v : captures_) signature += fmt::format(", {} {}", type(v), request_.value_name(v));
    return {fmt::format("{}) {{\n{}}}\n", signature, w.text()), captures_, checks_, uses_file_};
  }

 private:
  static ir::Program values_of(const FamilyProgram& program) {
    ir::Program p;
    p.values = program.values;
    return p;
  }

  // --- Names

  [[nodiscard]] std::string_view type(ValueId v) const { return cpp_type(program_.type(v).scalar); }
  [[nodiscard]] bool is_tensor(ValueId v) const { return program_.type(v).rank() > 0; }

  /// The variable of a value of the loop, which is named like the first of its values that has a name.
  std::string name(ValueId v) {
    const ValueId variable = variables_.variable(v);
    const auto found = names_.find(variable);
    if (found != names_.end()) return found->second;
    const std::string& own = program_.info(variable).name;
    return names_[variable] = table_.claim(own.empty() ? name_of(program_, v) : name_of(program_, variable));
  }

  /// A value from outside: captured, or read from an operand.
  std::string outer(ValueId v) {
    const ValueId here = step_.outer.at(v);
    if (!program_.is_host(here)) {
      const auto found = operands_.find(here);
      return found != operands_.end() ? found->second : operands_[here] = table_.claim(name_of(program_, here));
    }
    if (std::ranges::find(captures_, here) == captures_.end()) captures_.push_back(here);
    return request_.value_name(here);
  }

  /// A scalar where it is used.
  std::string text(ValueId v) {
    if (const auto found = inlined_.find(v); found != inlined_.end()) return found->second;
    if (const auto known = constant_of(v)) return known->type == ir::Scalar::kI64 ? expressions().subscript(known) : expressions().text(known);
    return variables_.is_inside(v) ? name(v) : outer(v);
  }

  /// The constant that the value is, or null.
  [[nodiscard]] ir::Expr constant_of(ValueId v) const {
    if (const auto found = constants_.find(v); found != constants_.end()) return found->second;
    const auto size = step_.sizes.find(v);
    const auto number = size == step_.sizes.end() ? std::nullopt : size->second.constant();
    return number ? ir::constant_i64(*number) : ir::Expr();
  }

  /// With constants where their values are read.
  [[nodiscard]] ir::Expr spelled(const ir::Expr& e) const {
    return ir::rewrite(e, [this](const ir::Expr& n) {
      const auto* r = std::get_if<ir::Read>(&n->op);
      const ir::Expr known = r != nullptr && r->subscripts.empty() ? constant_of(r->tensor) : ir::Expr();
      return known ? known : n;
    });
  }

  std::string line(const ir::SourceRange& place) { return place_text(place.known() ? place : request_.place); }

  // --- Expressions

  ExprEmitter expressions(std::vector<std::string> labels = {}) {
    return ExprEmitter(
        std::move(labels), [this](ValueId v) { return text(v); },
        [this](const ir::ExprNode& n, const std::vector<std::string>& s) { return element(n, s); },
        [this](const ir::SourceRange& place) {
          uses_file_ = true;
          return fmt::format("rt::StopAt{{place, {}}}", line(place));
        });
  }

  std::string element(const ir::ExprNode& node, const std::vector<std::string>& subscripts) {
    const auto& r = std::get<ir::Read>(node.op);
    if (r.subscripts.empty()) return text(r.tensor);
    return place_of(r.tensor, r.subscripts, subscripts, node.range);
  }

  /// `L(i + 1, inside(j, …))`
  std::string place_of(ValueId tensor, const std::vector<Expr>& subscripts, const std::vector<std::string>& texts, const ir::SourceRange& range) {
    const std::string view = text(tensor);
    std::string list;
    for (std::size_t d = 0; d < texts.size(); ++d) {
      std::string s = texts[d];
      if (!bounds_.inside(subscripts[d], program_.type(tensor).shape[d])) {
        checks_ = uses_file_ = true;
        s = fmt::format("inside({}, {}.extent[{}], {}, {})", s, view, d, line(range),
                        quoted(describe(program_, subscripts[d], label_names_) + "' of '" + name_of(program_, tensor)));
      }
      list += (d == 0 ? "" : ", ") + s;
    }
    return fmt::format("{}({})", view, list);
  }

  // --- Operands and results

  void operand(Writer& w, std::size_t k) {
    const AccessTemplate& access = step_.reads[k];
    const bool continued = std::ranges::any_of(step_.results, [&](const LoopStep::Result& r) { return r.continues == static_cast<int>(k); });
    const auto used = operands_.find(access.tensor);
    if (continued || used == operands_.end()) return;
    if (access.dims.empty()) {
      w.line("const {} {} = t.in<{}, 0>({})();", type(access.tensor), used->second, type(access.tensor), k);
    } else {
      w.line("const auto {} = rt::elements_in<{}, {}>(t, {});", used->second, type(access.tensor), access.dims.size(), k);
    }
  }

  void outputs(Writer& w) {
    for (std::size_t k = 0; k < step_.results.size(); ++k) {
      const LoopStep::Result& r = step_.results[k];
      if (r.continues < 0) continue;
      const auto found = names_.find(variables_.variable(r.target));
      if (found == names_.end()) continue;  // carried, but never touched
      w.line("const auto {} = rt::elements_out<{}, {}>(t, {});", found->second, type(r.target), program_.type(r.target).rank(), k);
    }
  }

  void outermost() {
    node(*step_.loop);
    const ir::Node& loop = *step_.loop;
    for (std::size_t k = 0; k < step_.results.size(); ++k) {
      const LoopStep::Result& r = step_.results[k];
      if (r.continues < 0) body_.line("t.out<{}, 0>({})() = {};", type(r.target), k, text(loop.results[static_cast<std::size_t>(r.carried)]));
    }
  }

  // --- Statements

  void comment(const ir::SourceRange& range) {
    if (!range.known() || range.line == last_line_) return;
    last_line_ = range.line;
    body_.line("{}", request_.source_line(range));
  }

  void region(const ir::Region& r) {
    for (std::size_t k = 0; k < r.nodes.size(); ++k) {
      if (k + 1 < r.nodes.size() && is_condition_of(r.nodes[k], r.nodes[k + 1])) continue;
      node(r.nodes[k]);
    }
  }

  /// A condition that only the branch after it mentions is written there.
  bool is_condition_of(const ir::Node& n, const ir::Node& next) {
    const auto* i = std::get_if<ir::If>(&next.op);
    const ir::Expr condition = only_expression(n);
    if (i == nullptr || !condition || n.results[0] != i->condition || uses_[i->condition] != 1) return false;
    comment(n.range);
    inlined_[i->condition] = expressions().text(spelled(condition));
    return true;
  }

  void node(const ir::Node& n) {
    if (const auto* c = std::get_if<ir::Compute>(&n.op)) return compute(n, *c);
    comment(n.range);
    if (const auto* f = std::get_if<ir::For>(&n.op)) return for_loop(n, *f);
    if (const auto* w = std::get_if<ir::While>(&n.op)) return while_loop(n, *w);
    if (const auto* i = std::get_if<ir::If>(&n.op)) return branch(n, *i);
    if (const auto* a = std::get_if<ir::Assert>(&n.op)) return assertion(n, *a);
    if (const auto* c = std::get_if<ir::Check>(&n.op)) return check(n, *c);
    TDSL_CHECK(false, "a serial loop holds work on scalars only");
  }

  /// Gives a variable that several values share its place, unless it has one.
  void declare(ValueId v) {
    if (is_tensor(v) || !declared_.insert(variables_.variable(v)).second) return;
    body_.line("{} {}{{}};", type(v), name(v));
  }

  void assign(ValueId v, const std::string& value) {
    const bool first = declared_.insert(variables_.variable(v)).second;
    if (first) {
      body_.line("{}{} {} = {};", variables_.is_shared(v) ? "" : "const ", type(v), name(v), value);
    } else {
      body_.line("{} = {};", name(v), value);
    }
  }

  /// `targets = sources`, all at once; what is one variable already needs nothing.
  void assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& sources) {
    std::vector<std::pair<ValueId, ValueId>> moves;
    for (std::size_t k = 0; k < targets.size(); ++k) {
      if (!is_tensor(targets[k]) && variables_.variable(targets[k]) != variables_.variable(sources[k])) moves.emplace_back(targets[k], sources[k]);
    }
    // What an earlier assignment overwrites is kept before all of them.
    std::vector<std::string> values;
    for (std::size_t k = 0; k < moves.size(); ++k) {
      const auto& [target, source] = moves[k];
      values.push_back(text(source));
      const bool overwritten = std::any_of(moves.begin(), moves.begin() + static_cast<std::ptrdiff_t>(k), [&](const auto& earlier) {
        return variables_.variable(earlier.first) == variables_.variable(source);
      });
      if (!overwritten) continue;
      const std::string kept = table_.claim("next_" + name(target));
      body_.line("const {} {} = {};", type(target), kept, values.back());
      values.back() = kept;
    }
    for (std::size_t k = 0; k < moves.size(); ++k) assign(moves[k].first, values[k]);
  }

  void for_loop(const ir::Node& n, const ir::For& f) {
    assign_all(carried(f.body.arguments), f.inits);
    const std::string i = name(f.body.arguments[0]);
    const std::string next = f.step == 1 ? "++" + i : f.step == -1 ? "--" + i : fmt::format("{} {} {}", i, f.step > 0 ? "+=" : "-=", std::abs(f.step));
    const std::string begin = text(f.begin);
    const std::string end = text(f.end);
    body_.block(fmt::format("for (Index {0} = {1}; {0} {2} {3}; {4})", i, begin, f.step > 0 ? "<" : ">", end, next), [&] {
      bounds_.enter(f);
      region(f.body);
      assign_all(carried(f.body.arguments), f.body.yields);
      bounds_.leave();
    });
    last_line_ = n.range.line;
  }

  static std::vector<ValueId> carried(const std::vector<ValueId>& arguments) { return {arguments.begin() + 1, arguments.end()}; }

  void while_loop(const ir::Node& n, const ir::While& w) {
    assign_all(carried(w.body.arguments), w.inits);
    const ValueId iteration = w.body.arguments[0];
    const bool counts = uses_[iteration] > 0;
    if (counts) body_.line("Index {} = 0;", name(iteration));
    const auto body = [&] {
      region(w.body);
      assign_all(carried(w.body.arguments), w.body.yields);
      if (counts) body_.line("++{};", name(iteration));
    };
    if (const ir::Expr simple = only_expression(w.condition)) {
      body_.block(fmt::format("while ({})", expressions().text(spelled(simple))), body);
    } else {
      body_.block("while (true)", [&] {
        region(w.condition);
        body_.line("if (!({})) break;", text(w.condition.yields[0]));
        body();
      });
    }
    last_line_ = n.range.line;
  }

  /// The expression the region consists of, or null.
  static ir::Expr only_expression(const ir::Region& r) {
    const bool only = r.nodes.size() == 1 && r.nodes[0].results.size() == 1 && r.nodes[0].results[0] == r.yields[0];
    return only ? only_expression(r.nodes[0]) : ir::Expr();
  }
  static ir::Expr only_expression(const ir::Node& n) {
    const auto* c = std::get_if<ir::Compute>(&n.op);
    const bool plain = c != nullptr && is_scalar_arithmetic(*c) && !c->guard && !c->base && c->bodies.size() == 1;
    return plain ? c->bodies[0] : ir::Expr();
  }

  void count_uses() {
    const auto count = [this](const std::vector<ValueId>& list) {
      for (const ValueId v : list) ++uses_[v];
    };
    const auto node = [&](const ir::Node& n) {
      count(ir::operands_of(values_, n));
      if (const auto* f = std::get_if<ir::For>(&n.op)) count(f->body.yields);
      if (const auto* w = std::get_if<ir::While>(&n.op)) count(w->body.yields), count(w->condition.yields);
      if (const auto* i = std::get_if<ir::If>(&n.op)) count(i->then_region.yields), count(i->else_region.yields);
    };
    node(*step_.loop);
    if (const auto* f = std::get_if<ir::For>(&step_.loop->op)) ir::for_each_node(f->body, node);
    if (const auto* w = std::get_if<ir::While>(&step_.loop->op)) ir::for_each_node(w->condition, node), ir::for_each_node(w->body, node);
  }

  void branch(const ir::Node& n, const ir::If& i) {
    for (const ValueId v : n.results) declare(v);
    const std::string condition = text(i.condition);
    const auto side = [&](const ir::Region& r) {
      return written([&] {
        region(r);
        assign_all(n.results, r.yields);
      });
    };
    std::string then_text = side(i.then_region);
    const std::string else_text = side(i.else_region);
    if (then_text.empty() && else_text.empty()) return;
    if (then_text.empty()) {
      body_.line("if (!({})) {{", condition);
      body_.raw(else_text);
    } else {
      body_.line("if ({}) {{", condition);
      body_.raw(then_text);
      if (!else_text.empty()) {
        body_.line("}} else {{");
        body_.raw(else_text);
      }
    }
    body_.line("}}");
    last_line_ = n.range.line;
  }

  /// What `f` writes, one step deeper, instead of writing it.
  template <class F>
  std::string written(const F& f) {
    const std::size_t before = body_.text().size();
    body_.indent();
    f();
    body_.outdent();
    return body_.cut(before);
  }

  void assertion(const ir::Node& n, const ir::Assert& a) {
    uses_file_ = true;
    body_.line("if (!({})) rt::stop(place({}), {});", text(a.condition), line(n.range), quoted("assertion failed: " + a.message));
  }

  void check(const ir::Node& n, const ir::Check& c) {
    uses_file_ = true;
    ExprEmitter e = expressions();
    const std::string left = e.text(c.left, 6);
    const std::string right = e.text(c.right, 6);
    const std::string relation = c.relation == ir::Check::Relation::kEqual ? "!=" : ">";
    const std::string guard = c.guard ? text(*c.guard) + " && " : "";
    body_.line("if ({}{} {} {}) rt::stop_sizes(place({}), {}, {}, {});", guard, left, relation, right, line(n.range),
               quoted(c.message), left, right);
  }

  // --- Computes

  void compute(const ir::Node& n, const ir::Compute& c) {
    if (constant(n, c)) return;
    comment(n.range);
    for (std::size_t k = 0; k < n.results.size(); ++k) is_tensor(n.results[k]) ? update(n, c) : scalar(n, c, k);
  }

  /// Constants are written where they are used.
  bool constant(const ir::Node& n, const ir::Compute& c) {
    if (!is_scalar_arithmetic(c) || c.guard || c.base || n.results.size() != 1 || variables_.is_shared(n.results[0])) return false;
    const auto* value = std::get_if<ir::Constant>(&c.bodies[0]->op);
    if (value == nullptr) return false;
    constants_[n.results[0]] = c.bodies[0];
    return true;
  }

  /// Zero, `fill` or the identity: what a value is when nothing is computed.
  std::string untouched(const ir::Compute& c, ir::Scalar s) {
    if (c.base) return text(*c.base);
    if (c.fill) return expressions().text(c.fill);
    if (c.monoid && c.left.empty()) return expressions().text(ir::identity_of(*c.monoid, s));
    if (s == ir::Scalar::kBool) return "false";
    return ir::is_float(s) ? cpp_constant(s, 0.0) : cpp_constant(s, std::int64_t{0});
  }

  /// Whether the guard decides for each point of the reduction.
  static bool selects_points(const ir::Compute& c) { return c.guard && mentions_label(c.guard); }

  void scalar(const ir::Node& n, const ir::Compute& c, std::size_t k) {
    const ValueId v = n.results[k];
    const ir::Scalar s = program_.type(v).scalar;
    if (c.monoid && !c.guard && !c.combine && !variables_.is_shared(v) && !locates(*c.monoid)) {
      declared_.insert(v);
      reduction(c, k, name(v));
      return;
    }
    if (!c.guard && !c.combine) return assign(v, value(c, k).text);
    if (c.reduce.empty() && !c.combine) {
      ExprEmitter e = expressions();
      return assign(v, fmt::format("{} ? {} : {}", e.text(spelled(c.guard), 1), e.text(spelled(c.bodies[k]), 1), untouched(c, s)));
    }
    assign(v, untouched(c, s));
    const auto change = [&] {
      const Value x = value(c, k);
      const std::string condition = x.held.empty() ? "" : fmt::format("if ({}) ", x.held);
      body_.line("{}{}", condition, combined(c, name(v), x.text));
    };
    c.guard && !selects_points(c) ? body_.block(fmt::format("if ({})", expressions().text(spelled(c.guard))), change) : change();
  }

  /// `L(i, j) = value;`
  void update(const ir::Node& n, const ir::Compute& c) {
    const ValueId v = n.results[0];
    const auto change = [&] {
      const Value x = value(c, 0);
      std::vector<std::string> subscripts;
      ExprEmitter e = expressions();
      for (const Expr& left : c.left) subscripts.push_back(e.subscript(spelled(left)));
      const ir::SourceRange& place = c.left.empty() || !c.left[0]->range.known() ? n.range : c.left[0]->range;
      const std::string target = place_of(v, c.left, subscripts, place);
      const std::string condition = x.held.empty() ? "" : fmt::format("if ({}) ", x.held);
      body_.line("{}{}", condition, combined(c, target, x.text));
    };
    c.guard && !selects_points(c) ? body_.block(fmt::format("if ({})", expressions().text(spelled(c.guard))), change) : change();
  }

  /// `target = combine(target, value);`
  std::string combined(const ir::Compute& c, const std::string& target, const std::string& value) {
    return c.combine ? meeting(*c.combine, target, value) : fmt::format("{} = {};", target, value);
  }

  std::string meeting(const Monoid& m, const std::string& target, const std::string& value) {
    switch (m.kind) {
      case Monoid::Kind::kSum: return fmt::format("{0} = scalar::add({0}, {1});", target, value);
      case Monoid::Kind::kProd: return fmt::format("{0} = scalar::multiply({0}, {1});", target, value);
      case Monoid::Kind::kMin: return fmt::format("{0} = scalar::min({0}, {1});", target, value);
      case Monoid::Kind::kMax: return fmt::format("{0} = scalar::max({0}, {1});", target, value);
      case Monoid::Kind::kAny: return fmt::format("{0} = ({1}) || {0};", target, value);
      case Monoid::Kind::kAll: return fmt::format("{0} = ({1}) && {0};", target, value);
      case Monoid::Kind::kUser: {
        ExprEmitter e = expressions();
        e.set_arguments(target, "(" + value + ")");
        return fmt::format("{} = {};", target, e.text(m.combine));
      }
      case Monoid::Kind::kArgMin:
      case Monoid::Kind::kArgMax: break;
    }
    TDSL_CHECK(false, "positions do not meet in an element");
    return {};
  }

  /// A value as text; `held`: the condition under which there is one (a guard that may hold nowhere).
  struct Value {
    std::string text;
    std::string held;
  };

  Value value(const ir::Compute& c, std::size_t k) {
    if (c.reduce.empty()) return {expressions().text(spelled(c.bodies[k])), ""};
    return reduction(c, k, table_.claim(locates(*c.monoid) ? "best" : std::string(ir::name_of(c.monoid->kind))));
  }

  Value reduction(const ir::Compute& c, std::size_t k, const std::string& total) {
    const Monoid& m = *c.monoid;
    std::vector<std::string> labels;
    for (const ir::Label& l : c.reduce) labels.push_back(table_.claim(l.name.empty() ? "k" : l.name));
    label_names_.clear();
    for (const ir::Label& l : c.reduce) label_names_.push_back(l.name);
    ExprEmitter e = expressions(labels);
    bounds_.enter(c.reduce);
    const bool position = locates(m);
    const bool selects = selects_points(c);
    const std::string held = selects && (c.base || c.fill) ? table_.claim("held") : "";
    const bool user = m.kind == Monoid::Kind::kUser;
    const std::string started = user ? table_.claim("started") : "";
    if (position) {
      body_.line("rt::Best<{}> {}{{{}}};", cpp_type(c.bodies[k]->type), total, m.kind == Monoid::Kind::kArgMax ? "true" : "false");
    } else {
      body_.line("{} {} = {};", cpp_type(c.bodies[k]->type), total, e.text(ir::identity_of(m, c.bodies[k]->type)));
    }
    for (const std::string& flag : {held, started}) {
      if (!flag.empty()) body_.line("bool {} = false;", flag);
    }
    for (std::size_t l = 0; l < labels.size(); ++l) {
      body_.line("for (Index {0} = {1}; {0} < {2}; ++{0}) {{", labels[l], e.text(c.reduce[l].begin), e.text(c.reduce[l].end));
      body_.indent();
    }
    if (selects) {
      body_.line("if ({}) {{", e.text(spelled(c.guard)));
      body_.indent();
    }
    if (!held.empty()) body_.line("{} = true;", held);
    const std::string x = e.text(spelled(c.bodies[k]));
    if (position) {
      body_.line("{}.add({}, {});", total, x, labels[0]);
    } else if (user) {
      body_.line("const {} next = {};", cpp_type(c.bodies[k]->type), x);
      body_.block(fmt::format("if ({})", started), [&] { body_.line("{}", meeting(m, total, "next")); }, "} else {");
      body_.line("  {} = next;", total);
      body_.line("}}");
      body_.line("{} = true;", started);
    } else {
      body_.line("{}", meeting(m, total, x));
    }
    for (std::size_t depth = labels.size() + (selects ? 1 : 0); depth > 0; --depth) {
      body_.outdent();
      body_.line("}}");
    }
    label_names_.clear();
    bounds_.leave(c.reduce);
    return {position ? total + ".position" : total, held};
  }

  const LoopRequest& request_;
  const LoopStep& step_;
  const FamilyProgram& program_;
  ir::Program values_;
  ir::LoopVariables variables_;
  LoopBounds bounds_;
  NameTable table_;
  Writer body_;
  std::map<ValueId, std::string> names_;      ///< of variables
  std::map<ValueId, std::string> operands_;   ///< of tensors and data scalars from outside
  std::map<ValueId, ir::Expr> constants_;
  std::map<ValueId, std::string> inlined_;    ///< conditions written where they are used
  std::set<ValueId> declared_;
  std::vector<ValueId> captures_;
  std::vector<std::string> label_names_;
  std::map<ValueId, int> uses_;               ///< mentions in the loop
  std::uint32_t last_line_;
  bool checks_ = false;
  bool uses_file_ = false;
};

}  // namespace

EmittedLoop emit_loop(const LoopRequest& request) { return LoopEmitter(request).run(); }

}  // namespace tdsl::codegen
