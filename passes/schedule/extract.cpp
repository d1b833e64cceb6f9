#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "passes/loops/accumulations.h"
#include "passes/loops/aligned_labels.h"
#include "passes/loops/subscripts.h"
#include "passes/rewriting.h"
#include "passes/schedule/scop.h"

// Note [Versions and variables] The nest is in SSA form: an update defines a new version of a tensor. Versions that
// loops, branches and updates connect are one variable. The walk in program order verifies that every read is of the
// version that the variable holds at that point, so statements may be moved by the dependences between variables. A
// nest that exchanges variables, or needs an older version, is refused.

namespace tdsl::passes {

using namespace ir;

namespace {

/// The values that a nest defines, except loop indices, as classes of versions.
class Versions {
 public:
  explicit Versions(const Node& nest) {
    const For& loop = std::get<For>(nest.op);
    enter(nest);
    unite(nest, loop, true);
  }

  [[nodiscard]] bool inside(ValueId v) const { return parent_.contains(v); }
  [[nodiscard]] bool is_index(ValueId v) const { return indices_.contains(v); }
  [[nodiscard]] ValueId variable(ValueId v) const {
    for (auto found = parent_.find(v); found != parent_.end() && found->second != v; found = parent_.find(v))
      v = found->second;
    return v;
  }
  /// True if the value is the only version of its variable.
  [[nodiscard]] bool is_single(ValueId v) const { return variable(v) == v && !united_.contains(v); }

 private:
  void add(const std::vector<ValueId>& values) {
    for (const ValueId v : values) parent_.emplace(v, v);
  }

  void enter(const Node& node) {
    add(node.results);
    if (const auto* f = std::get_if<For>(&node.op)) {
      indices_.insert(f->body.arguments[0]);
      add({f->body.arguments.begin() + 1, f->body.arguments.end()});
    }
    for (const Region* r : regions_in(node)) {
      for (const Node& n : r->nodes) enter(n);
    }
  }

  void unite(ValueId a, ValueId b) {
    if (!inside(a) || !inside(b)) return;
    a = variable(a);
    b = variable(b);
    if (a == b) return;
    parent_[b] = a;
    united_.insert({a, b});
  }

  void unite(const Node& node, const For& f, bool outermost) {
    for (std::size_t k = 0; k < f.inits.size(); ++k) {
      const ValueId argument = f.body.arguments[k + 1];
      unite(argument, f.body.yields[k]);
      unite(argument, node.results[k]);
      if (!outermost) unite(argument, f.inits[k]);
    }
    unite(f.body);
  }

  void unite(const Region& region) {
    for (const Node& n : region.nodes) {
      if (const auto* c = std::get_if<Compute>(&n.op); c != nullptr && c->base) unite(*c->base, n.results[0]);
      if (const auto* f = std::get_if<For>(&n.op)) unite(n, *f, false);
      const auto* branch = std::get_if<If>(&n.op);
      if (branch == nullptr) continue;
      unite(branch->then_region);
      unite(branch->else_region);
      for (std::size_t k = 0; k < n.results.size(); ++k) {
        unite(n.results[k], branch->then_region.yields[k]);
        unite(n.results[k], branch->else_region.yields[k]);
      }
    }
  }

  std::map<ValueId, ValueId> parent_;
  std::set<ValueId> united_;
  std::set<ValueId> indices_;
};

/// True for expressions that may be computed where they are used instead of once before. The limits keep scalars that
/// use others twice from growing exponentially.
bool is_cheap_scalar(const Expr& e) {
  constexpr int kMostFloat = 8, kMostExact = 64;
  if (node_count(e) > (is_float(e->type) ? kMostFloat : kMostExact)) return false;
  const bool function = any_node(e, [](const ExprNode& n) {
    const auto* u = std::get_if<Unary>(&n.op);
    const auto* b = std::get_if<Binary>(&n.op);
    return (u != nullptr && is_library_function(u->op)) || (b != nullptr && is_library_function(b->op)) ||
           std::holds_alternative<Apply>(n.op);
  });
  return !function;
}

class Extractor {
 public:
  Extractor(const Program& program, const Node& nest, const std::function<bool(ValueId)>& used, NoScop& why)
      : program_(program), nest_(nest), versions_(nest), used_(used), why_(why) {}

