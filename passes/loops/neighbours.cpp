// Unrolls a reduction over a few neighbours of each element: the result is element-wise and fuses, and a periodic
// subscript (`mod(i + a - 1, n)`) has one index variable, so that tasks read only the neighbours' edges instead of the
// whole dimension.
//
//     compute [i in 0..%0] sum[a in 0..3] (%1[mod(sub(add(i, a), 1), %0)])
// becomes
//     compute [i in 0..%0] (add(add(add(0.0, %1[mod(sub(i, 1), %0)]), %1[i]), %1[mod(add(i, 1), %0)]))
//
// Applies to sum, prod, min and max over constant ranges whose index variables share a subscript with out labels. Keeps
// other reduce labels if an unrolled one occurs in a remainder; without a remainder, does nothing in that case
// (convolutions over channels run faster in blocked kernels). Terms keep their order, with the identity first.

#include "passes/passes.h"

#include <algorithm>
#include <set>

#include "ir/analysis/combined.h"
#include "ir/graph/computes.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The terms of a 5 x 5 stencil; longer reductions stay loops.
constexpr std::int64_t kMostTerms = 25;

/// Number of points of a constant range, capped at kMostTerms + 1; 0 for other ranges.
std::int64_t trips(const Label& l) {
  const auto begin = l.begin.constant();
  const auto end = l.end.constant();
  if (!begin || !end || *end <= *begin) return 0;
  std::int64_t points = 0;
  return __builtin_sub_overflow(*end, *begin, &points) ? kMostTerms + 1 : std::min(points, kMostTerms + 1);
}

bool is_remainder(const Expr& e) {
  const auto* b = std::get_if<Binary>(&e->op);
  return b != nullptr && (b->op == BinaryOp::kMod || b->op == BinaryOp::kRem);
}

class Stencil {
 public:
  explicit Stencil(Compute& c) : compute_(c), outs_(static_cast<std::int32_t>(c.out.size())) {}

  bool write_out(int expression_limit) {
    if (!compute_.monoid || compute_.bodies.size() != 1 || !combines_in_place(compute_.monoid->kind)) return false;
    for_each_read(compute_.bodies[0], [this](const Read& r) { look_at(r); });
    if (beside_.empty() || (beside_.size() < compute_.reduce.size() && !wraps_)) return false;
    // Unrolled, a point with no guarded term is indistinguishable from one whose terms sum to the identity.
    guards_terms_ =
        compute_.guard && std::ranges::any_of(labels_in(compute_.guard), [this](auto l) { return l >= outs_; });
    if (guards_terms_ && (compute_.fill || !compute_.left.empty())) return false;
    std::int64_t terms = 1;
    for (const std::int32_t label : beside_) terms = std::min(terms * trips(reduce(label)), kMostTerms + 1);
    if (terms == 0 || terms > kMostTerms || terms * node_count(compute_.bodies[0]) > expression_limit) return false;
    rewrite();
    return true;
  }

 private:
  static bool combines_in_place(Monoid::Kind k) {
    return k == Monoid::Kind::kSum || k == Monoid::Kind::kProd || k == Monoid::Kind::kMin || k == Monoid::Kind::kMax;
  }
  [[nodiscard]] const Label& reduce(std::int32_t label) const {
    return compute_.reduce[static_cast<std::size_t>(label - outs_)];
  }

  void look_at(const Read& r) {
    for (const Expr& subscript : r.subscripts) {
      const std::set<std::int32_t> labels = labels_in(subscript);
      if (labels.empty() || *labels.begin() >= outs_) continue;
      for (const std::int32_t label : labels) {
        if (label < outs_ || trips(reduce(label)) == 0) continue;
        beside_.insert(label);
        wraps_ = wraps_ || is_remainder(subscript);
      }
    }
  }

  void rewrite() {
    const Scalar type = compute_.bodies[0]->type;
    const Expr identity = identity_of(*compute_.monoid, type);
    std::vector<Expr> replacements(compute_.out.size() + compute_.reduce.size());
    std::vector<Label> staying;
    std::vector<std::int32_t> written;
    for (std::int32_t label = outs_; label < static_cast<std::int32_t>(replacements.size()); ++label) {
      if (beside_.contains(label)) {
        written.push_back(label);
        replacements[static_cast<std::size_t>(label)] = constant_i64(*reduce(label).begin.constant());
      } else {
        replacements[static_cast<std::size_t>(label)] = index_ref(outs_ + static_cast<std::int32_t>(staying.size()));
        staying.push_back(reduce(label));
      }
    }
    Expr total = staying.empty() ? identity : Expr();
    std::vector<std::int64_t> at;
    for (const std::int32_t label : written) at.push_back(*reduce(label).begin.constant());
    while (true) {
      for (std::size_t k = 0; k < written.size(); ++k)
        replacements[static_cast<std::size_t>(written[k])] = constant_i64(at[k]);
      Expr term = substitute_labels(compute_.bodies[0], replacements);
      if (guards_terms_) term = select(substitute_labels(compute_.guard, replacements), term, identity);
      total = total ? combined(*compute_.monoid, total, term) : term;
      std::size_t k = written.size();
      while (k-- > 0) {
        if (++at[k] < *reduce(written[k]).end.constant()) break;
        at[k] = *reduce(written[k]).begin.constant();
      }
      if (k == static_cast<std::size_t>(-1)) break;
    }
    compute_.bodies[0] = total;
    // A guard without reduce labels selects points of the result and stays.
    if (guards_terms_) compute_.guard = Expr();
    compute_.reduce = std::move(staying);
    if (!compute_.reduce.empty()) return;
    compute_.monoid.reset();
    if (compute_.guard && compute_.left.empty() && !compute_.fill) compute_.fill = identity;
  }

  Compute& compute_;
  std::int32_t outs_;
  std::set<std::int32_t> beside_;  ///< reduce labels that share a subscript with an out label
  bool wraps_ = false;             ///< one of them occurs in a remainder
  bool guards_terms_ = false;      ///< the guard mentions reduce labels
};

}  // namespace

Program neighbours(const Program& program, PassContext& context) {
  Program result = program;
  for_each_compute(result.body, [&](const Node& node, Compute& c) {
    if (Stencil(c).write_out(context.options().expression_limit))
      context.applied(node.range, "the neighbours' combination is written out");
  });
  return result;
}

}  // namespace tdsl::passes
