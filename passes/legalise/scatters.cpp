// Turns stores whose subscripts cannot be solved for the index variables into scatters: they are combined into a
// separate tensor that starts from the identity, so that points can be partitioned. The base is combined afterwards:
//
//     %4 = compute [i in 0..%0] (%2[i]) left [%1[i]] base %3 combine sum
// becomes
//     %5 = compute [i in 0..%0] (%2[i]) left [%1[i]] combine sum
//     %4 = compute [i0 in 0..%6] (add(%3[i0], %5[i0]))
//
// `=` has no operator to combine colliding elements: writes per element are counted first, and more than one is an
// error; then any operator that preserves a single element works.
//
//     %4 = compute [i in 0..%0] (%2[i]) left [%1[i]] base %3
// becomes
//     %5 = compute [i in 0..%0] (1) left [%1[i]] combine sum
//     %6 = compute [] all[i0 in 0..%8] (le(%5[i0], 1))
//     assert %6 "an element of `x` is written twice by `=`" implied
//     %7 = compute [i in 0..%0] (%2[i]) left [%1[i]] combine max fill -inf
//     %4 = compute [i0 in 0..%8] (select(gt(%5[i0], 0), %7[i0], %3[i0]))
//
// Warns about scatters into large tensors.

#include "passes/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/analysis/combined.h"
#include "ir/analysis/lookups.h"
#include "ir/graph/computes.h"
#include "passes/legalise/computes.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Scatter {
 public:
  Scatter(Legalised& one, PassContext& context) : one_(one), c_(one.compute()), type_(one.type()), context_(context) {}

  void run() {
    if (!one_.is_part()) warn();
    if (c_.monoid) split_reduction(one_);
    if (!c_.combine) return write_once();
    const bool fresh = !c_.base && equal(one_.fill(), identity_of(*c_.combine, type_.scalar));
    if (fresh || c_.combine->kind == Monoid::Kind::kUser)
      return;  // partial results of user-defined reductions cannot
               // be combined
    const Monoid m = *c_.combine;
    const Expr old = c_.base ? element(type_.scalar, *c_.base) : one_.fill();
    const Expr added = scattered(c_, m, type_.scalar, "_added");
    over_elements(combined(m, old, added));
    context_.applied(one_.node().range,
                     "a separate operation combines the scattered values with the existing elements");
  }

 private:
  /// `=`: writes each element at most once.
  void write_once() {
    Compute count = c_;
    count.bodies = {constant_i64(1)};
    const Expr hits = scattered(std::move(count), {Monoid::Kind::kSum, {}, {}, {}}, Scalar::kI64, "_hits");
    Compute once;
    once.reduce = numbered_labels(type_.shape);
    once.bodies = {binary(BinaryOp::kLe, hits, constant_i64(1))};
    once.monoid = Monoid{Monoid::Kind::kAll, {}, {}, {}};
    const ValueId fine = one_.in_front(std::move(once), {Scalar::kBool, {}, {}}, "_once");
    one_.in_front(Assert{fine, fmt::format("an element of {} is written twice by `=`", name()), true});
    const Expr value = scattered(c_, found_once(type_.scalar), type_.scalar, "_written");
    const Expr old = c_.base ? element(type_.scalar, *c_.base) : one_.fill();
    over_elements(select(binary(BinaryOp::kGt, hits, constant_i64(0)), value, old));
    context_.applied(one_.node().range, "elements are counted before they are written once");
  }

  /// Scatters into a separate tensor of the result's shape; returns its element read.
  Expr scattered(Compute compute, Monoid combine, Scalar scalar, const char* suffix) {
    compute.base.reset();
    compute.fill = identity_of(combine, scalar);
    compute.combine = std::move(combine);
    return element(scalar, one_.in_front(std::move(compute), {scalar, type_.shape, {}}, suffix));
  }

  Expr element(Scalar scalar, ValueId tensor) const { return read(scalar, tensor, plain_subscripts(type_.rank())); }
  void over_elements(const Expr& body) {
    Compute map;
    map.out = numbered_labels(type_.shape);
    map.bodies = {body};
    c_ = std::move(map);
  }

  [[nodiscard]] std::string name() const { return quoted(one_.program(), one_.node().results[0], "the result"); }

  /// Tensors below 1 MiB are too small for a warning; if the size is unknown, the run-time warns.
  void warn() {
    double bytes = static_cast<double>(size_of(type_.scalar));
    for (const Extent& e : type_.shape) bytes *= static_cast<double>(e.constant().value_or(0));
    if (bytes > 1 << 20) {
      context_.warn("gathered", one_.node().range,
                    name() +
                        " is written at subscripts that are no single indices: every rank that computes holds all "
                        "elements it may write, or reads all points");
    }
  }

  Legalised& one_;
  Compute& c_;
  Type type_;
  PassContext& context_;
};

}  // namespace

std::optional<std::vector<bool>> scattered_labels(Legalised& one) {
  const Compute& c = one.compute();
  if (c.left.empty()) return std::nullopt;
  std::vector<bool> placed(c.out.size(), false);
  bool solvable = true;
  for (const Expr& e : c.left) {
    const auto form = one.affine(e);
    if (!form || form->terms.size() > 1 || (form->terms.size() == 1 && !form->terms[0].coefficient.constant())) {
      solvable = false;
    } else if (!form->terms.empty()) {
      placed[static_cast<std::size_t>(form->terms[0].label)] = true;
    }
  }
  if (solvable && std::ranges::find(placed, false) == placed.end()) return std::nullopt;
  return placed;
}

Program scatters(const Program& program, PassContext& context) {
  return legalised(program, context, [&](Legalised& one) {
    if (!one.assembles() && scattered_labels(one)) Scatter(one, context).run();
  });
}

}  // namespace tdsl::passes