  std::optional<Scop> run() {
    const For& loop = std::get<For>(nest_.op);
    for (std::size_t k = 0; k < loop.inits.size(); ++k) {
      const std::size_t a = array(nest_.results[k]);
      ScopArray& carried = scop_.arrays[a];
      if (carried.init) return refused(nest_.range, "variables are exchanged");
      carried.init = loop.inits[k];
      carried.result = nest_.results[k];
      carried.live = used_(nest_.results[k]);
      current_[carried.key] = loop.body.arguments[k + 1];
    }
    if (!body(nest_, loop)) return std::nullopt;
    if (scop_.statements.size() > kMostScopStatements || scop_.loops.size() > kMostScopLoops) {
      too_many(nest_.range);
      return std::nullopt;
    }
    for (const ScopArray& a : scop_.arrays) {
      if (a.type.has_sparse()) return refused(nest_.range, "it updates a tensor of a sparse type");
      if (a.spans.empty() && !has_fixed_shape(a.key))
        return refused(nest_.range, "a tensor of its body changes its shape");
    }
    return std::move(scop_);
  }

 private:
  std::optional<Scop> refused(const SourceRange& range, std::string reason) {
    refuse(range, std::move(reason));
    return std::nullopt;
  }
  bool refuse(const SourceRange& range, std::string reason) {
    if (why_.reason.empty()) why_ = {range, std::move(reason)};
    return false;
  }

  bool too_many(const SourceRange& range) {
    why_.limit = why_.reason.empty();
    return refuse(range, "it has too many statements or loops");
  }

  std::size_t array(ValueId version) {
    const ValueId key = versions_.variable(version);
    if (const auto found = scop_.array_of(key)) return *found;
    scop_.arrays.push_back({key, program_.type(key)});
    return scop_.arrays.size() - 1;
  }

  /// True if the extent is the same for the whole nest.
  [[nodiscard]] bool is_fixed(const Extent& e) const {
    return std::ranges::none_of(e.values(), [&](ValueId v) { return versions_.inside(v) || versions_.is_index(v); });
  }

  [[nodiscard]] bool has_fixed_shape(ValueId v) const {
    return std::ranges::all_of(program_.type(v).shape, [&](const Extent& e) { return is_fixed(e); });
  }

  // Expressions over keys, indices and values from outside.

  /// Sets `failed` if the expression reads an older version.
  [[nodiscard]] Expr placed(const Expr& e, bool& failed) const {
    if (!e) return e;
    return rewrite(e, [&](const Expr& x) -> Expr {
      const auto* r = std::get_if<Read>(&x->op);
      if (r == nullptr || !versions_.inside(r->tensor)) return x;
      if (const auto found = scalars_.find(r->tensor); found != scalars_.end()) return found->second;
      const ValueId key = versions_.variable(r->tensor);
      const auto holds = current_.find(key);
      failed = failed || holds == current_.end() || holds->second != r->tensor;
      return read(x->type, key, r->subscripts, x->range);
    });
  }

  /// Nothing if the extent depends on anything but indices and values from outside.
  [[nodiscard]] std::optional<Extent> placed(const Extent& e) const {
    bool failed = false;
    const auto result = substitute_if_small(e, [&](ValueId v) -> std::optional<Extent> {
      if (!versions_.inside(v)) return std::nullopt;
      const auto found = scalars_.find(v);
      const auto extent = found == scalars_.end() ? std::nullopt : extent_of(found->second);
      failed = failed || !extent;
      return extent;
    });
    return failed ? std::nullopt : result;
  }

  /// A scalar as an expression over indices and values from outside.
  [[nodiscard]] Expr scalar(ValueId v) const {
    if (const auto found = scalars_.find(v); found != scalars_.end()) return found->second;
    return versions_.inside(v) ? Expr() : read(program_.type(v).scalar, v, {});
  }

  // Nodes.

  bool region(const Region& r) {
    return std::ranges::all_of(r.nodes, [&](const Node& n) { return node(n); });
  }

  bool node(const Node& n) {
    if (scop_.statements.size() > kMostScopStatements) return too_many(n.range);
    if (const auto* c = std::get_if<Compute>(&n.op)) return compute(n, *c);
    if (const auto* f = std::get_if<For>(&n.op)) return loop(n, *f);
    if (const auto* i = std::get_if<If>(&n.op)) return branch(n, *i);
    const auto* check = std::get_if<Check>(&n.op);
    if (check != nullptr && check->may_move() && is_fixed(check->left) && is_fixed(check->right)) {
      scop_.hoisted.push_back(n);
      return true;
    }
    return refuse(n.range, "its body does more than store elements");
  }

