#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/op.h"

namespace tdsl::plan {

/// `i + 1` as one dimension of an access: label number, coefficient, constant.
[[nodiscard]] inline DimAccess at(int label, Index constant = 0, Index coefficient = 1) {
  return {{{label, coefficient}}, {constant, constant + 1}, false};
}
/// Several labels: `at({{0, 1}, {1, 2}}, -1)` is label 0 + 2 * label 1 - 1.
[[nodiscard]] inline DimAccess at(std::vector<Affine::Term> terms, Index constant = 0) {
  return {std::move(terms), {constant, constant + 1}, false};
}
/// Neighbouring subscripts: label + every offset in [lo, hi).
[[nodiscard]] inline DimAccess near(int label, Index lo, Index hi) { return {{{label, 1}}, {lo, hi}, false}; }
/// (coefficients * labels + constant) / divisor.
[[nodiscard]] inline DimAccess quotient(std::vector<Affine::Term> terms, Index constant, Index divisor) {
  return {std::move(terms), {constant, constant + 1}, false, divisor};
}
/// Fixed elements [lo, hi).
[[nodiscard]] inline DimAccess fixed(Index lo, Index hi) { return {{}, {lo, hi}, false}; }
[[nodiscard]] inline DimAccess whole() { return {{}, {0, 0}, true}; }

/// Builds an Op step by step; emitted programs and `tdslc explain` use it. Labels are numbered in the order they are
/// added (out, label and reduce alike).
class OpBuilder {
 public:
  OpBuilder(OpClass op_class, std::string name, int site, int line) {
    op_.op_class = op_class;
    op_.name = std::move(name);
    op_.site = site;
    op_.line = line;
  }
  /// A new output dimension of range.size() elements, written at label - range.lo.
  OpBuilder& out(std::string label, Interval range) {
    op_.out.push_back({static_cast<int>(op_.labels.size()), 1, -range.lo});
    op_.shape.push_back(range.size());
    op_.labels.push_back({std::move(label), range});
    return *this;
  }
  OpBuilder& out(std::string label, Index extent) { return out(std::move(label), Interval{0, extent}); }
  /// A label that is neither an output dimension by itself nor reduced; `write` says where it goes.
  OpBuilder& label(std::string name, Interval range) {
    op_.labels.push_back({std::move(name), range});
    return *this;
  }
  OpBuilder& reduce(std::string label, Interval range) {
    op_.reduce.push_back({static_cast<int>(op_.labels.size()), -1});
    op_.labels.push_back({std::move(label), range});
    return *this;
  }
  /// A dimension of an operand that is subscripted by data; see LabelDesc::from_data. An empty dimension still has its points,
  /// whose subscripts the kernel must see to refuse them.
  OpBuilder& gather(std::string label, Index extent) {
    reduce(std::move(label), Interval{0, std::max<Index>(extent, 1)});
    op_.labels.back().from_data = true;
    return *this;
  }
  OpBuilder& reduce(std::string label, Index extent) { return reduce(std::move(label), Interval{0, extent}); }
  /// The output's shape and subscripts, for left sides that are not plain labels.
  OpBuilder& write(std::vector<Index> shape, std::vector<OutSubscript> subscripts) {
    op_.shape = std::move(shape);
    op_.out = std::move(subscripts);
    return *this;
  }
  /// The output dimension added last is never cut: each task gets all of it.
  OpBuilder& uncut() {
    op_.uncut.resize(op_.shape.size(), false);
    op_.uncut.back() = true;
    return *this;
  }
  /// Elements not written keep those of `tensor`.
  OpBuilder& base(TensorId tensor) {
    op_.base = tensor;
    return *this;
  }
  OpBuilder& read(TensorId tensor, std::vector<DimAccess> dims, std::string text = {}) {
    op_.reads.push_back({tensor, std::move(dims), std::move(text)});
    return *this;
  }
  OpBuilder& combine(Combine c) {
    op_.combine = c;
    return *this;
  }
  OpBuilder& flops(double per_point) {
    op_.flops_per_point = per_point;
    return *this;
  }
  OpBuilder& tile(std::vector<Index> edges) {
    op_.tile = std::move(edges);
    return *this;
  }
  OpBuilder& run_ahead(Index bytes) {
    op_.run_ahead = bytes;
    return *this;
  }
  OpBuilder& replicated() {
    op_.replicated = true;
    return *this;
  }
  OpBuilder& on_rank(Index rank) {
    op_.home = rank;
    op_.ordered = true;
    return *this;
  }
  [[nodiscard]] Op& op() { return op_; }

 private:
  Op op_;
};

}  // namespace tdsl::plan
