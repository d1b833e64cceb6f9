#include "ir/differentiate/around_boundaries.h"

#include <cstdint>
#include <map>
#include <optional>

#include "ir/analysis/boundary.h"
#include "ir/graph/expr_build.h"
#include "runtime/kernels/scalar_math.h"

namespace tdsl::ir {

namespace {

/// Each position outside becomes a partial of its own.
constexpr std::int64_t kMostPositions = 4;

std::int64_t place_of(BinaryOp op, std::int64_t x, std::int64_t n) {
  if (op == BinaryOp::kEdge) return rt::scalar::edge(x, n);
  return op == BinaryOp::kReflect ? rt::scalar::reflect(x, n) : rt::scalar::symmetric(x, n);
}

/// The pieces of one dimension of a partial.
class Pieces {
 public:
  Pieces(const Partial& whole, std::size_t d, const Boundary& boundary, const Extent& extent)
      : whole_(whole), d_(d), boundary_(boundary), extent_(extent) {}

  std::vector<Partial> run(std::int64_t below, std::int64_t above) {
    add(boundary_.x, is_inside(boundary_));
    for (std::int64_t t = 1; t <= below; ++t) outside(t, true);
    for (std::int64_t t = 1; t <= above; ++t) outside(t, false);
    return std::move(pieces_);
  }

 private:
  /// The position `distance` places outside. Its place differs from it by one number in all dimensions but the
  /// shortest, which are listed.
  void outside(std::int64_t distance, bool below) {
    const std::int64_t usual = (below ? 1 : -1) * farthest_image(boundary_.op, distance);
    const Expr end = below ? constant_i64(0) : boundary_.n;
    const Expr position = index_sum(end, constant_i64(below ? -distance : distance - 1));
    const Expr here = binary(BinaryOp::kEq, boundary_.x, position);
    const auto size = extent_.constant();
    std::map<std::int64_t, std::vector<std::int64_t>> others;  // sizes by shift
    for (std::int64_t n = 1; n <= distance; ++n) {
      const std::int64_t x = below ? -distance : n - 1 + distance;
      const std::int64_t shift = place_of(boundary_.op, x, n) - x;
      // With the usual shift, other sizes have no such place.
      if (!size || *size == n) others[shift].push_back(n);
    }
    const bool always_usual = others.empty() || (others.size() == 1 && others.contains(usual));
    if (always_usual || !size) shifted(usual, here);
    for (const auto& [shift, sizes] : others) {
      if (shift == usual) continue;
      for (const std::int64_t n : sizes)
        shifted(shift, size ? here : conjunction_of(here, binary(BinaryOp::kEq, boundary_.n, constant_i64(n))));
    }
  }
  void shifted(std::int64_t shift, const Expr& condition) {
    add(index_sum(boundary_.x, constant_i64(shift)), condition);
  }
  void add(const Expr& subscript, const Expr& condition) {
    Partial piece = whole_;
    piece.read.subscripts[d_] = subscript;
    if (condition) piece.condition = conjunction_of(condition, piece.condition);
    pieces_.push_back(std::move(piece));
  }

  const Partial& whole_;
  std::size_t d_;
  const Boundary& boundary_;
  const Extent& extent_;
  std::vector<Partial> pieces_;
};

void collect(const Partial& p, std::size_t d, const Type& tensor, const std::vector<Label>& labels,
             const ExtentFacts& facts, std::vector<Partial>& found) {
  for (; d < p.read.subscripts.size(); ++d) {
    const auto boundary = boundary_of(p.read.subscripts[d], labels, read_scalar);
    const auto below = boundary ? boundary->below.constant() : std::nullopt;
    const auto above = below ? boundary->above.constant() : std::nullopt;
    if (!above || *below > kMostPositions || *above > kMostPositions) continue;
    // A longer dimension could have an element where the shorter one has none.
    if (!facts.same(boundary->extent, tensor.shape[d])) continue;
    const Extent extent = boundary->extent.substitute([&](ValueId v) { return std::optional(facts.of_value(v)); });
    for (const Partial& piece : Pieces(p, d, *boundary, extent).run(*below, *above))
      collect(piece, d + 1, tensor, labels, facts, found);
    return;
  }
  found.push_back(p);
}

}  // namespace

std::vector<Partial> at_affine_places(const Partial& p, const Type& tensor, const std::vector<Label>& labels,
                                      const ExtentFacts& facts) {
  std::vector<Partial> found;
  collect(p, 0, tensor, labels, facts, found);
  return found;
}

}  // namespace tdsl::ir