  bool body(const Node& node, const For& f) {
    ScopLoop l{f.body.arguments[0], node.range, scalar(f.begin), scalar(f.end), f.step};
    if (!l.begin || !l.end) return refuse(node.range, "the range of a loop depends on data of an iteration");
    loops_.push_back(scop_.loops.size());
    scop_.loops.push_back(std::move(l));
    const auto before = current_;
    if (!region(f.body)) return false;
    loops_.pop_back();
    std::set<ValueId> carried;
    for (std::size_t k = 0; k < f.inits.size(); ++k) {
      const ValueId argument = f.body.arguments[k + 1];
      const ValueId key = versions_.variable(argument);
      if (!carried.insert(key).second || !holds(key, f.body.yields[k]))
        return refuse(node.range, "a variable takes the value of another one in each iteration");
    }
    for (const auto& [key, version] : before) {
      if (!carried.contains(key) && !holds(key, version))
        return refuse(node.range, "a variable is needed as it was before an iteration");
    }
    for (std::size_t k = 0; k < f.inits.size(); ++k) current_[versions_.variable(node.results[k])] = node.results[k];
    return true;
  }

  [[nodiscard]] bool holds(ValueId key, ValueId version) const {
    const auto found = current_.find(key);
    return found != current_.end() && found->second == version;
  }

  bool loop(const Node& node, const For& f) {
    for (std::size_t k = 0; k < f.inits.size(); ++k) {
      const ValueId argument = f.body.arguments[k + 1];
      const ValueId key = versions_.variable(argument);
      if (!versions_.inside(f.inits[k])) {
        if (!copy(node.range, f.inits[k], argument)) return false;
      } else if (!holds(key, f.inits[k])) {
        return refuse(node.range, "a variable is needed as it was before a loop");
      }
      current_[key] = argument;
    }
    return body(node, f);
  }

  bool branch(const Node& node, const If& b) {
    const Expr condition = read(Scalar::kBool, b.condition, {}, node.range);
    const Expr outer = guard_;
    const auto before = current_;
    std::map<ValueId, ValueId> changed;
    for (const bool then : {true, false}) {
      const Region& r = then ? b.then_region : b.else_region;
      guard_ = conjunction_of(outer, then ? condition : unary(UnaryOp::kNot, condition));
      if (!region(r)) return false;
      for (std::size_t k = 0; k < node.results.size(); ++k) {
        const ValueId key = versions_.variable(node.results[k]);
        if (!versions_.inside(r.yields[k])) {
          if (!copy(node.range, r.yields[k], node.results[k])) return false;
        } else if (!holds(key, r.yields[k])) {
          return refuse(node.range, "a branch yields an older version of a variable");
        }
      }
      for (const auto& [key, version] : current_) {
        const auto old = before.find(key);
        if (old != before.end() && old->second != version) changed[key] = version;
      }
      current_ = before;
    }
    guard_ = outer;
    // Variables that a branch changes and does not yield hold no version that may be read.
    for (const auto& [key, version] : changed) current_.erase(key);
    for (const ValueId v : node.results) current_[versions_.variable(v)] = v;
    return true;
  }

  bool compute(const Node& n, Compute c) {
    if (c.bodies.size() != 1 || n.results.size() != 1)
      return refuse(n.range, "its body holds a computation with several results");
    bool failed = false;
    rewrite_expressions(c, [&](const Expr& e) { return placed(e, failed); });
    for (auto* list : {&c.out, &c.reduce}) {
      for (Label& l : *list) {
        const auto begin = placed(l.begin);
        const auto end = placed(l.end);
        if (!begin || !end) return refuse(n.range, "the range of `" + l.name + "` depends on data of the iteration");
        l.begin = *begin;
        l.end = *end;
      }
    }
    if (failed) return refuse(n.range, "it needs an older version of a variable");
    if (!reads_inside(c)) return refuse(n.range, "a slice whose size changes may be read out of bounds");
    align_labels(c, [&](ValueId v) { return versions_.is_index(v); });
    const ValueId v = n.results[0];
    if (becomes_scalar(v, c)) {
      scalars_.emplace(v, c.bodies[0]);
      return true;
    }
    if (c.base && !versions_.inside(*c.base)) {
      if (!copy(n.range, *c.base, v)) return false;
    } else if (c.base && !holds(versions_.variable(*c.base), *c.base)) {
      return refuse(n.range, "an older version of a tensor is updated");
    }
    return store(n.range, v, std::move(c));
  }

