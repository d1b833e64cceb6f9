#include <algorithm>

#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

using record::Known;

/// Maximum number of row blocks of a tall matrix: more than the number of ranks such a matrix is worth.
constexpr Index kRowBlocks = 64;

class Qr : private Steps {
 public:
  Qr(Caller& caller, Call& call) : Steps(caller, call), m_(operand(0).extent(0)), n_(operand(0).extent(1)) {
    // Limits the total size of all R to a quarter of A.
    const Index squares = m_ / std::max<Index>(n_, 1);
    const Index few = std::max(squares / 4, std::min<Index>(squares, 2));
    const Index groups = std::max<Index>(std::min(kRowBlocks, few), 1);
    height_ = plan::ceil_div(m_, groups);
    count_ = height_ > 0 ? plan::ceil_div(m_, height_) : 0;
  }

  void run() {
    TensorHandle joined = tree(0, operand(0));
    const bool tried = caller_.indirect_qr(m_, n_, count_);
    either(
        call_.site.known, 1, tried, [&] { indirectly(joined); }, [&] { directly(13, joined); });
  }

 private:
  /// R of each block, then QR of the stacked R: n x n blocks, of which the last is R.
  TensorHandle tree(int place, const TensorHandle& a) {
    OpBuilder factors = op(OpClass::kMap, "stacked", place);
    factors.out("g", count_).out("i", n_).uncut().out("j", n_).uncut();
    factors.read(a.id(), {DimAccess{{{0, height_}}, {0, height_}, false}, whole()})
        .flops(2 * static_cast<double>(height_))
        .tile({1});
    const TensorHandle stacked = compute(factors, element(), KernelName::kBlockR, {height_});
    OpBuilder joined = op(OpClass::kMap, "joined", place + 1);
    joined.out("g", count_ + 1).uncut().out("i", n_).uncut().out("j", n_).uncut();
    joined.read(stacked.id(), {whole(), whole(), whole()}).flops(2 * static_cast<double>(n_));
    return compute(joined, element(), KernelName::kQr);
  }

  /// Q of each block times its rows of the stack's Q.
  void directly(int place, const TensorHandle& joined) {
    if (result(0).wanted) {
      OpBuilder q = op(OpClass::kMap, name(0, "q"), place);
      q.out("i", m_).out("j", n_).uncut();
      q.read(operand(0).id(), {at(0), whole()})
          .read(joined.id(), {plan::quotient({{0, 1}}, 0, height_), whole(), whole()});
      q.flops(6 * static_cast<double>(n_)).tile({height_});
      result(0).tensor = compute(q, element(), KernelName::kBlockQ, {height_});
    }
    release_operands();
    if (!result(1).wanted) return;
    OpBuilder r = op(OpClass::kMap, name(1, "r"), place + 1);
    r.out("i", n_).out("j", n_).read(joined.id(), {last(), at(0), at(1)}).flops(0).divisible();
    result(1).tensor = compute(r, element(), KernelName::kLast, {count_});
  }

  /// Q1 = A R^-1, then the same for Q1, which restores the orthogonality lost to the condition of A. If the loss is too
  /// large (R2 is not close to the identity), falls back to the direct variant.
  void indirectly(TensorHandle& joined) {
    TensorHandle q = over_r(2, operand(0), joined, "near_q");
    TensorHandle again = tree(4, q);
    const bool near = is_near_unit(again);
    const auto mended = [&] {
      release_operands();
      if (result(0).wanted) result(0).tensor = over_r(8, q, again, name(0, "q"));
      if (result(1).wanted) result(1).tensor = product_of_last(again, joined);
    };
    either(Known::kData, 2, near, mended, [&] {
      q.release();
      again.release();
      directly(11, joined);
    });
  }

  /// `a` times the inverse of the R from the tree.
  TensorHandle over_r(int place, const TensorHandle& a, const TensorHandle& joined, std::string_view name) {
    OpBuilder transpose = op(OpClass::kMap, "r_transposed", place);
    transpose.out("i", n_).out("j", n_).read(joined.id(), {last(), at(1), at(0)}).flops(0).divisible();
    const TensorHandle lower = compute(transpose, element(), KernelName::kLastTransposed, {count_});
    OpBuilder divide = op(OpClass::kMap, name, place + 1);
    divide.out("i", m_).out("j", n_).uncut();
    divide.read(a.id(), {at(0), whole()})
        .read(lower.id(), {whole(), whole()})
        .flops(static_cast<double>(n_))
        .tile({height_});
    return compute(divide, element(), KernelName::kTriangularRows);
  }

  bool is_near_unit(const TensorHandle& again) {
    OpBuilder distance = op(OpClass::kReduce, "far", 6);
    distance.reduce("i", n_)
        .reduce("j", n_)
        .read(again.id(), {last(), at(0), at(1)})
        .combine(plan::Combine::kSum)
        .flops(6);
    const TensorHandle far = compute(distance, element(), KernelName::kDistanceFromUnit, {count_});
    const std::optional<double> value = caller_.read(far, {call_.site.first + 7, call_.site.line});
    return !value || *value < 0.25;
  }

  TensorHandle product_of_last(const TensorHandle& left, const TensorHandle& right) {
    OpBuilder r = op(OpClass::kReduce, name(1, "r"), 10);
    r.out("i", n_)
        .out("j", n_)
        .reduce("l", n_)
        .read(left.id(), {last(), at(0), at(2)})
        .read(right.id(), {last(), at(2), at(1)});
    r.combine(plan::Combine::kSum).flops(2);
    return compute(r, element(), KernelName::kProductOfLast, {count_});
  }

  [[nodiscard]] DimAccess last() const { return fixed(count_, count_ + 1); }

  Index m_;
  Index n_;
  Index height_ = 0;  ///< rows per block; the last may be shorter
  Index count_ = 0;   ///< number of blocks
};

}  // namespace

void distributed_qr(Caller& caller, Call& call) { Qr(caller, call).run(); }

}  // namespace tdsl::rt::routines
