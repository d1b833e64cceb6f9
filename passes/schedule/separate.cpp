#include "passes/schedule/separate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_loop_index(const Scop& scop, ValueId v) { return std::ranges::count(scop.loops, v, &ScopLoop::index) > 0; }

bool varies(const Scop& scop, const Expr& e) {
  return any_read(e, [&](const Read& r) { return is_loop_index(scop, r.tensor); });
}

bool varies(const Scop& scop, const Label& l) {
  const auto index = [&](const Extent& e) {
    return std::ranges::any_of(e.values(), [&](ValueId v) { return is_loop_index(scop, v); });
  };
  return index(l.begin) || index(l.end);
}

/// `sum[k](… * …)` with tensors on both sides.
bool is_product(const Compute& c) {
  const auto* b = std::get_if<Binary>(&c.bodies[0]->op);
  if (!c.monoid || c.monoid->kind != Monoid::Kind::kSum || b == nullptr || b->op != BinaryOp::kMul) return false;
  const auto tensor = [](const Read& r) { return !r.subscripts.empty(); };
  return any_read(b->left, tensor) && any_read(b->right, tensor);
}

class ProductSeparator {
 public:
  ProductSeparator(Program& program, Scop& scop, const ExtentFacts& facts)
      : program_(program), scop_(scop), facts_(facts) {}

  std::size_t run() {
    std::size_t count = 0;
    for (std::size_t s = 0; s < scop_.statements.size(); ++s) {
      if (scop_.statements.size() >= kMostScopStatements || !separate(s)) continue;
      ++count;
      ++s;
    }
    return count;
  }

 private:
  bool separate(std::size_t number) {
    const ScopStatement s = scop_.statements[number];
    const Compute& c = s.compute;
    const bool fixed_sum = std::ranges::none_of(c.reduce, [&](const Label& l) { return varies(scop_, l); });
    if (c.reduce.empty() || c.guard || !fixed_sum || !is_product(c) || !is_triangular(s)) return false;
    if (!scop_.arrays[s.array].spans.empty()) {
      widen_temporary(scop_.statements[number]);
      return false;
    }
    Compute sum = c;
    sum.left.clear();
    sum.base.reset();
    sum.combine.reset();
    Type type{scop_.arrays[s.array].type.scalar, {}, {}};
    for (Label& l : sum.out) {
      if (!widen(l)) return false;
      type.shape.push_back(l.end);
      sum.left.push_back(index_ref(static_cast<std::int32_t>(type.shape.size()) - 1));
    }
    ScopStatement first{s.range, sum, scop_.arrays.size(), s.loops, std::nullopt};
    const auto everywhere = over_all_loops(scop_, first);
    if (!everywhere || can_fail(program_, *everywhere)) return false;
    const ValueId t = program_.new_value(type, "", s.range);
    if (type.rank() > 0) first.compute.base = t;
    ScopStatement second = s;
    for (Compute* part : {&second.compute, second.accumulation ? &*second.accumulation : nullptr}) {
      if (part == nullptr) continue;
      part->reduce.clear();
      part->monoid.reset();
      part->bodies[0] = read(type.scalar, t, plain_subscripts(type.rank()));
    }
    scop_.arrays.push_back({t, type});
    scop_.statements[number] = std::move(first);
    scop_.statements.insert(scop_.statements.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(second));
    return true;
  }

  /// Computes all elements of an array whose extents change, if the statement cannot stop the run: additional elements
  /// are never read.
  void widen_temporary(ScopStatement& s) const {
    ScopStatement wide = s;
    for (std::size_t d = 0; d < wide.compute.out.size(); ++d) {
      const auto place = polynomial_of(wide.compute.left[d]);
      if (!place) return;
      Label& l = wide.compute.out[d];
      l.begin = Extent::of(label_value(static_cast<std::int32_t>(d))) - *place;
      l.end = l.begin + scop_.arrays[s.array].type.shape[d];
    }
    const auto everywhere = over_all_loops(scop_, wide);
    if (everywhere && !can_fail(program_, *everywhere)) s = std::move(wide);
  }

  [[nodiscard]] bool is_triangular(const ScopStatement& s) const {
    return std::ranges::any_of(s.compute.out, [&](const Label& l) { return varies(scop_, l); }) ||
           std::ranges::any_of(s.loops, [&](std::size_t l) {
             return varies(scop_, scop_.loops[l].begin) || varies(scop_, scop_.loops[l].end);
           });
  }

  /// From 0 to the largest end of the label's range.
  bool widen(Label& l) const {
    for (std::size_t k = scop_.loops.size(); k-- > 0;) {
      const ScopLoop& loop = scop_.loops[k];
      if (!mentions(l.end, loop.index)) continue;
      const auto form = linear_in(l.end, loop.index);
      if (!form || !loop.values) return false;
      const Extent last = *loop.lowest + *loop.values - Extent(1);
      l.end = form->rest + Extent(form->coefficient) * (form->coefficient > 0 ? last : *loop.lowest);
    }
    l.begin = Extent(0);
    return facts_.never_negative(l.end);
  }

  Program& program_;
  Scop& scop_;
  const ExtentFacts& facts_;
};

}  // namespace

std::size_t separate_products(Program& program, Scop& scop, const ExtentFacts& facts) {
  return ProductSeparator(program, scop, facts).run();
}

std::optional<Compute> over_all_loops(const Scop& scop, const ScopStatement& s) {
  Compute c = s.compute;
  c.left.clear();
  c.base.reset();
  c.combine.reset();
  for (const auto* list : {&c.out, &c.reduce}) {
    if (std::ranges::any_of(*list, [&](const Label& l) { return varies(scop, l); })) return std::nullopt;
  }
  std::map<ValueId, Expr> labels;
  for (std::size_t d = 0; d < s.loops.size(); ++d) {
    const ScopLoop& own = scop.loops[s.loops[d]];
    if (!own.values) return std::nullopt;
    labels.emplace(own.index, index_ref(static_cast<std::int32_t>(d)));
    c.out.insert(c.out.begin() + static_cast<std::ptrdiff_t>(d), Label{"", *own.lowest, *own.lowest + *own.values});
  }
  rewrite_expressions(c, [&](const Expr& e) {
    return rewrite(shift_labels(e, 0, static_cast<std::int32_t>(s.loops.size())), [&](const Expr& x) {
      const auto* r = std::get_if<Read>(&x->op);
      const auto found = r == nullptr ? labels.end() : labels.find(r->tensor);
      return found == labels.end() ? x : found->second;
    });
  });
  return c;
}

}  // namespace tdsl::passes
