// Materialises indirect reads (subscripts that depend on data) by separate operations, except the one that an operation
// can perform itself: that becomes a reduction over panels of the tensor. So no rank holds a whole indirectly read
// tensor.
//
//     %5 = compute [i in 0..%0] (add(%1[%3[i]], %2[%4[i]]))
// becomes
//     %6 = compute [i in 0..%0] (%1[%3[i]])
//     %5 = compute [i in 0..%0] (add(%6[i], %2[%4[i]]))
//
// Indirect reads of a guard come first, since the guarded reads are gathered under the guard:
//
//     %5 = compute [i in 0..%0] (%1[%3[i]]) where gt(%2[%4[i]], 0.0)
// becomes
//     %6 = compute [i in 0..%0] (%2[%4[i]])
//     %7 = compute [i in 0..%0] (%1[%3[i]]) where gt(%6[i], 0.0) fill -inf
//     %5 = compute [i in 0..%0] (%7[i]) where gt(%6[i], 0.0)
//
// Keeps reads of small tensors, conditionally evaluated reads, and reads for which a reduction would have to be
// expanded.

#include "passes/passes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/lookups.h"
#include "ir/analysis/reduce_labels.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/legalise/computes.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"

namespace tdsl::passes {

using namespace ir;

namespace {

using Labels = std::set<std::int32_t>;

/// Gathers the indirect reads of the Compute `c`, which represents the Compute of `one`.
class Gathering {
 public:
  Gathering(Legalised& one, Compute& c) : one_(one), c_(c) {}

  bool run() {
    bool any = false;
    while (gather_next()) any = true;
    return any;
  }

 private:
  bool gather_next() {
    const TypeOf type = [this](ValueId v) -> const Type& { return one_.program().type(v); };
    std::vector<Lookup> list = lookups_of(c_, type, [this](const Expr& e) { return one_.hoisted(e); });
    if (list.empty() || lookup_in_panels(c_, list) != nullptr) return false;
    // Guarded reads are gathered under the guard, so the guard's own reads come first.
    std::ranges::stable_partition(list, [](const Lookup& l) { return l.place == Lookup::Place::kGuard; });
    const bool guard_looks_up = list.front().place == Lookup::Place::kGuard;
    for (const Lookup& lookup : list) {
      if (guard_looks_up && lookup.place != Lookup::Place::kGuard) continue;
      const std::optional<Expr> found = gathered(lookup);
      if (!found) continue;
      rewrite_expressions(c_, [&](const Expr& e) {
        return rewrite(e, [&](const Expr& x) { return x.id() == lookup.read.id() ? *found : x; });
      });
      return true;
    }
    return false;
  }

  /// The labels of the gathered tensor; nullopt if it would expand a reduction.
  [[nodiscard]] std::optional<Labels> labels_of_elements(const Lookup& lookup) const {
    const auto& r = std::get<Read>(lookup.read->op);
    Labels used = labels_in(lookup.read);
    Labels by_data;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      if (lookup.data[d]) by_data.merge(labels_in(r.subscripts[d]));
    }
    const auto out_labels = static_cast<std::int32_t>(c_.out.size());
    const auto is_reduced = [&](std::int32_t l) { return l >= out_labels; };
    if (std::ranges::any_of(used, [&](std::int32_t l) { return is_reduced(l) && !by_data.contains(l); }))
      return std::nullopt;
    if (!is_guarded(lookup)) return used;
    // A guarded read is gathered once per point of the guard, which may be an element's condition on a whole reduction.
    for (const std::int32_t l : labels_in(c_.guard)) {
      if (is_reduced(l) && !used.contains(l)) return std::nullopt;
      used.insert(l);
    }
    return used;
  }

  [[nodiscard]] bool is_guarded(const Lookup& lookup) const {
    return lookup.place != Lookup::Place::kGuard && c_.guard;
  }

  std::optional<Expr> gathered(const Lookup& lookup) {
    const auto used = lookup.conditional ? std::nullopt : labels_of_elements(lookup);
    if (!used) return std::nullopt;
    Compute gather;
    if (is_guarded(lookup)) gather.guard = c_.guard;
    std::vector<Expr> number(c_.out.size() + c_.reduce.size());
    std::vector<Expr> back;
    for (std::size_t l = 0; l < number.size(); ++l) {
      const Label& label = label_of(c_, static_cast<std::int32_t>(l));
      if (used->contains(static_cast<std::int32_t>(l))) {
        number[l] = index_ref(static_cast<std::int32_t>(gather.out.size()));
        back.push_back(index_ref(static_cast<std::int32_t>(l)));
        gather.out.push_back(label);
        continue;
      }
      // An empty range reads nothing, so its subscripts must not be checked.
      if ((label.end - label.begin).constant().value_or(0) > 0) continue;
      const Expr some = binary(BinaryOp::kLt, one_.size(label.begin), one_.size(label.end));
      gather.guard = conjunction_of(some, gather.guard);
    }
    gather.bodies = {with_labels(lookup.read, number)};
    gather.guard = with_labels(gather.guard, number);
    const Scalar type = lookup.read->type;
    if (gather.guard) gather.fill = identity_of(found_once(type), type);
    return with_labels(one_.separately(std::move(gather), type, "_gathered"), back);
  }

  Legalised& one_;
  Compute& c_;
};

/// A scatter is treated as the reduction that it becomes.
bool gather(Legalised& one) {
  const auto kept = scattered_labels(one);
  if (!kept || !one.compute().combine || one.assembles()) return Gathering(one, one.compute()).run();
  Compute reduction = one.compute();
  const std::vector<Expr> back = reduce_labels(reduction, *kept);
  if (!Gathering(one, reduction).run()) return false;
  rewrite_expressions(reduction, [&](const Expr& e) { return with_labels(e, back); });
  Compute& c = one.compute();
  c.bodies = std::move(reduction.bodies);
  c.left = std::move(reduction.left);
  c.guard = reduction.guard;
  return true;
}

}  // namespace

Program gathers(const Program& program, PassContext& context) {
  return legalised(program, context, [&](Legalised& one) {
    if (moves_elements(one.program(), one.node())) return;  // periodic reads are not lookups
    if (gather(one)) context.applied(one.node().range, "indirect reads are gathered by separate operations");
  });
}

}  // namespace tdsl::passes
