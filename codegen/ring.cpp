#include "codegen/ring.h"

#include <algorithm>

#include "ir/periodic.h"

namespace tdsl::codegen {

namespace {

std::vector<ir::Label> ranges_of(const std::vector<LabelTemplate>& labels) {
  std::vector<ir::Label> ranges;
  for (const LabelTemplate& l : labels) ranges.push_back({l.name, l.begin, l.end});
  return ranges;
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
      const auto ring = ir::periodic_of(r.subscripts[d], ranges_of(labels_), hoist_);
      if (!ring || !(builder_.rewritten(builder_.type(r.tensor).shape[d], range_) == ring->extent)) continue;
      std::vector<bool> now = inside;
      now[d] = true;
      return choice(e, r, d, *ring, now);
    }
    if (std::ranges::find(inside, true) != inside.end() && surely_inside(r, inside)) trusted_.insert(e.id());
    return e;
  }

  /// Both reads may have a ring in a later dimension.
  Expr choice(const Expr& e, const ir::Read& r, std::size_t d, const ir::Periodic& ring, const std::vector<bool>& inside) {
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
  Expr turn(const ir::Periodic& ring) {
    const Expr constant = ir::with_label(ring.sum, ring.label, ir::constant_i64(0));
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

Expr unroll_ring_reads(const Expr& e, const std::vector<LabelTemplate>& labels, FamilyBuilder& builder, SourceRange range,
                       std::unordered_set<const ir::ExprNode*>& trusted) {
  return e ? ReadUnroller(labels, builder, range, trusted)(e) : e;
}

}  // namespace tdsl::codegen
