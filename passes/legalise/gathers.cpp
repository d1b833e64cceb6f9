#include "passes/legalise/gathers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/lookups.h"
#include "ir/analysis/reduce_labels.h"
#include "ir/analysis/stored_result.h"
#include "ir/graph/expr_build.h"
#include "passes/legalise/computes.h"
#include "passes/legalise/scatters.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

using Labels = std::set<std::int32_t>;

Labels labels_in(const Expr& e) {
  Labels labels;
  for_each_node(e, [&](const ExprNode& n) {
    if (const auto* r = std::get_if<IndexRef>(&n.op)) labels.insert(r->label);
  });
  return labels;
}

/// Gathers what the Compute `c` looks up, which stands for that of `one`.
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
    // What is read under the guard is gathered under it too: the guard's own reads come first.
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

  /// The labels the gathered elements differ by; nothing if a reduction would be spread out for their sake.
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
    // Under a guard it is read once for each point of the guard, which may be one element's condition on all of a
    // reduction.
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
      const Label& label = l < c_.out.size() ? c_.out[l] : c_.reduce[l - c_.out.size()];
      if (used->contains(static_cast<std::int32_t>(l))) {
        number[l] = index_ref(static_cast<std::int32_t>(gather.out.size()));
        back.push_back(index_ref(static_cast<std::int32_t>(l)));
        gather.out.push_back(label);
        continue;
      }
      // Without a point nothing is read, and no subscript is wrong.
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

/// A scatter is looked at as the reduction that it becomes.
bool gather(Legalised& one) {
  const auto kept = scattered_labels(one);
  if (!kept || !one.compute().combine) return Gathering(one, one.compute()).run();
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
  return legalised(program, [&](Legalised& one) {
    if (storage_of(one.program(), one.node()) == StoredBy::kRearrangement) return;  // what wraps around is no data
    if (gather(one)) context.applied(one.node().range, "what is looked up is gathered by operations of its own");
  });
}

}  // namespace tdsl::passes
