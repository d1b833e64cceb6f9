#include "passes/sparse/assemblies.h"

#include <optional>
#include <utility>
#include <vector>

#include "ir/analysis/combined.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Separator {
 public:
  Separator(const Program& program, const std::set<ValueId>& refused)
      : original_(program),
        definitions_(definitions(program)),
        uses_(use_counts(program)),
        refused_(refused),
        result_{program, {}} {}

  Assemblies run() {
    visit(result_.program.body, false);
    drop_unused(result_.program.body);
    return std::move(result_);
  }

 private:
  void visit(Region& region, bool in_loop) {
    std::vector<Node> nodes;
    for (Node& n : region.nodes) {
      const bool loop = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
      if (holds_operations(n)) {
        for (Region* inner : regions_in(n)) visit(*inner, in_loop || loop);
      } else if (const auto* c = std::get_if<Compute>(&n.op); c != nullptr && stores(n, *c, in_loop)) {
        separate(n, nodes);
      }
      nodes.push_back(std::move(n));
    }
    region.nodes = std::move(nodes);
  }

  [[nodiscard]] bool stores(const Node& n, const Compute& c, bool in_loop) const {
    if (n.results.size() != 1 || refused_.contains(n.results[0]) || !c.base || c.left.size() < 2 || c.monoid ||
        c.bodies.size() != 1 || (c.out.empty() && in_loop))
      return false;
    const Type& type = original_.type(n.results[0]);
    return type.has_sparse() && !values_read(c).contains(*c.base) && (is_zeros(*c.base) || replaces(c));
  }
  [[nodiscard]] bool is_zeros(ValueId v) const {
    const Compute* const c = compute_of(definitions_, v);
    const Expr value = c == nullptr ? Expr() : constant_fill(*c);
    return value && is_zero(value);
  }
  /// True for `=`, and for operators that leave the old value where nothing is stored, 0.
  [[nodiscard]] static bool replaces(const Compute& c) {
    return !c.combine || c.combine->kind == Monoid::Kind::kSum || c.combine->kind == Monoid::Kind::kAny;
  }

  /// Adds the nodes in front of `n`, and changes it.
  void separate(Node& n, std::vector<Node>& nodes) {
    auto& c = std::get<Compute>(n.op);
    const ValueId target = n.results[0];
    const Type type = original_.type(target);
    const ValueId base = *c.base;
    Compute stored = c;
    stored.base.reset();
    stored.fill = zero_of(type.scalar);
    if (is_zeros(base)) {
      if (uses_[static_cast<std::size_t>(base.id)] == 1) unused_.insert(base);
      c = std::move(stored);
      result_.made[target].insert(target);
      return;
    }
    const auto element = [&](Scalar scalar, ValueId v) { return read(scalar, v, plain_subscripts(type.rank())); };
    const Expr old = element(type.scalar, base);
    Compute rest;
    rest.out = numbered_labels(type.shape);
    if (c.combine) {
      const ValueId added = in_front(n, stored, type, "_added", nodes);
      rest.bodies = {combined(*c.combine, old, element(type.scalar, added))};
    } else {
      Compute places = stored;
      places.bodies = {constant(Scalar::kBool, true)};
      places.combine = Monoid{Monoid::Kind::kAny, {}, {}, {}};
      places.fill = zero_of(Scalar::kBool);
      const ValueId written = in_front(n, stored, type, "_written", nodes);
      const ValueId at = in_front(n, std::move(places), {Scalar::kBool, type.shape, type.format}, "_places", nodes);
      rest.bodies = {select(element(Scalar::kBool, at), element(type.scalar, written), old)};
    }
    c = std::move(rest);
  }
  ValueId in_front(const Node& n, Compute compute, Type type, const char* suffix, std::vector<Node>& nodes) {
    const ValueInfo& info = result_.program.info(n.results[0]);
    const std::string name = info.name.empty() ? "" : info.name + suffix;
    const ValueId v = result_.program.new_value(std::move(type), name, info.range);
    result_.made[n.results[0]].insert(v);
    nodes.push_back({n.range, {v}, std::move(compute)});
    return v;
  }

  /// Zeros that were only a base.
  void drop_unused(Region& region) {
    std::erase_if(region.nodes, [&](const Node& n) { return n.results.size() == 1 && unused_.contains(n.results[0]); });
    for (Node& n : region.nodes) {
      for (Region* inner : regions_in(n)) drop_unused(*inner);
    }
  }

  const Program& original_;
  std::vector<const Node*> definitions_;
  std::vector<int> uses_;
  const std::set<ValueId>& refused_;
  std::set<ValueId> unused_;
  Assemblies result_;
};

}  // namespace

Assemblies assemblies(const Program& program, const std::set<ValueId>& refused) {
  return Separator(program, refused).run();
}

}  // namespace tdsl::passes
