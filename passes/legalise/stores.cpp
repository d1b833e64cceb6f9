// Normalises store subscripts. Afterwards, store subscripts are not implied by the ranges of index variables, and
// points collide in an element only if no reduction can express it.
//
// Removes store subscripts that are all index variables in order and cover the result, and the base if every element is
// written:
//
//     %3 = compute [i in 0..%0] (%1[i]) left [i] base %2          compute [i in 0..%0] (%1[i])
//
// Reduces index variables that do not occur in the store subscripts:
//
//     %3 = compute [i in 0..%0, j in 0..%1] (%2[i, j]) left [i] base %4 combine sum
// becomes
//     %3 = compute [i in 0..%0] sum[j in 0..%1] (%2[i, j]) left [i] base %4 combine sum
//
// If the base is read anyway, its elements are combined in the expression, which avoids a copy:
//
//     %3 = compute [i in 1..%0] (%2[sub(i, 1)]) left [i] base %2 combine sum
// becomes
//     %3 = compute [i in 1..%0] (add(%2[i], %2[sub(i, 1)])) left [i] base %2

#include "passes/passes.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/combined.h"
#include "ir/analysis/reduce_labels.h"
#include "passes/legalise/computes.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool names_every_element(const Compute& c, const Type& type) {
  if (c.left.size() != c.out.size()) return false;
  for (std::size_t d = 0; d < c.left.size(); ++d) {
    if (static_cast<std::size_t>(bare_label(c.left[d])) != d || !(c.out[d].begin == Extent(0)) ||
        !(c.out[d].end == type.shape[d]))
      return false;
  }
  return true;
}

void drop_plain_left(Compute& c, const Type& type) {
  if (!names_every_element(c, type)) return;
  c.left.clear();
  // Every element is written: the base is dead.
  if (!c.guard && !c.combine) c.base.reset();
}

/// Points collide in one element if an out label does not occur in the store subscripts: that is a reduction.
void reduce_unplaced_labels(Compute& c) {
  if (c.left.empty() || !c.combine || !c.reduce.empty()) return;
  std::vector<bool> placed(c.out.size(), false);
  for (const Expr& e : c.left) {
    for (const std::int32_t label : labels_in(e)) placed[static_cast<std::size_t>(label)] = true;
  }
  if (std::ranges::find(placed, false) != placed.end()) static_cast<void>(reduce_labels(c, placed));
}

/// True if the store subscripts are distinct bare index variables.
bool places_once(const Compute& c) {
  std::set<std::int32_t> labels;
  for (const Expr& e : c.left) {
    const std::int32_t label = bare_label(e);
    if (label < 0 || !labels.insert(label).second) return false;
  }
  return labels.size() == c.out.size();
}

/// `u[i] += f(u[i - 1], …)` reads the old tensor anyway: `u[i] = u[i] + f(u[i - 1], …)` avoids copying it first.
void read_base(Compute& c) {
  if (!c.combine || !c.base || c.monoid) return;
  if (c.combine->kind == Monoid::Kind::kUser) return;  // its expression repeats its operands
  const bool whole = c.left.empty() && std::ranges::all_of(c.out, [](const Label& l) { return l.begin == Extent(0); });
  if ((!whole && !places_once(c)) || !reads(c.bodies.front(), *c.base)) return;
  std::vector<Expr> place = c.left;
  for (std::int32_t d = 0; whole && d < static_cast<std::int32_t>(c.out.size()); ++d) place.push_back(index_ref(d));
  const Scalar type = c.bodies.front()->type;
  c.bodies.front() = combined(*c.combine, read(type, *c.base, std::move(place)), c.bodies.front());
  c.combine.reset();
  if (whole && !c.guard) c.base.reset();
}

}  // namespace

Program stores(const Program& program, PassContext& context) {
  return legalised(program, context, [](Legalised& one) {
    if (one.assembles()) return;
    drop_plain_left(one.compute(), one.type());
    reduce_unplaced_labels(one.compute());
    read_base(one.compute());
  });
}

}  // namespace tdsl::passes
