#pragma once

#include <map>
#include <set>
#include <type_traits>
#include <vector>

#include "ir/graph/graph.h"

// Copies parts of an index graph under new values.

namespace tdsl::ir {

using Renaming = std::map<ValueId, ValueId>;

[[nodiscard]] Expr renamed(const Expr& e, const Renaming& names);
[[nodiscard]] Extent renamed(const Extent& e, const Renaming& names);
/// Renames all uses in the node, at any depth, and in the shapes of the values it defines.
void rename(Program& program, Node& node, const Renaming& names);
/// The node with new values for all its definitions, at any depth; these are added to `names`.
[[nodiscard]] Node copied(Program& program, Node node, Renaming& names);
/// The same without the effects inside.
[[nodiscard]] Node cloned(Program& program, const Node& node, Renaming& names);
/// True for nodes irrelevant to the region's yields and to other nodes' values: prints, asserts, checks, outputs.
[[nodiscard]] bool is_effect(const Node& node);
/// Every value that the node uses, at any depth, including shapes and values defined inside.
[[nodiscard]] std::set<ValueId> mentioned(const Program& program, const Node& node);
/// The regions directly inside a node.
[[nodiscard]] std::vector<Region*> regions_in(Node& node);
[[nodiscard]] std::vector<const Region*> regions_in(const Node& node);

/// `T`, const if `Like` is.
template <class Like, class T>
using LikeConst = std::conditional_t<std::is_const_v<Like>, const T, T>;

/// Calls `f` on every ValueId, Extent and Expr, null ones too, that an operation uses outside its regions. `AnyOp` is
/// `Op` or `const Op`.
template <class AnyOp, class F>
void for_each_operand(AnyOp& op, const F& f) {
  const auto each = [&](auto& parts) {
    for (auto& part : parts) f(part);
  };
  const auto optional = [&](auto& part) {
    if (part) f(*part);
  };
  const auto monoid = [&](auto& m) {
    if (m) f(m->identity), f(m->combine);
  };
  const auto labels = [&](auto& list) {
    for (auto& label : list) f(label.begin), f(label.end);
  };
  match(
      op, [](const Dimension&) {}, [&](LikeConst<AnyOp, Found>& d) { f(d.count), f(d.estimate); },
      [&](LikeConst<AnyOp, Param>& p) { optional(p.computed_default); }, [](const Input&) {},
      [&](LikeConst<AnyOp, Compute>& c) {
        labels(c.out), labels(c.reduce);
        each(c.bodies);
        f(c.guard);
        monoid(c.monoid);
        each(c.left);
        optional(c.base);
        monoid(c.combine);
        f(c.fill);
        if (!c.iteration) return;
        for (auto& operand : c.iteration->operands) f(operand.tensor);
      },
      [&](LikeConst<AnyOp, Random>& r) { each(r.iterations); }, [&](LikeConst<AnyOp, Routine>& r) { each(r.operands); },
      [&](LikeConst<AnyOp, Chain>& c) {
        for (auto& factor : c.factors) f(factor.tensor);
        each(c.sizes);
      },
      [&](LikeConst<AnyOp, For>& l) { f(l.begin), f(l.end), each(l.inits); },
      [&](LikeConst<AnyOp, While>& w) { each(w.inits); }, [&](LikeConst<AnyOp, If>& i) { f(i.condition); },
      [](const Choose&) {}, [&](LikeConst<AnyOp, Fused>& fused) { labels(fused.shared); },
      [&](LikeConst<AnyOp, Print>& p) {
        for (auto& item : p.items) {
          if (auto* v = std::get_if<ValueId>(&item)) f(*v);
        }
      },
      [&](LikeConst<AnyOp, Assert>& a) { f(a.condition); },
      [&](LikeConst<AnyOp, Check>& c) { f(c.left), f(c.right), optional(c.guard); },
      [&](LikeConst<AnyOp, Output>& o) { f(o.value), optional(o.record); },
      [&](LikeConst<AnyOp, Gradient>& g) { f(g.loss), each(g.wrt); });
}

}  // namespace tdsl::ir