  /// False if the Compute may read a tensor whose extents change outside of its bounds, which it will not have later.
  [[nodiscard]] bool reads_inside(const Compute& c) const {
    const std::vector<const Label*> labels = labels_of(c);
    bool all = true;
    for_each_read(c, [&](const Read& r) {
      const auto a = scop_.array_of(r.tensor);
      if (!a || scop_.arrays[*a].spans.empty()) return;
      Type type = scop_.arrays[*a].type;
      for (std::size_t d = 0; d < type.rank(); ++d)
        type.shape[d] = scop_.arrays[*a].spans[d].end - scop_.arrays[*a].spans[d].begin;
      const Subscripts subscripts(type, labels);
      for (std::size_t d = 0; d < type.rank(); ++d) all = all && subscripts.inside(r.subscripts[d], type.shape[d]);
    });
    return all;
  }

  /// True for a scalar that is substituted into its users. It must not read variables, which may change before its use.
  [[nodiscard]] bool becomes_scalar(ValueId v, const Compute& c) const {
    if (program_.type(v).rank() > 0 || !c.out.empty() || !is_elementwise(c) || !versions_.is_single(v)) return false;
    const Expr& e = c.bodies[0];
    const bool variables = any_read(e, [&](const Read& r) { return versions_.inside(r.tensor); });
    return !variables && is_cheap_scalar(e) && (extent_of(e) || !may_fail(e));
  }

  /// Stores a value from outside the nest into the variable of `version`.
  bool copy(const SourceRange& range, ValueId from, ValueId version) {
    Compute c;
    c.out = plain_labels(program_.type(from).shape);
    c.bodies.push_back(read(program_.type(from).scalar, from, plain_subscripts(c.out.size())));
    return store(range, version, std::move(c));
  }

  /// Appends the statement that makes the variable hold `version`.
  bool store(const SourceRange& range, ValueId version, Compute c) {
    bool failed = false;
    const Expr guard = placed(guard_, failed);
    if (failed) return refuse(range, "a condition changes in its branch");
    const std::size_t a = array(version);
    const ValueId key = scop_.arrays[a].key;
    const Type& type = program_.type(key);
    if (!has_fixed_shape(key)) {
      const bool defined_whole = versions_.is_single(version) && !c.base && c.left.empty() && !c.guard;
      if (!defined_whole) return refuse(range, "a tensor of its body changes its shape");
      for (const Label& l : c.out) scop_.arrays[a].spans.push_back({l.begin, l.end});
    }
    if (!c.base && (c.guard || !c.left.empty())) {
      if (values_read(c).contains(key)) return refuse(range, "a part of a tensor is replaced, and the rest cleared");
      fill(range, a, guard, c);
      c.base = key;
    }
    c.fill = {};
    if (c.left.empty()) {
      for (std::size_t d = 0; d < type.rank(); ++d)
        c.left.push_back(difference(index_ref(static_cast<std::int32_t>(d)), c.out[d].begin));
    }
    if (type.rank() > 0 || guard || c.base || c.combine) c.base = key;
    c.guard = conjunction_of(guard, c.guard);
    append(range, a, std::move(c));
    current_[key] = version;
    return true;
  }

  /// Stores the value of elements that the Compute does not define.
  void fill(const SourceRange& range, std::size_t a, const Expr& guard, const Compute& c) {
    const ValueId key = scop_.arrays[a].key;
    const Type& type = program_.type(key);
    Compute rest;
    rest.out = plain_labels(type.shape);
    rest.left = plain_subscripts(type.rank());
    const bool reduces = c.monoid && c.left.empty();
    rest.bodies.push_back(c.fill ? c.fill : reduces ? identity_of(*c.monoid, type.scalar) : zero_of(type.scalar));
    if (type.rank() > 0 || guard) rest.base = key;
    rest.guard = guard;
    append(range, a, std::move(rest));
  }

  void append(const SourceRange& range, std::size_t a, Compute c) {
    ScopStatement s{range, std::move(c), a, loops_, std::nullopt};
    Compute accumulation = s.compute;
    normalise_accumulation(program_, accumulation, scop_.arrays[a].key);
    if (accumulation.combine && combines_freely(*accumulation.combine)) s.accumulation = std::move(accumulation);
    scop_.statements.push_back(std::move(s));
  }

  const Program& program_;
  const Node& nest_;
  Versions versions_;
  const std::function<bool(ValueId)>& used_;
  NoScop& why_;
  Scop scop_;
  std::map<ValueId, ValueId> current_;  ///< variable -> the version that it holds
  std::map<ValueId, Expr> scalars_;     ///< substituted into their users
  std::vector<std::size_t> loops_;      ///< around the current node
  Expr guard_;                          ///< the conditions around the current node, over versions
};

}  // namespace

std::optional<Scop> extract(const Program& program, const Node& nest, const std::function<bool(ValueId)>& used,
                            NoScop& why) {
  return Extractor(program, nest, used, why).run();
}

}  // namespace tdsl::passes
