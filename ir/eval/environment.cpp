#include "ir/eval/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ir/graph/check.h"
#include "ir/graph/clone.h"
#include "runtime/message_id.h"
#include "runtime/size.h"

namespace tdsl::ir::eval {

namespace {

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {}

  /// Every value used by the region's nodes or yields, at any depth.
  std::set<ValueId> region(const Region& r) {
    std::set<ValueId> own(r.arguments.begin(), r.arguments.end());
    for (const Node& n : r.nodes) own.insert(n.results.begin(), n.results.end());
    std::set<ValueId> used(r.yields.begin(), r.yields.end());
    for (auto node = r.nodes.rbegin(); node != r.nodes.rend(); ++node) {
      std::vector<ValueId>& last = lifetimes_.last[&*node];
      std::set<ValueId> mentioned = mentions(*node);
      mentioned.insert(node->results.begin(), node->results.end());
      for (const ValueId v : mentioned) {
        if (used.insert(v).second && own.contains(v)) last.push_back(v);
      }
    }
    return used;
  }

  Lifetimes take() { return std::move(lifetimes_); }

 private:
  std::set<ValueId> mentions(const Node& node) {
    std::set<ValueId> inside;
    for (const Region* r : regions_in(node)) inside.merge(region(*r));
    const std::vector<ValueId> operands = operands_of(program_, node);
    std::set<ValueId> all = inside;
    all.insert(operands.begin(), operands.end());
    if (!inside.empty()) lifetimes_.captured[&node] = std::move(inside);
    return all;
  }

  const Program& program_;
  Lifetimes lifetimes_;
};

}  // namespace

Lifetimes find_lifetimes(const Program& program) {
  Finder finder(program);
  finder.region(program.body);
  return finder.take();
}

const Array& Environment::get(ValueId v) const {
  const auto& array = slots_[static_cast<std::size_t>(v.id)];
  TDSL_CHECK(array != nullptr, fmt::format("%{} has no value here", v.id));
  return *array;
}

std::shared_ptr<Array> Environment::share(ValueId v) const {
  TDSL_CHECK(slots_[static_cast<std::size_t>(v.id)] != nullptr, fmt::format("%{} has no value here", v.id));
  return slots_[static_cast<std::size_t>(v.id)];
}

std::shared_ptr<Array> Environment::take(ValueId v) {
  TDSL_CHECK(slot(v) != nullptr, fmt::format("%{} has no value here", v.id));
  return std::move(slot(v));
}

void Environment::set(ValueId v, std::shared_ptr<Array> array) { slot(v) = std::move(array); }

std::int64_t Environment::control(ValueId v) {
  const Array& a = get(v);
  TDSL_CHECK(a.shape.empty() && !is_float(a.type), "control needs an integer or bool scalar");
  uncertain_ = uncertain_ || (!a.bounds.empty() && a.bounds[0] != 0);
  return a.integers[0];
}

std::int64_t Environment::extent(const Extent& e, const SourceRange& place) {
  try {
    return e.evaluate([this](ValueId v) { return control(v); });
  } catch (const std::domain_error& error) { stop(place, rt::with_id(error.what(), "too-large")); }
}

rt::Exact Environment::exact(const Extent& e, const SourceRange& place) {
  try {
    return e.evaluate_exactly([this](ValueId v) { return control(v); });
  } catch (const std::domain_error& error) { stop(place, rt::with_id(error.what(), "too-large")); }
}

std::vector<std::int64_t> Environment::shape(ValueId v, const SourceRange& place, bool computed) {
  std::vector<std::int64_t> extents;
  for (const Extent& e : program_.type(v).shape) {
    extents.push_back(extent(e, place));
    // A range that ends before it begins is empty; a negative declared size is an error.
    if (computed) extents.back() = std::max<std::int64_t>(extents.back(), 0);
    if (extents.back() < 0) {
      stop(place, fmt::format("dimension {} of {} has the negative extent {} [too-large]", extents.size() - 1,
                              program_.info(v).name.empty() ? "the result" : program_.info(v).name, extents.back()));
    }
  }
  const Scalar type = program_.type(v).scalar;
  if (!rt::is_legal_size(extents, size_of(type)))
    stop(place, rt::with_id(rt::too_large_text(program_.info(v).name, name_of(type), extents), "too-large"));
  return extents;
}

Array extended(const Array& array, const std::vector<std::int64_t>& shape) {
  Array result = zeros(array.type, shape);
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) to = to * shape[d] + at[d];
    set_element(result, static_cast<std::size_t>(to), element(array, static_cast<std::size_t>(k)));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < array.shape[d]) break;
      at[d] = 0;
    }
  }
  return result;
}

}  // namespace tdsl::ir::eval
