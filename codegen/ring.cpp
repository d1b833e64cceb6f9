#include "codegen/ring.h"

#include <algorithm>

#include "ir/expr_build.h"

namespace tdsl::codegen {

namespace {

/// `label + constant` modulo `extent`.
struct Ring {
  int label = 0;
  Extent constant;
  Extent extent;
  Expr sum;      ///< label + constant as written
  Expr divisor;  ///< the extent as written
};

std::optional<Ring> ring_of(const Expr& e, const std::vector<LabelTemplate>& labels, const Hoist& hoist) {
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr || (b->op != ir::BinaryOp::kMod && b->op != ir::BinaryOp::kRem)) return std::nullopt;
  const auto sum = affine_of(b->left, hoist);
  const auto divisor = sum ? affine_of(b->right, hoist) : std::nullopt;
  if (!sum || !divisor || !divisor->terms.empty() || sum->terms.size() != 1) return std::nullopt;
  if (!(sum->terms[0].coefficient == Extent(1))) return std::nullopt;
  Ring ring{sum->terms[0].label, sum->constant, divisor->constant, b->left, b->right};
  const LabelTemplate& label = labels[static_cast<std::size_t>(ring.label)];
  if (!provably_inside({{{ring.label, Extent(1)}}, {}}, labels, ring.extent)) return std::nullopt;
  // `%` keeps the sign of a negative sum, which is then no subscript.
  if (b->op == ir::BinaryOp::kRem && (label.begin + ring.constant).constant().value_or(-1) < 0) return std::nullopt;
  return ring;
}

Expr with_label(const Expr& e, int label, const Expr& value) {
  return ir::rewrite(e, [&](const Expr& n) {
    const auto* r = std::get_if<ir::IndexRef>(&n->op);
    return r != nullptr && r->label == label ? value : n;
  });
}

std::vector<LabelTemplate> labels_of(const ir::Compute& compute) {
  std::vector<LabelTemplate> labels;
  for (const auto* list : {&compute.out, &compute.reduce}) {
    for (const ir::Label& l : *list) labels.push_back({LabelTemplate::Kind::kPlain, l.name, l.begin, l.end});
  }
  return labels;
}

class ReadUnroller {
 public:
  ReadUnroller(const std::vector<LabelTemplate>& labels, FamilyBuilder& builder, SourceRange range,
               std::unordered_set<const ir::ExprNode*>& trusted)
      : labels_(labels), builder_(builder), range_(range), trusted_(trusted), hoist_([&builder](const Expr& x) { return builder.hoist(x); }) {}

  Expr operator()(const Expr& e) {
    return ir::rewrite(e, [this](const Expr& n) {
      const auto* r = std::get_if<ir::Read>(&n->op);
      return r == nullptr || builder_.is_host(r->tensor) ? n : unrolled(n, *r, std::vector<bool>(r->subscripts.size(), false));
    });
  }

 private:
  /// `inside`: dimensions that have been unrolled.
  Expr unrolled(const Expr& e, const ir::Read& r, const std::vector<bool>& inside) {
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      const auto ring = ring_of(r.subscripts[d], labels_, hoist_);
      if (!ring || !(builder_.rewritten(builder_.type(r.tensor).shape[d], range_) == ring->extent)) continue;
      std::vector<bool> now = inside;
      now[d] = true;
      return choice(e, r, d, *ring, now);
    }
    if (std::ranges::find(inside, true) != inside.end() && surely_inside(r, inside)) trusted_.insert(e.id());
    return e;
  }

  /// Both reads may have a ring in a later dimension.
  Expr choice(const Expr& e, const ir::Read& r, std::size_t d, const Ring& ring, const std::vector<bool>& inside) {
    const auto at = [&](const Expr& subscript) {
      std::vector<Expr> subscripts = r.subscripts;
      subscripts[d] = subscript;
      const Expr read = ir::read(e->type, r.tensor, std::move(subscripts), e->range);
      return unrolled(read, std::get<ir::Read>(read->op), inside);
    };
    const auto constant = ring.constant.constant();
    const Expr label = ir::index_ref(ring.label);
    if (constant && *constant == 0) return at(label);
    const bool back = constant && *constant == -1;
    const Expr moved = constant && *constant == 1 ? ring.sum : back ? ring.sum : ir::binary(ir::BinaryOp::kAdd, label, turn(ring));
    const Expr around = ir::binary(back ? ir::BinaryOp::kAdd : ir::BinaryOp::kSub, moved, ring.divisor);
    const Expr stays = back ? ir::binary(ir::BinaryOp::kGe, moved, ir::constant_i64(0)) : ir::binary(ir::BinaryOp::kLt, moved, ring.divisor);
    return ir::select(stays, at(moved), at(around));
  }

  /// The constant brought into 0 .. n - 1, once and on every rank.
  Expr turn(const Ring& ring) {
    const Expr constant = with_label(ring.sum, ring.label, ir::constant_i64(0));
    const Expr divisor = ir::binary(ir::BinaryOp::kMax, ring.divisor, ir::constant_i64(1));
    const ValueId v = builder_.new_value({ir::Scalar::kI64, {}, {}}, "turn", range_, true);
    builder_.add(range_, HostStep{v, ir::binary(ir::BinaryOp::kMod, constant, divisor)});
    return ir::read(ir::Scalar::kI64, v, {});
  }

  bool surely_inside(const ir::Read& r, const std::vector<bool>& inside) {
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      if (inside[d]) continue;
      const auto form = affine_of(r.subscripts[d], hoist_);
      if (!form || !provably_inside(*form, labels_, builder_.rewritten(builder_.type(r.tensor).shape[d], range_))) return false;
    }
    return true;
  }

  const std::vector<LabelTemplate>& labels_;
  FamilyBuilder& builder_;
  SourceRange range_;
  std::unordered_set<const ir::ExprNode*>& trusted_;
  Hoist hoist_;
};

}  // namespace

bool unroll_left_ring(ir::Compute& compute, const std::vector<Extent>& shape, const Hoist& hoist) {
  bool changed = false;
  for (std::size_t d = 0; d < compute.left.size(); ++d) {
    const std::vector<LabelTemplate> labels = labels_of(compute);
    const auto ring = ring_of(compute.left[d], labels, hoist);
    if (!ring || !(ring->extent == shape[d]) || static_cast<std::size_t>(ring->label) >= compute.out.size()) continue;
    const ir::Label& label = compute.out[static_cast<std::size_t>(ring->label)];
    if (!(label.begin == Extent(0)) || !(label.end == ring->extent)) continue;
    const auto elsewhere = [&](const Expr& e) { return &e != &compute.left[d] && ir::mentions_label(e, ring->label); };
    if (std::ranges::any_of(compute.left, elsewhere)) continue;
    const Expr target = ir::index_ref(ring->label, compute.left[d]->range);
    const Expr constant = with_label(ring->sum, ring->label, ir::constant_i64(0));
    const Expr source = ir::binary(ir::BinaryOp::kMod, ir::binary(ir::BinaryOp::kSub, target, constant), ring->divisor);
    for (Expr& body : compute.bodies) body = with_label(body, ring->label, source);
    if (compute.guard) compute.guard = with_label(compute.guard, ring->label, source);
    compute.left[d] = target;
    changed = true;
  }
  return changed;
}

Expr unroll_ring_reads(const Expr& e, const std::vector<LabelTemplate>& labels, FamilyBuilder& builder, SourceRange range,
                       std::unordered_set<const ir::ExprNode*>& trusted) {
  return e ? ReadUnroller(labels, builder, range, trusted)(e) : e;
}

}  // namespace tdsl::codegen
