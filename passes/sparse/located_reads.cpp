#include "passes/sparse/located_reads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Locator {
 public:
  Locator(const Program& program, const Compute& c, bool lines_reduced)
      : program_(program), compute_(c), lines_reduced_(lines_reduced), labels_(passes::labels_of(c)) {}

  std::vector<LocatedRead> run() {
    for (const Expr& body : compute_.bodies) visit(body, !compute_.guard);
    if (compute_.guard) visit(compute_.guard, true);
    return std::move(found_);
  }

 private:
  /// `always`: evaluated at all points.
  void visit(const Expr& e, bool always) {
    if (const auto* s = std::get_if<Select>(&e->op)) {
      visit(s->condition, always);
      visit(s->when_true, false);
      visit(s->when_false, false);
      return;
    }
    if (const auto* b = std::get_if<Binary>(&e->op); b != nullptr && is_logical(b->op)) {
      visit(b->left, always);
      visit(b->right, false);
      return;
    }
    for (const Expr& child : children(*e)) visit(child, always);
    const auto* r = std::get_if<Read>(&e->op);
    if (r == nullptr || !program_.type(r->tensor).is_compressed() || program_.type(r->tensor).rank() != 2 ||
        std::ranges::any_of(found_, [&](const LocatedRead& known) { return equal(known.read, e); }))
      return;
    if (std::optional<LocatedRead> located = of(e, *r, always)) found_.push_back(std::move(*located));
  }

  [[nodiscard]] std::optional<LocatedRead> of(const Expr& e, const Read& r, bool always) const {
    const std::optional<Affine> row = affine_of(r.subscripts[0], read_scalar);
    const std::optional<Affine> column = affine_of(r.subscripts[1], read_scalar);
    if (!row || !column) return std::nullopt;
    const bool fails = read_may_fail(program_, r, labels_);
    const std::size_t d = row->terms.empty() ? 1 : 0;  // the dimension with a label, if only one has
    if (row->terms.empty() && column->terms.empty())
      return fails && !(always && labels_.empty()) ? std::nullopt : std::optional(element(e, r));
    if (row->terms.empty() || column->terms.empty())
      return is_composed() && (!fails || (always && covers(r, d))) ? std::optional(line(e, r, d)) : std::nullopt;
    const bool along =
        row->terms.size() == 1 && column->terms.size() == 1 && row->terms[0].label == column->terms[0].label;
    return along && !fails ? diagonal(e, r, *row, *column) : std::nullopt;
  }

  /// Plain reads need no vector: rearranged_reads.h reads a matrix of one row or column. So it does in many reductions.
  [[nodiscard]] bool is_composed() const {
    return compute_.bodies.size() == 1 && (lines_reduced_ || !compute_.monoid) &&
           !std::holds_alternative<Read>(compute_.bodies[0]->op);
  }
  /// True if the Compute's points are the elements of that dimension.
  [[nodiscard]] bool covers(const Read& r, std::size_t d) const {
    return labels_.size() == 1 && is_label(r.subscripts[d], 0) && labels_[0]->begin == Extent(0) &&
           labels_[0]->end == program_.type(r.tensor).shape[d];
  }

  /// `A[3, j]`: a row or column, with dimension `d`, as a vector.
  [[nodiscard]] LocatedRead line(const Expr& e, const Read& r, std::size_t d) const {
    Compute c;
    c.out = {{"i", Extent(0), program_.type(r.tensor).shape[d]}};
    std::vector<Expr> subscripts = r.subscripts;
    subscripts[d] = index_ref(0);
    c.bodies = {read(e->type, r.tensor, std::move(subscripts), e->range)};
    return {e, r.tensor, std::move(c), {r.subscripts[d]}, false};
  }

  /// `A[3, 5]`: rearranged_reads.h then reads a matrix with this element alone.
  [[nodiscard]] static LocatedRead element(const Expr& e, const Read& r) {
    Compute c = sum_over(e->type);
    c.reduce = {{"k", Extent(0), Extent(1)}, {"l", Extent(0), Extent(1)}};
    c.bodies = {read(e->type, r.tensor,
                     {index_sum(r.subscripts[0], index_ref(0)), index_sum(r.subscripts[1], index_ref(1))}, e->range)};
    return {e, r.tensor, std::move(c), {}, false};
  }

  /// Row x has its element in column s x + o: an element of the vector over all rows, whatever rows are read.
  [[nodiscard]] std::optional<LocatedRead> diagonal(const Expr& e, const Read& r, const Affine& row,
                                                    const Affine& column) const {
    const auto of_row = row.terms[0].coefficient.constant();
    const auto of_column = column.terms[0].coefficient.constant();
    const auto is_unit = [](const auto& c) { return c && (*c == 1 || *c == -1); };
    if (!is_unit(of_row) || !is_unit(of_column)) return std::nullopt;
    const std::int64_t sign = *of_row * *of_column;
    const Expr offset = expr_of_polynomial(column.constant - Extent(sign) * row.constant);
    const Expr place = sign == 1 ? index_sum(index_ref(0), offset) : index_difference(offset, index_ref(0));
    const std::vector<Extent>& shape = program_.type(r.tensor).shape;
    Compute c = sum_over(e->type);
    c.out = {{"i", Extent(0), shape[0]}};
    c.reduce = {{"j", Extent(0), shape[1]}};
    c.bodies = {read(e->type, r.tensor, {index_ref(0), index_ref(1)}, e->range)};
    c.guard = binary(BinaryOp::kEq, place, index_ref(1), e->range);
    return LocatedRead{e, r.tensor, std::move(c), {r.subscripts[0]}, true};
  }

  [[nodiscard]] static Compute sum_over(Scalar type) {
    Compute c;
    c.monoid = Monoid{type == Scalar::kBool ? Monoid::Kind::kAny : Monoid::Kind::kSum, {}, {}, {}};
    return c;
  }

  const Program& program_;
  const Compute& compute_;
  bool lines_reduced_;
  std::vector<const Label*> labels_;
  std::vector<LocatedRead> found_;
};

}  // namespace

std::vector<LocatedRead> located_reads(const Program& program, const Compute& compute, bool lines_reduced) {
  return Locator(program, compute, lines_reduced).run();
}

}  // namespace tdsl::passes
