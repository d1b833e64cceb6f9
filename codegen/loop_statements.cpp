#include <algorithm>

#include "codegen/describe.h"
#include "codegen/host_values.h"
#include "codegen/loop_emitter.h"
#include "ir/check.h"
#include "ir/failure_text.h"

namespace tdsl::codegen {

namespace {

/// What a loop carries; its first argument is the index.
std::vector<ValueId> carried(const std::vector<ValueId>& arguments) { return {arguments.begin() + 1, arguments.end()}; }

/// The expression that is all the node computes, or null.
Expr only_expression(const ir::Node& n) {
  const auto* c = std::get_if<ir::Compute>(&n.op);
  const bool plain = c != nullptr && is_scalar_arithmetic(*c) && !c->guard && !c->base && c->bodies.size() == 1;
  return plain ? c->bodies[0] : Expr();
}

/// The expression the region consists of, or null.
Expr only_expression(const ir::Region& r) {
  const bool only = r.nodes.size() == 1 && r.nodes[0].results.size() == 1 && r.nodes[0].results[0] == r.yields[0];
  return only ? only_expression(r.nodes[0]) : Expr();
}

/// What `f` writes, one step deeper, instead of writing it.
template <class F>
std::string written(Writer& body, const F& f) {
  const std::size_t before = body.text().size();
  body.indent();
  f();
  body.outdent();
  return body.cut(before);
}

}  // namespace

void LoopEmitter::comment(const ir::SourceRange& range) {
  if (!range.known() || range.line == last_line_) return;
  last_line_ = range.line;
  body_.line("{}", request_.source_line(range));
}

void LoopEmitter::region(const ir::Region& r) {
  for (std::size_t k = 0; k < r.nodes.size(); ++k) {
    if (k + 1 < r.nodes.size() && is_condition_of(r.nodes[k], r.nodes[k + 1])) continue;
    node(r.nodes[k]);
  }
}

bool LoopEmitter::is_condition_of(const ir::Node& n, const ir::Node& next) {
  const auto* i = std::get_if<ir::If>(&next.op);
  const Expr condition = only_expression(n);
  if (i == nullptr || !condition || n.results[0] != i->condition || uses_[i->condition] != 1) return false;
  comment(n.range);
  inlined_[i->condition] = expressions().text(spelled(condition));
  return true;
}

void LoopEmitter::node(const ir::Node& n) {
  if (const auto* c = std::get_if<ir::Compute>(&n.op)) return compute(n, *c);
  comment(n.range);
  if (const auto* f = std::get_if<ir::For>(&n.op)) return for_loop(n, *f);
  if (const auto* w = std::get_if<ir::While>(&n.op)) return while_loop(n, *w);
  if (const auto* i = std::get_if<ir::If>(&n.op)) return branch(n, *i);
  if (const auto* a = std::get_if<ir::Assert>(&n.op)) return assertion(n, *a);
  if (const auto* c = std::get_if<ir::Check>(&n.op)) return check(n, *c);
  if (const auto* r = std::get_if<ir::Random>(&n.op)) return random(n, *r);
  TDSL_CHECK(false, "a serial loop holds work on scalars only");
}

void LoopEmitter::declare(ValueId v) {
  if (is_tensor(v) || !declared_.insert(variables_.variable(v)).second) return;
  body_.line("{} {}{{}};", type(v), name(v));
}

void LoopEmitter::assign(ValueId v, const std::string& value, bool changes) {
  if (is_tensor(v)) return body_.line("rt::copy({}, {});", name(v), value);
  const bool first = declared_.insert(variables_.variable(v)).second;
  if (first) {
    body_.line("{}{} {} = {};", variables_.is_shared(v) || changes ? "" : "const ", type(v), name(v), value);
  } else {
    body_.line("{} = {};", name(v), value);
  }
}

void LoopEmitter::assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& sources) {
  std::vector<std::pair<ValueId, ValueId>> moves;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (variables_.variable(targets[k]) != variables_.variable(sources[k])) moves.emplace_back(targets[k], sources[k]);
  }
  // What an earlier assignment overwrites is kept before all of them.
  std::vector<std::string> values;
  for (std::size_t k = 0; k < moves.size(); ++k) {
    const ValueId target = moves[k].first;
    const ValueId source = moves[k].second;
    values.push_back(text(source));
    const bool overwritten = std::any_of(moves.begin(), moves.begin() + static_cast<std::ptrdiff_t>(k), [&](const auto& earlier) {
      return variables_.variable(earlier.first) == variables_.variable(source);
    });
    if (!overwritten) continue;
    const std::string kept = table_.claim("next_" + name(target));
    is_tensor(target) ? body_.line("const auto {} = rt::copied({});", kept, values.back())
                      : body_.line("const {} {} = {};", type(target), kept, values.back());
    values.back() = kept;
  }
  for (std::size_t k = 0; k < moves.size(); ++k) assign(moves[k].first, values[k]);
}

