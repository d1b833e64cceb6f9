#include "ir/differentiate/activity.h"

#include "ir/differentiate/expr.h"
#include "ir/graph/computes.h"

namespace tdsl::ir {

bool Activity::depends(const Expr& e) const {
  return ExprDerivative([this](ValueId v) { return contains(v); }).depends(e);
}

void Activity::add(const Region& region) {
  for (const Node& n : region.nodes) add(n);
}

bool Activity::flow(ValueId from, ValueId to) { return contains(from) && active_.insert(to).second; }

void Activity::add_compute(const Node& node, const Compute& c) {
  if (c.constant) return;
  const bool position = c.monoid && locates(*c.monoid);
  for (std::size_t k = 0; k < node.results.size(); ++k) {
    const bool depends_on = (!position && depends(c.bodies[k])) || (c.base && contains(*c.base));
    if (depends_on && is_float(program_.type(node.results[k]).scalar)) active_.insert(node.results[k]);
  }
}

void Activity::add_carried(const std::vector<ValueId>& inits, const std::vector<ValueId>& arguments,
                           const std::vector<ValueId>& yields, const std::vector<ValueId>& results,
                           const Region& body) {
  // Arguments begin with the index.
  for (std::size_t k = 0; k < inits.size(); ++k) flow(inits[k], arguments[k + 1]);
  bool changed = true;
  while (changed) {
    changed = false;
    add(body);
    for (std::size_t k = 0; k < inits.size(); ++k) changed = flow(yields[k], arguments[k + 1]) || changed;
  }
  for (std::size_t k = 0; k < inits.size(); ++k) flow(arguments[k + 1], results[k]);
}

void Activity::add(const Node& node) {
  match(
      node.op, [](const Dimension&) {}, [](const Found&) {}, [](const Param&) {}, [](const Input&) {},
      [&](const Compute& c) { add_compute(node, c); }, [](const Random&) {},
      [&](const Routine& r) {
        for (const ValueId operand : r.operands) {
          for (const ValueId result : node.results) {
            if (is_float(program_.type(result).scalar)) flow(operand, result);
          }
        }
      },
      // Passes create them after derivatives have been expanded.
      [](const Chain&) {}, [](const Choose&) {}, [](const Fused&) {},
      [&](const For& f) { add_carried(f.inits, f.body.arguments, f.body.yields, node.results, f.body); },
      [&](const While& w) { add_carried(w.inits, w.body.arguments, w.body.yields, node.results, w.body); },
      [&](const If& i) {
        add(i.then_region);
        add(i.else_region);
        for (std::size_t k = 0; k < node.results.size(); ++k) {
          flow(i.then_region.yields[k], node.results[k]);
          flow(i.else_region.yields[k], node.results[k]);
        }
      },
      [](const Print&) {}, [](const Assert&) {}, [](const Check&) {}, [](const Output&) {},
      // Gradients of earlier lines have been expanded; failures have been reported.
      [](const Gradient&) {});
}

}  // namespace tdsl::ir
