// Normalises store subscripts. Afterwards the subscripts hold only what the ranges of the index variables do not imply,
// and several points combine in one element only if no reduction can express it.
//
// Subscripts that are all index variables in order and cover the result disappear, and with them the base if every
// element is written:
//
//     %3 = compute [i in 0..%0] (%1[i]) left [i] base %2          compute [i in 0..%0] (%1[i])
//
// Index variables that do not occur in a subscript are reduced:
//
//     %3 = compute [i in 0..%0, j in 0..%1] (%2[i, j]) left [i] base %4 combine sum
// becomes
//     %3 = compute [i in 0..%0] sum[j in 0..%1] (%2[i, j]) left [i] base %4 combine sum
//
// If the body reads the base, it combines with the base's elements itself, which saves a copy of the base:
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
  // Every element is written: nothing of the old value is left.
  if (!c.guard && !c.combine) c.base.reset();
}

/// Several points meet in one element where an out label does not occur on the left: that is a reduction.
void reduce_unplaced_labels(Compute& c) {
  if (c.left.empty() || !c.combine || !c.reduce.empty()) return;
  std::vector<bool> placed(c.out.size(), false);
  for (const Expr& e : c.left) {
    for (const std::int32_t label : labels_in(e)) placed[static_cast<std::size_t>(label)] = true;
  }
  if (std::ranges::find(placed, false) != placed.end()) static_cast<void>(reduce_labels(c, placed));
}

/// Whether the left side is one index variable a dimension, each once.
bool places_once(const Compute& c) {
  std::set<std::int32_t> labels;
  for (const Expr& e : c.left) {
    const std::int32_t label = bare_label(e);
    if (label < 0 || !labels.insert(label).second) return false;
  }
  return labels.size() == c.out.size();
}

/// `u[i] += f(u[i - 1], …)` reads the old tensor anyway: as `u[i] = u[i] + f(u[i - 1], …)` it needs no copy of it
/// first.
void read_base(Compute& c) {
  if (!c.combine || !c.base || c.monoid) return;
  if (c.combine->kind == Monoid::Kind::kUser) return;  // it mentions its operands several times
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
    drop_plain_left(one.compute(), one.type());
    reduce_unplaced_labels(one.compute());
    read_base(one.compute());
  });
}

}  // namespace tdsl::passes
