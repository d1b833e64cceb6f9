#include "passes/schedule/rebuild.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "passes/schedule/separate.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Rebuilder {
 public:
  Rebuilder(Program& program, const Scop& scop, const ExtentFacts& facts, ReadVersion version)
      : program_(program), scop_(scop), facts_(facts), version_(version) {}

  std::vector<Node> run(const std::vector<Step>& steps, ValueMap& renames) {
    std::vector<Node> nodes = scop_.hoisted;
    std::set<std::size_t> written;
    collect(steps, written);
    for (std::size_t a = 0; a < scop_.arrays.size(); ++a) start(a, written.contains(a), nodes);
    emit(steps, nodes);
    for (std::size_t a = 0; a < scop_.arrays.size(); ++a) {
      const ScopArray& array = scop_.arrays[a];
      if (array.result && array.live) renames[*array.result] = current_[a];
    }
    return nodes;
  }

 private:
  // Variables.

  /// The variable's version in front of the steps.
  void start(std::size_t a, bool written, std::vector<Node>& nodes) {
    const ScopArray& array = scop_.arrays[a];
    Type type = array.type;
    if (!written || (array.init && array.expanded.empty())) {
      current_.push_back(array.init.value_or(array.key));
      types_.push_back(std::move(type));
      return;
    }
    std::vector<Extent> shape;
    for (const std::size_t l : array.expanded) shape.push_back(copies(l, nodes));
    if (!array.spans.empty()) {
      for (Extent& e : type.shape) e = size(e, program_.info(array.key).range, nodes);
    }
    type.shape.insert(type.shape.begin(), shape.begin(), shape.end());
    Compute zeros;
    zeros.out = plain_labels(type.shape);
    zeros.bodies.push_back(zero_of(type.scalar));
    const SourceRange range = program_.info(array.key).range;
    const ValueId v = program_.new_value(type, program_.info(array.key).name, range);
    nodes.push_back({range, {v}, std::move(zeros)});
    current_.push_back(v);
    types_.push_back(std::move(type));
  }

  /// The index of the first copy; small indices number copies themselves.
  [[nodiscard]] Extent first_copy(std::size_t l) const {
    const auto lowest = scop_.loops[l].lowest->constant();
    return lowest && *lowest >= 0 && *lowest <= 4 ? Extent(0) : *scop_.loops[l].lowest;
  }

  /// The number of copies for the iterations of a loop.
  Extent copies(std::size_t l, std::vector<Node>& nodes) {
    return size(*scop_.loops[l].lowest + *scop_.loops[l].values - first_copy(l), scop_.loops[l].range, nodes);
  }

  /// The extent, or 0 if it is negative.
  Extent size(const Extent& e, const SourceRange& range, std::vector<Node>& nodes) {
    if (const auto c = e.constant()) return std::max<std::int64_t>(*c, 0);
    if (facts_.never_negative(e)) return e;
    const auto known = std::ranges::find(sizes_, e, &std::pair<Extent, Extent>::first);
    if (known != sizes_.end()) return known->second;
    Compute clamp;
    clamp.bodies.push_back(binary(BinaryOp::kMax, expr_of_polynomial(e), constant_i64(0)));
    const ValueId v = program_.new_value({Scalar::kI64, {}, {}}, "", range);
    nodes.push_back({range, {v}, std::move(clamp)});
    return sizes_.emplace_back(e, Extent::of(v)).second;
  }

  void collect(const std::vector<Step>& steps, std::set<std::size_t>& written) const {
    for (const Step& s : steps) {
      if (s.loop) {
        collect(s.inner, written);
      } else {
        written.insert(scop_.statements[s.statement].array);
      }
    }
  }

  ValueId new_version(std::size_t a, const SourceRange& range) {
    const ValueInfo& info = program_.info(scop_.arrays[a].key);
    const bool as_declared = scop_.arrays[a].expanded.empty() && scop_.arrays[a].spans.empty();
    const std::vector<Extent> tile = as_declared ? info.tile : std::vector<Extent>{};
    const ValueId v = program_.new_value(types_[a], info.name, range);
    program_.values.back().tile = tile;
    return v;
  }

  // Expressions.

  /// Position in the copies of an expanded variable.
  [[nodiscard]] std::vector<Expr> copy_of(std::size_t a) const {
    std::vector<Expr> at;
    for (const std::size_t l : scop_.arrays[a].expanded) at.push_back(difference(index(l), first_copy(l)));
    return at;
  }

  [[nodiscard]] Expr index(std::size_t l) const { return read(Scalar::kI64, indices_.at(scop_.loops[l].index), {}); }

  [[nodiscard]] Expr placed(const Expr& e) const {
    if (!e) return e;
    return rewrite(e, [&](const Expr& x) -> Expr {
      const auto* r = std::get_if<Read>(&x->op);
      if (r == nullptr) return x;
      if (const auto found = indices_.find(r->tensor); found != indices_.end())
        return read(x->type, found->second, {}, x->range);
      const auto a = scop_.array_of(r->tensor);
      if (!a) return x;
      std::vector<Expr> at = copy_of(*a);
      at.insert(at.end(), r->subscripts.begin(), r->subscripts.end());
      const auto before = before_.find(*a);
      return read(x->type, before == before_.end() ? current_[*a] : before->second, std::move(at), x->range);
    });
  }

  [[nodiscard]] Extent placed(const Extent& e) const {
    return e.substitute([&](ValueId v) -> std::optional<Extent> {
      const auto found = indices_.find(v);
      return found == indices_.end() ? std::nullopt : std::optional(Extent::of(found->second));
    });
  }

  // Nodes.

  void emit(const std::vector<Step>& steps, std::vector<Node>& nodes) {
    for (const Step& s : steps) {
      if (s.independent && version_ == ReadVersion::kBefore) {
        emit_independent(s, nodes);
      } else if (s.loop) {
        emit_loop(s, nodes);
      } else {
        emit_statement(scop_.statements[s.statement], nodes);
      }
    }
  }

  /// The statement reads its variable as it was before the loop, which is the same.
  void emit_independent(const Step& step, std::vector<Node>& nodes) {
    const Step* last = &step;
    while (last->loop) last = &last->inner.front();
    const ScopStatement& s = scop_.statements[last->statement];
    // `x = x + value` reads what other instances added.
    if (!s.accumulation || s.compute.combine) before_[s.array] = current_[s.array];
    emit_loop(step, nodes);
    before_.erase(s.array);
  }

  ValueId scalar(const Expr& e, const SourceRange& range, std::vector<Node>& nodes) {
    const Expr here = placed(e);
    if (const auto* r = std::get_if<Read>(&here->op); r != nullptr && r->subscripts.empty()) return r->tensor;
    Compute c;
    c.bodies.push_back(here);
    const ValueId v = program_.new_value({Scalar::kI64, {}, {}}, "", range);
    nodes.push_back({range, {v}, std::move(c)});
    return v;
  }

  /// True if the loop may run over all values that its index ever has: the elements that are computed in addition are
  /// never read. The loop is around one statement, which stores into copies for each iteration and cannot stop the run.
  [[nodiscard]] bool may_widen(const Step& step) const {
    const ScopLoop& loop = scop_.loops[*step.loop];
    const Step* last = &step;
    while (last->loop && last->inner.size() == 1) last = &last->inner.front();
    if (last->loop || loop.step != 1 || !loop.values || is_fixed(loop.begin, loop.end)) return false;
    const ScopStatement& s = scop_.statements[last->statement];
    // Every instance has a copy, so that an additional one overwrites nothing.
    if (scop_.arrays[s.array].expanded != s.loops) return false;
    const auto everywhere = over_all_loops(scop_, s);
    return everywhere && !can_fail(program_, *everywhere);
  }

  [[nodiscard]] bool is_fixed(const Expr& begin, const Expr& end) const {
    const auto varies = [&](const Expr& e) {
      return any_read(e,
                      [&](const Read& r) { return std::ranges::count(scop_.loops, r.tensor, &ScopLoop::index) > 0; });
    };
    return !varies(begin) && !varies(end);
  }

  void emit_loop(const Step& step, std::vector<Node>& nodes) {
    const ScopLoop& loop = scop_.loops[*step.loop];
    For f;
    const bool wide = may_widen(step);
    f.begin = scalar(wide ? expr_of_polynomial(*loop.lowest) : loop.begin, loop.range, nodes);
    f.end = scalar(wide ? expr_of_polynomial(*loop.lowest + *loop.values) : loop.end, loop.range, nodes);
    f.step = loop.step;
    const ValueId index = program_.new_value({Scalar::kI64, {}, {}}, program_.info(loop.index).name, loop.range);
    f.body.arguments.push_back(index);
    indices_[loop.index] = index;
    std::set<std::size_t> written;
    collect(step.inner, written);
    for (const std::size_t a : written) {
      f.inits.push_back(current_[a]);
      current_[a] = new_version(a, loop.range);
      f.body.arguments.push_back(current_[a]);
    }
    emit(step.inner, f.body.nodes);
    indices_.erase(loop.index);
    Node node{loop.range, {}, Dimension{}};
    for (const std::size_t a : written) {
      f.body.yields.push_back(current_[a]);
      current_[a] = new_version(a, loop.range);
      node.results.push_back(current_[a]);
    }
    node.op = std::move(f);
    nodes.push_back(std::move(node));
  }

  void emit_statement(const ScopStatement& s, std::vector<Node>& nodes) {
    Compute c = s.compute;
    rewrite_expressions(c, [&](const Expr& e) { return placed(e); });
    for (auto* list : {&c.out, &c.reduce}) {
      for (Label& l : *list) {
        l.begin = placed(l.begin);
        l.end = placed(l.end);
      }
    }
    const std::vector<Expr> copy = copy_of(s.array);
    c.left.insert(c.left.begin(), copy.begin(), copy.end());
    if (c.base || !copy.empty()) c.base = current_[s.array];
    const ValueId v = new_version(s.array, s.range);
    nodes.push_back({s.range, {v}, std::move(c)});
    current_[s.array] = v;
  }

  Program& program_;
  const Scop& scop_;
  const ExtentFacts& facts_;
  ReadVersion version_;
  std::vector<ValueId> current_;                  ///< by array
  std::map<std::size_t, ValueId> before_;         ///< by array, for reads of an independent statement
  std::vector<Type> types_;                       ///< by array, with the copies
  std::map<ValueId, ValueId> indices_;            ///< index of the nest -> index of an open loop
  std::vector<std::pair<Extent, Extent>> sizes_;  ///< extents, and values that are not negative
};

}  // namespace

std::vector<Node> rebuilt(Program& program, const Scop& scop, const std::vector<Step>& steps, const ExtentFacts& facts,
                          ReadVersion version, ValueMap& renames) {
  return Rebuilder(program, scop, facts, version).run(steps, renames);
}

}  // namespace tdsl::passes
