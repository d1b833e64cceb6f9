#include <algorithm>
#include <set>
#include <utility>

#include "codegen/loops/kernel_nest_builder.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

// Note [Loops over tiles] A body that uses an index only as quotient and remainder of one size, `A[i / b, i % b]`, runs
// over tiles, and in each over the task's positions in it: the quotient is constant there, and the remainder one
// subtraction. No point divides, and the innermost loop may be vectorised.
//
//     for (Index i_tile = range_i.lo / b; i_tile < (range_i.hi + b - 1) / b; ++i_tile) {
//       const Index i_begin = max(range_i.lo, i_tile * b), i_end = min(range_i.hi, i_tile * b + b);
//       for (Index i = i_begin; i < i_end; ++i) y(i) = A(i_tile, i - i_tile * b);
//     }

namespace tdsl::codegen {

namespace {

constexpr std::int64_t kLongTile = 16;

/// `i / b` or `i % b`.
struct Division {
  int label = -1;
  Expr divisor;
  bool remainder = false;
};

/// Label -1 for any other expression.
Division division_of(const ir::ExprNode& e) {
  const auto* b = std::get_if<ir::Binary>(&e.op);
  const bool divides =
      b != nullptr && e.type == ir::Scalar::kI64 && (b->op == ir::BinaryOp::kDiv || b->op == ir::BinaryOp::kRem);
  if (!divides) return {};
  return {ir::bare_label(b->left), b->right, b->op == ir::BinaryOp::kRem};
}

}  // namespace

void KernelNestBuilder::find_divisors() {
  const bool plain = ir::stored_loops(compute_) == nullptr && !op_.sparsity.compresses() && kernel_.gathers.empty() &&
                     kernel_.scattered.empty();
  if (!plain) return;
  std::set<int> others;
  const auto divide = [&](const Division& d) {
    const auto known = divisors_.try_emplace(d.label, d.divisor).first;
    if (!ir::equal(known->second, d.divisor) || !is_edge(d.divisor) ||
        !(op_.labels[static_cast<std::size_t>(d.label)].range.lo == Extent(0)))
      others.insert(d.label);
  };
  ir::for_each_node(compute_.bodies.front(), [&](const ir::ExprNode& e) {
    const auto* r = std::get_if<ir::Read>(&e.op);
    if (r == nullptr) return;
    for (const Expr& subscript : r->subscripts) {
      if (const Division d = division_of(*subscript); d.label >= 0) divide(d);
    }
  });
  for (const int label : others) divisors_.erase(label);
}

/// True for a dimension, which is positive if the body divides by it, and for numbers for which loops over tiles are
/// worthwhile: a division by a number is a multiplication.
bool KernelNestBuilder::is_edge(const Expr& e) const {
  if (const auto* c = std::get_if<ir::Constant>(&e->op)) return std::get<std::int64_t>(c->value) >= kLongTile;
  const auto* r = std::get_if<ir::Read>(&e->op);
  if (r == nullptr || !r->subscripts.empty() || !program_.is_host(r->tensor)) return false;
  return is_dimension(r->tensor, step_.target) || std::ranges::any_of(op_.reads, [&](const SymbolicAccess& read) {
           return is_dimension(r->tensor, read.tensor);
         });
}

void KernelNestBuilder::open_tile(int label) {
  if (!divisors_.contains(label)) return;
  const std::string& name = label_names_[static_cast<std::size_t>(label)];
  const auto integer = [&](const char* what) { return local(name + what, ir::Scalar::kI64); };
  tiles_[label] = {integer("_from"), integer("_to"), integer("_tile"), integer("_begin"), integer("_end")};
}

nest::TaskRange KernelNestBuilder::range_in_tile(int label) const {
  const auto tile = tiles_.find(label);
  return tile == tiles_.end() ? TaskRange{} : TaskRange{tile->second.begin, tile->second.end};
}

nest::Body KernelNestBuilder::in_tiles(int label, Body body) {
  const auto found = tiles_.find(label);
  if (found == tiles_.end()) return body;
  const Tile& tile = found->second;
  const Expr edge = of_nest(divisors_.at(label));
  const Expr first = ir::binary(ir::BinaryOp::kMul, local_read(tile.number), edge);
  const Expr end = ir::binary(ir::BinaryOp::kAdd, first, edge);
  const Body tile_body = collected([&] {
    add(nest::Narrow{tile.begin, label, {}, true, first, false, true});
    add(nest::Narrow{tile.end, label, {tile.begin, {}}, false, end, false, true});
    append(std::move(body));
  });
  const Expr all = ir::expr_of_polynomial(of_nest(op_.labels[static_cast<std::size_t>(label)].range.hi));
  const auto quotient = [&](const Expr& e) { return ir::binary(ir::BinaryOp::kDiv, e, edge); };
  const Expr past =
      ir::binary(ir::BinaryOp::kAdd, local_read(tile.to), ir::binary(ir::BinaryOp::kSub, edge, ir::constant_i64(1)));
  // Without points the size may be 0.
  return collected([&] {
    add(nest::If{nest::HasPoints{{label}}, collected([&] {
                   add(nest::Narrow{tile.from, label, {}, true, ir::constant_i64(0)});
                   add(nest::Narrow{tile.to, label, {}, false, all});
                   add(nest::Count{tile.number, quotient(local_read(tile.from)), quotient(past), 1, tile_body});
                 })});
  });
}

ir::Expr KernelNestBuilder::in_open_tile(const Expr& e) {
  const Division d = division_of(*e);
  const auto tile = tiles_.find(d.label);
  if (tile == tiles_.end() || !ir::equal(divisors_.at(d.label), d.divisor)) return {};
  const Expr quotient = local_read(tile->second.number);
  if (!d.remainder) return quotient;
  return ir::binary(ir::BinaryOp::kSub, ir::index_ref(d.label),
                    ir::binary(ir::BinaryOp::kMul, quotient, of_nest(d.divisor)));
}

bool KernelNestBuilder::is_position(const Expr& subscript, const Extent& extent) const {
  const Division d = division_of(*subscript);
  return d.remainder && divisors_.contains(d.label) && ir::extent_of(d.divisor) == extent;
}

std::set<int> KernelNestBuilder::in_order_in_tiles() const {
  std::set<int> labels;
  if (divisors_.empty()) return labels;
  for (const auto& [node, extents] : kernel_.checked) {
    const auto& r = std::get<ir::Read>(node->op);
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (extents[d] && !is_position(r.subscripts[d], *extents[d])) return labels;
    }
  }
  const auto advances = [&](const ir::Read& r, int label) {
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      const bool last = d + 1 == r.subscripts.size();
      if (const Division part = division_of(*r.subscripts[d]); part.label >= 0 && divisors_.contains(part.label)) {
        if (part.remainder && part.label == label && !last) return false;
        continue;
      }
      const auto form = ir::affine_of(r.subscripts[d], ir::read_scalar);
      if (!form) return false;
      for (const ir::Term& t : form->terms) {
        if (t.label == label && (!last || !(t.coefficient == Extent(1)))) return false;
      }
    }
    return true;
  };
  for (int label = 0; label < static_cast<int>(op_.labels.size()); ++label) {
    const bool strays = ir::any_read(
        compute_.bodies.front(), [&](const ir::Read& r) { return !program_.is_host(r.tensor) && !advances(r, label); });
    if (!strays) labels.insert(label);
  }
  return labels;
}

}  // namespace tdsl::codegen
