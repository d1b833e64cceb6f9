#include "runtime/plan/op_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "runtime/plan/compressed.h"

namespace tdsl::plan {

namespace {

/// Offsets beyond this are out of range in every dimension, which has at most 2^53 elements. They are clamped, so that
/// sums and differences of offsets do not overflow.
constexpr Index kLargestOffset = Index{1} << 61;

Index clamped(Index offset) { return std::clamp(offset, -kLargestOffset, kLargestOffset); }

/// The element at `constant`; empty for the largest integer.
Interval element_at(Index constant) {
  return {constant, constant == std::numeric_limits<Index>::max() ? constant : constant + 1};
}

}  // namespace

DimAccess at(int label, Index constant, Index coefficient) {
  return {{{label, coefficient}}, element_at(clamped(constant)), false};
}
DimAccess at(std::vector<Affine::Term> terms, Index constant) {
  return {std::move(terms), element_at(clamped(constant)), false};
}
DimAccess near(int label, Index lo, Index hi) { return {{{label, 1}}, {clamped(lo), clamped(hi)}, false}; }
DimAccess quotient(std::vector<Affine::Term> terms, Index constant, Index divisor) {
  return {std::move(terms), element_at(constant), false, divisor};
}
DimAccess fixed(Index lo, Index hi) { return {{}, {clamped(lo), clamped(hi)}, false}; }
DimAccess whole() { return {{}, {0, 0}, true}; }
DimAccess walked(int label) { return {{}, {0, 0}, true, 1, label}; }

void drop_idle_labels(Access& access) {
  for (DimAccess& dim : access.dims) std::erase_if(dim.terms, [](const Affine::Term& t) { return t.coefficient == 0; });
}

OpBuilder::OpBuilder(OpClass op_class, std::string_view name, int site, int line) {
  op_.op_class = op_class;
  op_.name = name;
  op_.site = site;
  op_.line = line;
}
OpBuilder::OpBuilder(Op op) : op_(std::move(op)) {}
OpBuilder::~OpBuilder() = default;
OpBuilder::OpBuilder(const OpBuilder&) = default;
OpBuilder::OpBuilder(OpBuilder&&) noexcept = default;

OpBuilder& OpBuilder::out(std::string_view label, Interval range) {
  op_.add_out({std::string(label), range});
  return *this;
}

OpBuilder& OpBuilder::label(std::string_view name, Interval range) {
  op_.labels.push_back({std::string(name), range});
  return *this;
}

OpBuilder& OpBuilder::reduce(std::string_view label, Interval range) {
  op_.add_reduce({std::string(label), range});
  return *this;
}

OpBuilder& OpBuilder::gather(std::string_view label, Index extent) {
  reduce(label, Interval{0, std::max<Index>(extent, 1)});
  op_.labels.back().from_data = true;
  return *this;
}

OpBuilder& OpBuilder::write(std::initializer_list<Index> shape, std::initializer_list<OutSubscript> subscripts) {
  return write(std::vector<Index>(shape), std::vector<OutSubscript>(subscripts));
}

OpBuilder& OpBuilder::write(std::vector<Index> shape, std::vector<OutSubscript> subscripts) {
  op_.shape = std::move(shape);
  // A range that ends below 0 is empty.
  for (Index& extent : op_.shape) extent = std::max<Index>(extent, 0);
  op_.out = std::move(subscripts);
  return *this;
}

OpBuilder& OpBuilder::uncut() {
  op_.set_uncut(op_.shape.size() - 1);
  return *this;
}

OpBuilder& OpBuilder::base(TensorId tensor) {
  op_.base = tensor;
  return *this;
}

OpBuilder& OpBuilder::read(TensorId tensor, std::initializer_list<DimAccess> dims) {
  return read(tensor, std::vector<DimAccess>(dims));
}

OpBuilder& OpBuilder::read(TensorId tensor, std::vector<DimAccess> dims) {
  op_.reads.push_back({tensor, std::move(dims)});
  drop_idle_labels(op_.reads.back());
  return *this;
}

OpBuilder& OpBuilder::combine(Combine c) {
  op_.combine = c;
  return *this;
}

OpBuilder& OpBuilder::pieces(std::vector<PackedPiece> list) {
  if (!list.empty()) op_.combine = list.front().combine;
  op_.pieces = std::move(list);
  return *this;
}

OpBuilder& OpBuilder::flops(double per_point) {
  op_.flops_per_point = std::max(per_point, 0.0) * visited_;  // polynomial estimates may be negative
  return *this;
}

OpBuilder& OpBuilder::flops_per_row(Index row, Index of_products, Index dense) {
  op_.by_rows = true;
  op_.product_share = row > 0 ? std::clamp(static_cast<double>(of_products) / static_cast<double>(row), 0.0, 1.0) : 0;
  double points = 1;
  for (std::size_t d = 0; d < op_.shape.size(); ++d) {
    if (op_.is_uncut(d)) points *= static_cast<double>(std::max<Index>(op_.shape[d], 1));
  }
  flops(static_cast<double>(row - dense) / points);
  op_.dense_flops_per_point = static_cast<double>(dense) / points;
  op_.flops_per_point += op_.dense_flops_per_point;
  return *this;
}

OpBuilder& OpBuilder::tile(std::initializer_list<Index> edges) { return tile(std::vector<Index>(edges)); }

OpBuilder& OpBuilder::tile(std::vector<Index> edges) {
  op_.tile = std::move(edges);
  return *this;
}

OpBuilder& OpBuilder::run_ahead(Index bytes) {
  op_.run_ahead = bytes;
  return *this;
}

OpBuilder& OpBuilder::set(bool Op::*flag) {
  op_.*flag = true;
  return *this;
}

OpBuilder& OpBuilder::moves() {
  for (std::size_t d = 1; d < op_.shape.size(); ++d) op_.set_uncut(d);
  return set(&Op::moves);
}

OpBuilder& OpBuilder::on_rank(Index rank) {
  op_.home = rank;
  op_.ordered = true;
  return *this;
}

OpBuilder& OpBuilder::stored(Storage storage, const Estimate& elements) {
  TensorDesc& output = op_.outputs.emplace_back();
  output.storage = std::move(storage);
  output.stored = elements;
  return *this;
}

namespace {

/// Upper bound of the stored elements of two matrices with the same rows; null if unknown for either.
std::shared_ptr<const RowCounts> united(const std::shared_ptr<const RowCounts>& a,
                                        const std::shared_ptr<const RowCounts>& b) {
  if (a == nullptr || b == nullptr || a->rows != b->rows || a->before.size() != b->before.size()) return nullptr;
  RowCounts both = *a;
  for (std::size_t k = 0; k < both.before.size(); ++k) both.before[k] += b->before[k];
  const bool columns = a->fullest_column > 0 && b->fullest_column > 0;
  both.fullest_column = columns ? a->fullest_column + b->fullest_column : 0;
  return std::make_shared<const RowCounts>(std::move(both));
}

}  // namespace

OpBuilder& OpBuilder::stored_like(const TensorDesc& walked) { return stored_like(std::vector{&walked}); }

OpBuilder& OpBuilder::stored_like(const std::vector<const TensorDesc*>& walked) {
  const TensorDesc& first = *walked.front();
  double most = 1;
  for (const Index extent : op_.shape) most *= static_cast<double>(extent);
  Storage storage = first.storage;
  Estimate elements;
  std::shared_ptr<const RowCounts> rows = first.rows;
  for (std::size_t k = 0; k < walked.size(); ++k) {
    storage.values = storage.values || walked[k]->storage.values;
    elements.expected = std::min(most, elements.expected + walked[k]->stored.expected);
    elements.hi = std::min(most, elements.hi + walked[k]->stored.hi);
    if (k > 0) rows = united(rows, walked[k]->rows);
  }
  const bool same_rank = op_.shape.size() == first.shape.size();
  stored(same_rank ? std::move(storage) : compressed(op_.shape, elements), elements);
  op_.outputs.back().rows = std::move(rows);
  return *this;
}

OpBuilder& OpBuilder::stored_of_points(const TensorDesc& walked) {
  double points = visited_, volume = 1, columns = 1;
  for (const LabelDesc& l : op_.labels) points *= static_cast<double>(l.range.size());
  for (std::size_t d = 0; d < op_.shape.size(); ++d) {
    volume *= static_cast<double>(op_.shape[d]);
    columns *= d == 0 ? 1.0 : static_cast<double>(op_.shape[d]);
  }
  const double hi = std::min(volume, walked.stored.hi * columns);
  const double expected = volume > 0 ? std::ceil(-volume * std::expm1(-points / volume)) : 0;
  return stored(walked.storage, {0, std::min(expected, hi), hi});
}

namespace {

/// The most elements that a row of the matrix stores, as far as its file reveals them.
double in_fullest_row(const TensorDesc& matrix) {
  double most = static_cast<double>(matrix.shape[1]);
  if (matrix.rows == nullptr) return most;
  Index counted = 0;
  const std::vector<Index>& before = matrix.rows->before;
  for (std::size_t b = 1; b < before.size(); ++b) counted = std::max(counted, before[b] - before[b - 1]);
  return std::min(most, static_cast<double>(counted));
}

/// The same of a column.
double in_fullest_column(const TensorDesc& matrix) {
  const auto most = static_cast<double>(matrix.shape[0]);
  const bool known = matrix.rows != nullptr && matrix.rows->fullest_column > 0;
  return known ? std::min(most, static_cast<double>(matrix.rows->fullest_column)) : most;
}

/// The elements of a matrix whose rows, or columns, have as many as the fullest line of every operand.
double all_of_lines(const std::vector<Index>& shape, const std::vector<const TensorDesc*>& operands,
                    double (*in_fullest)(const TensorDesc&)) {
  double most = 0;
  for (const TensorDesc* operand : operands)
    most += static_cast<double>(std::max(shape[0], shape[1])) * in_fullest(*operand);
  return most;
}

double all_of(const RowCounts& counts) { return static_cast<double>(counts.before.back()); }

void limit(Estimate& elements, double most) {
  elements = {0, std::min(elements.expected, most), std::min(elements.hi, most)};
}

/// The stored elements of a result that consists of parts with elements of these operands at other positions.
Estimate moved_elements(const std::vector<Index>& shape, const std::vector<const TensorDesc*>& operands, bool once) {
  double all = 1;
  for (const Index extent : shape) all *= static_cast<double>(extent);
  Estimate elements;
  double densest = 0;  // parts together are not denser than the densest of them
  for (const TensorDesc* operand : operands) {
    const double share = std::ceil(stored_share(*operand) * all);
    densest = std::max(densest, share);
    elements.expected += once ? std::min(operand->stored.expected, share) : share;
    elements.expected = std::min(elements.expected, densest);
    elements.hi = std::min(all, elements.hi + (once || operand->stored.hi == 0 ? operand->stored.hi : all));
  }
  return elements;
}

}  // namespace

OpBuilder& OpBuilder::stored_elements_of(const std::vector<const TensorDesc*>& operands) {
  const Estimate elements = moved_elements(op_.shape, operands, true);
  return stored(compressed(op_.shape, elements), elements);
}

OpBuilder& OpBuilder::stored_selected_from(const std::vector<const TensorDesc*>& operands) {
  const Estimate elements = moved_elements(op_.shape, operands, false);
  return stored(compressed(op_.shape, elements), elements);
}

OpBuilder& OpBuilder::stored_rows_selected_from(const std::vector<const TensorDesc*>& operands) {
  Estimate elements = moved_elements(op_.shape, operands, false);
  limit(elements, all_of_lines(op_.shape, operands, in_fullest_row));
  return stored(compressed(op_.shape, elements), elements);
}

OpBuilder& OpBuilder::stored_columns_selected_from(const std::vector<const TensorDesc*>& operands) {
  Estimate elements = moved_elements(op_.shape, operands, false);
  limit(elements, all_of_lines(op_.shape, operands, in_fullest_column));
  return stored(compressed(op_.shape, elements), elements);
}

OpBuilder& OpBuilder::stored_as_guessed() {
  Estimate elements = guessed_stored(op_.shape);
  if (within_ != nullptr) limit(elements, all_of(*within_));
  return stored(compressed(op_.shape, elements), elements);
}

OpBuilder& OpBuilder::stored_at_visited() {
  const double all = all_of(*within_);
  const Estimate elements{0, all, all};  // computed elements may be 0
  stored(compressed(op_.shape, elements), elements);
  op_.outputs.back().rows = within_;
  return *this;
}

OpBuilder& OpBuilder::stored_assembled() {
  double points = 1, volume = 1;
  for (const LabelDesc& l : op_.labels) points *= l.from_data ? 1.0 : static_cast<double>(l.range.size());
  for (std::size_t d = 0; d < op_.shape.size(); ++d) {
    volume *= static_cast<double>(op_.shape[d]);
    if (d > 0) op_.set_uncut(d);
  }
  const double most = std::min(points, volume);
  const Estimate elements{0, most, most};  // points may share positions, have a false guard, or cancel
  return stored(compressed(op_.shape, elements), elements);
}

OpBuilder& OpBuilder::stored_within(const TensorDesc& mask) {
  Estimate& elements = op_.outputs.back().stored;
  elements = {0, std::min(elements.expected, mask.stored.expected), std::min(elements.hi, mask.stored.hi)};
  return *this;
}

OpBuilder& OpBuilder::stored_within(const std::vector<PointBound>& bounds) {
  limit(op_.outputs.back().stored, all_of(points_within(op_.shape[0], op_.shape[1], bounds)));
  return *this;
}

OpBuilder& OpBuilder::visits_within(const std::vector<PointBound>& bounds) {
  within_ = std::make_shared<const RowCounts>(points_within(op_.shape[0], op_.shape[1], bounds));
  const double volume = static_cast<double>(op_.shape[0]) * static_cast<double>(op_.shape[1]);
  visit(volume > 0 ? all_of(*within_) / volume : 0);
  return *this;
}

OpBuilder& OpBuilder::visits(const TensorDesc& walked) { return visits(std::vector{&walked}); }

OpBuilder& OpBuilder::visits(const std::vector<const TensorDesc*>& walked) {
  double absent = 1;
  for (const TensorDesc* tensor : walked) absent *= 1 - stored_share(*tensor);
  visit(walked.size() == 1 ? stored_share(*walked.front()) : 1 - absent);
  return *this;
}

OpBuilder& OpBuilder::sparsity(const Sparsity<Index>& sparsity,
                               const std::function<const TensorDesc*(TensorId)>& tensor) {
  const auto all = [&](const std::vector<TensorId>& ids) {
    std::vector<const TensorDesc*> list;
    for (const TensorId id : ids) list.push_back(tensor(id));
    return list;
  };
  for (const std::vector<TensorId>& either : sparsity.visits) visits(all(either));
  if (sparsity.result == SparseResult::kLikeVisited) stored_like(all(sparsity.visits.front()));
  if (sparsity.result == SparseResult::kOfPoints) stored_of_points(*tensor(sparsity.visits.front().front()));
  for (const TensorId mask : sparsity.within) stored_within(*tensor(mask));
  if (sparsity.result == SparseResult::kElementsOf) stored_elements_of(all(sparsity.elements_of));
  if (sparsity.result == SparseResult::kSelectedFrom) stored_selected_from(all(sparsity.elements_of));
  if (sparsity.result == SparseResult::kRowsSelectedFrom) stored_rows_selected_from(all(sparsity.elements_of));
  if (sparsity.result == SparseResult::kColumnsSelectedFrom) stored_columns_selected_from(all(sparsity.elements_of));
  if (!sparsity.bounds.empty()) sparsity.compresses() ? visits_within(sparsity.bounds) : stored_within(sparsity.bounds);
  if (sparsity.result == SparseResult::kGuessed) stored_as_guessed();
  if (sparsity.result == SparseResult::kAtVisited) stored_at_visited();
  if (sparsity.result == SparseResult::kAssembled) stored_assembled();
  return *this;
}

/// Reduces the visited points to a share of those visited so far. Rounded to few digits, so that task-by-task sums
/// equal the prediction for a rank.
void OpBuilder::visit(double share) {
  constexpr int kDigits = 16;
  int exponent = 0;
  const double fraction = std::frexp(visited_ * share, &exponent);
  const double before =
      std::exchange(visited_, std::ldexp(std::round(std::ldexp(fraction, kDigits)), exponent - kDigits));
  const double all = op_.flops_per_point, dense = op_.dense_flops_per_point;
  op_.flops_per_point = dense + (before > 0 ? (all - dense) / before * visited_ : 0);
  if (op_.product_share > 0 && op_.flops_per_point > 0)
    op_.product_share = std::min(1.0, op_.product_share * all / op_.flops_per_point);
}

}  // namespace tdsl::plan