void LoopEmitter::begin(const ir::Node& n, const std::vector<ValueId>& arguments, const std::vector<ValueId>& inits) {
  std::vector<ValueId> targets;
  std::vector<ValueId> sources;
  for (std::size_t k = 0; k < inits.size(); ++k) {
    if (&n == step_.loop.get() && is_tensor(inits[k])) continue;
    targets.push_back(arguments[k + 1]);
    sources.push_back(inits[k]);
  }
  assign_all(targets, sources);
}

void LoopEmitter::for_loop(const ir::Node& n, const ir::For& f) {
  begin(n, f.body.arguments, f.inits);
  const std::string i = name(f.body.arguments[0]);
  const std::string next = next_text(i, f.step);
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

void LoopEmitter::while_loop(const ir::Node& n, const ir::While& w) {
  begin(n, w.body.arguments, w.inits);
  const ValueId iteration = w.body.arguments[0];
  const bool counts = uses_[iteration] > 0;
  if (counts) body_.line("Index {} = 0;", name(iteration));
  const auto body = [&] {
    region(w.body);
    assign_all(carried(w.body.arguments), w.body.yields);
    if (counts) body_.line("++{};", name(iteration));
  };
  if (const Expr simple = only_expression(w.condition)) {
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

void LoopEmitter::count_uses() {
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

void LoopEmitter::branch(const ir::Node& n, const ir::If& i) {
  for (const ValueId v : n.results) declare(v);
  const std::string condition = text(i.condition);
  const auto side = [&](const ir::Region& r) {
    return written(body_, [&] {
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

void LoopEmitter::assertion(const ir::Node& n, const ir::Assert& a) {
  uses_file_ = true;
  body_.line("if (!({})) rt::stop(place({}), {});", text(a.condition), line(n.range), string_literal(ir::failure_text(a)));
}

void LoopEmitter::random(const ir::Node& n, const ir::Random& r) {
  draws_ = true;
  std::string iterations;
  for (const ValueId v : r.iterations) iterations += (iterations.empty() ? "" : ", ") + text(v);
  const char* kind = r.kind == ir::Random::Kind::kUniform ? "uniform" : "normal";
  assign(n.results[0], fmt::format("rt::draw_{}<{}>(seed, {}ULL, {{{}}})", kind, type(n.results[0]), r.site, iterations));
}

void LoopEmitter::check(const ir::Node& n, const ir::Check& c) {
  uses_file_ = true;
  ExprEmitter e = expressions();
  const std::string left = e.exact(c.left);
  const std::string right = e.exact(c.right);
  const std::string relation = c.relation == ir::Check::Relation::kEqual ? "==" : "<=";
  const std::string guard = c.guard ? text(*c.guard) + " && " : "";
  body_.line("if ({}!({} {} {})) rt::stop_sizes(place({}), {}, {}, {});", guard, left, relation, right, line(n.range),
             string_literal(c.message), left, right);
}

}  // namespace tdsl::codegen
