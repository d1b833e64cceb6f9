#include "ir/graph/computes.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tdsl::ir {

const Label& label_of(const Compute& c, std::int32_t label) {
  const auto l = static_cast<std::size_t>(label);
  return l < c.out.size() ? c.out[l] : c.reduce[l - c.out.size()];
}

Label& label_of(Compute& c, std::int32_t label) { return const_cast<Label&>(label_of(std::as_const(c), label)); }

std::vector<Label> all_labels(const Compute& c) {
  std::vector<Label> labels = c.out;
  labels.insert(labels.end(), c.reduce.begin(), c.reduce.end());
  return labels;
}

std::vector<Label> renamed_apart(std::vector<Label> labels, std::vector<Label> others) {
  for (Label& l : labels) {
    while (std::ranges::find(others, l.name, &Label::name) != others.end()) l.name += "1";
    others.push_back(l);
  }
  return labels;
}

std::vector<Label> plain_labels(const std::vector<Extent>& shape) {
  std::vector<Label> labels;
  for (const Extent& e : shape) labels.push_back({std::string(1, static_cast<char>('i' + labels.size())), 0, e});
  return labels;
}

std::vector<Label> numbered_labels(const std::vector<Extent>& shape) {
  std::vector<Label> labels;
  for (const Extent& e : shape) labels.push_back({"i" + std::to_string(labels.size()), 0, e});
  return labels;
}

std::vector<Expr> plain_subscripts(std::size_t rank) {
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < rank; ++d) subscripts.push_back(index_ref(static_cast<std::int32_t>(d)));
  return subscripts;
}

bool locates(const Monoid& m) { return m.kind == Monoid::Kind::kArgMin || m.kind == Monoid::Kind::kArgMax; }

bool combines_freely(const Monoid& m) { return !locates(m) && m.kind != Monoid::Kind::kUser; }

const SparseIteration* stored_loops(const Compute& c) {
  return c.iteration && !c.iteration->loops.empty() ? &*c.iteration : nullptr;
}

}  // namespace tdsl::ir
