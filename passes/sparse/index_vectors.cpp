#include "passes/sparse/index_vectors.h"

#include <set>
#include <utility>

#include "ir/analysis/periodic.h"
#include "ir/analysis/rearrangement.h"
#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_moved_as_it_is(const Program& program, const Expr& subscript, const Extent& extent,
                       const std::vector<Label>& labels) {
  if (affine_of(subscript, read_scalar)) return true;
  const auto end_of = [&](std::int32_t l) { return labels[static_cast<std::size_t>(l)].end; };
  if (const auto around = periodic_of(subscript, labels, read_scalar))
    return around->extent == extent && end_of(around->label) == extent;
  const auto index = index_vector(subscript, [&](ValueId v) -> const Type& { return program.type(v); });
  return index && program.type(*index).shape[0] == end_of(bare_label(std::get<Read>(subscript->op).subscripts[0]));
}

/// Computes the subscript for all values of its index variable, if the others have any.
Compute values_of(const Program& program, const Expr& subscript, std::int32_t label, const std::vector<Label>& labels) {
  Compute vector;
  vector.out = {labels[static_cast<std::size_t>(label)]};
  std::vector<Expr> renamed(labels.size());
  renamed[static_cast<std::size_t>(label)] = index_ref(0);
  vector.bodies = {substitute_labels(subscript, renamed)};
  if (!can_fail(program, vector)) return vector;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    if (static_cast<std::int32_t>(l) == label || labels[l].end.constant().value_or(0) > 0) continue;
    const Expr some = binary(BinaryOp::kLt, constant_i64(0), expr_of_polynomial(labels[l].end));
    vector.guard = vector.guard ? conjunction_of(vector.guard, some) : some;
  }
  return vector;
}

}  // namespace

bool fits_in_vector(const Program& program, const Expr& subscript) {
  return labels_in(subscript).size() <= 1 &&
         !any_read(subscript, [&](const Read& r) { return program.type(r.tensor).is_compressed(); });
}

std::int32_t label_in(const Expr& subscript) {
  if (const auto form = affine_of(subscript, read_scalar)) return form->terms.empty() ? -1 : form->terms[0].label;
  const std::set<std::int32_t> used = labels_in(subscript);
  return used.empty() ? -1 : *used.begin();
}

Expr with_index_vectors(Program& program, const Expr& matrix_read, const std::vector<Label>& labels,
                        std::vector<SeparateMatrix>& made) {
  const auto& r = std::get<Read>(matrix_read->op);
  std::vector<Expr> subscripts = r.subscripts;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const std::set<std::int32_t> used = labels_in(subscripts[d]);
    if (used.empty() || is_moved_as_it_is(program, subscripts[d], program.type(r.tensor).shape[d], labels)) continue;
    const std::int32_t label = *used.begin();
    Compute vector = values_of(program, subscripts[d], label, labels);
    const ValueId v = program.new_value({Scalar::kI64, {vector.out[0].end}, {}}, "", matrix_read->range);
    made.push_back({v, std::move(vector), {}});
    subscripts[d] = read(Scalar::kI64, v, {index_ref(label)}, matrix_read->range);
  }
  return read(matrix_read->type, r.tensor, std::move(subscripts), matrix_read->range);
}

std::optional<SeparatedReads> selection(Program& program, const Compute& compute) {
  if (!std::holds_alternative<Read>(compute.bodies[0]->op) || compute.guard) return std::nullopt;
  SeparatedReads changed{compute, {}};
  const std::size_t values = program.values.size();
  changed.compute.bodies = {with_index_vectors(program, compute.bodies[0], compute.out, changed.made)};
  if (rearrangement(program, changed.compute)) return changed;
  program.values.resize(values);
  return std::nullopt;
}

}  // namespace tdsl::passes
