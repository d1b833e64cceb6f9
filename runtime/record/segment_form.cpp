#include "runtime/record/segment_form.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/plan/op_fields.h"

namespace tdsl::record {

using plan::TensorId;

namespace {

/// Calls `on_tensor` for each mention of a tensor: operands, then outputs, of each operation; then dropped names.
template <class OnTensor>
void for_each_mention(const plan::Segment& segment, const OnTensor& on_tensor) {
  for (const plan::Op& op : segment.ops) {
    plan::for_each_number(
        op, [](plan::Index) {}, on_tensor);
    for (const plan::TensorDesc& output : op.outputs) on_tensor(output.id);
  }
  for (const TensorId id : segment.dropped) on_tensor(id);
}

/// Compares two operations in parallel (plan::visit_fields), apart from their numbers, names and tensors.
struct Comparison {
  bool same = true;

  template <class T>
  void note(std::string_view what, const T& a, const T& b) {
    if (what == "site" || what == "run_ahead") property({}, a, b);
  }
  template <class T>
  void property(std::string_view, const T& a, const T& b) {
    same = same && a == b;
  }
  void flag(std::string_view, bool a, bool b) { same = same && a == b; }
  void estimate(std::string_view, double a, double b) { same = same && a == b; }
  void number(std::string_view, plan::Index a, plan::Index b) { same = same && a == b; }
  void tensor(std::string_view, TensorId a, TensorId b) { same = same && (a < 0) == (b < 0); }
  void outputs(const std::vector<plan::TensorDesc>& a, const std::vector<plan::TensorDesc>& b) {
    same = same && std::ranges::equal(a, b, [](const plan::TensorDesc& x, const plan::TensorDesc& y) {
             return x.element == y.element && x.shape == y.shape && x.tile == y.tile && x.storage == y.storage &&
                    x.stored == y.stored && x.rows == y.rows && x.uncut == y.uncut;
           });
  }
  template <class Each, class T>
  void list(std::string_view, const Each& each, const std::vector<T>& a, const std::vector<T>& b) {
    same = same && a.size() == b.size();
    for (std::size_t k = 0; same && k < a.size(); ++k) each(*this, a[k], b[k]);
  }
};

}  // namespace

SegmentForm::SegmentForm(plan::Segment segment) : segment_(std::move(segment)) {
  std::unordered_map<TensorId, int> slots;
  std::unordered_set<TensorId> made;
  for (const plan::Op& op : segment_.ops) {
    for (const plan::TensorDesc& output : op.outputs) made.insert(output.id);
  }
  for_each_mention(segment_, [&](TensorId id) {
    const auto [entry, added] = slots.emplace(id, static_cast<int>(tensors_.size()));
    if (added) {
      tensors_.push_back(id);
      if (!made.contains(id)) outside_.push_back(entry->second);
    }
    uses_.push_back(entry->second);
  });
}

bool SegmentForm::matches(const plan::Segment& other, std::vector<TensorId>& tensors) const {
  if (!other.settled.empty() || other.ops.size() != segment_.ops.size() ||
      other.dropped.size() != segment_.dropped.size())
    return false;
  Comparison comparison;
  for (std::size_t k = 0; comparison.same && k < other.ops.size(); ++k)
    plan::visit_fields(comparison, segment_.ops[k], other.ops[k]);
  if (!comparison.same) return false;
  tensors.assign(tensors_.size(), -1);
  std::size_t use = 0;
  bool same = true;
  for_each_mention(other, [&](TensorId id) {
    TensorId& tensor = tensors[static_cast<std::size_t>(uses_[use++])];
    same = same && (tensor < 0 || tensor == id);
    tensor = id;
  });
  if (!same) return false;
  // Different slots are different tensors: those made by the segment are new.
  for (auto a = outside_.begin(); a != outside_.end(); ++a) {
    for (auto b = outside_.begin(); b != a; ++b) {
      if (tensors[static_cast<std::size_t>(*a)] == tensors[static_cast<std::size_t>(*b)]) return false;
    }
  }
  return true;
}

int SegmentForm::slot_of(TensorId tensor) const {
  const auto found = std::ranges::find(tensors_, tensor);
  return found == tensors_.end() ? -1 : static_cast<int>(found - tensors_.begin());
}

}  // namespace tdsl::record
