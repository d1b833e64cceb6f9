#include "ir/analysis/lookups.h"
#include "ir/graph/computes.h"

#include <algorithm>

namespace tdsl::ir {

namespace {

/// Operands below a mebibyte are fetched whole.
bool is_small_operand(const Type& type) {
  double bytes = static_cast<double>(size_of(type.scalar));
  for (const Extent& e : type.shape) {
    const auto n = e.constant();
    if (!n) return false;
    bytes *= static_cast<double>(*n);
  }
  return bytes < 1 << 20;
}

bool contains(const Expr& e, const Expr& part) {
  bool found = false;
  for_each_node(e, [&](const ExprNode& n) { found = found || &n == part.id(); });
  return found;
}

class LookupFinder {
 public:
  LookupFinder(const TypeOf& type, const Hoist& hoist) : type_(type), hoist_(hoist) {}

  void visit(const Expr& e, Lookup::Place place, bool conditional) {
    if (const auto* s = std::get_if<Select>(&e->op)) {
      visit(s->condition, place, conditional);
      visit(s->when_true, place, true);
      visit(s->when_false, place, true);
      return;
    }
    if (const auto* b = std::get_if<Binary>(&e->op); b != nullptr && is_logical(b->op)) {
      visit(b->left, place, conditional);
      visit(b->right, place, true);
      return;
    }
    for (const Expr& child : children(*e)) visit(child, place, conditional);
    if (const auto* r = std::get_if<Read>(&e->op)) read(e, *r, place, conditional);
  }

  std::vector<Lookup> run(const Compute& c) {
    for (const Expr& body : c.bodies) visit(body, Lookup::Place::kBody, false);
    if (c.guard) visit(c.guard, Lookup::Place::kGuard, false);
    for (const Expr& e : c.left) visit(e, Lookup::Place::kLeft, false);
    for (Lookup& lookup : list_) {
      lookup.inner = std::ranges::any_of(list_, [&](const Lookup& other) {
        return other.read.id() != lookup.read.id() && contains(other.read, lookup.read);
      });
    }
    return std::move(list_);
  }

 private:
  void read(const Expr& e, const Read& r, Lookup::Place place, bool conditional) {
    if (r.subscripts.empty() || is_small_operand(type_(r.tensor))) return;
    std::vector<bool> data;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) data.push_back(is_data_subscript(r, d, hoist_));
    if (std::ranges::find(data, true) == data.end()) return;
    const auto known = std::ranges::find_if(list_, [&](const Lookup& l) { return l.read.id() == e.id(); });
    if (known == list_.end()) {
      list_.push_back({e, std::move(data), place, conditional});
      return;
    }
    known->conditional = known->conditional || conditional;
    if (known->place == Lookup::Place::kBody) known->place = place;
  }

  const TypeOf& type_;
  const Hoist& hoist_;
  std::vector<Lookup> list_;
};

}  // namespace

std::vector<Lookup> lookups_of(const Compute& c, const TypeOf& type, const Hoist& hoist) {
  return LookupFinder(type, hoist).run(c);
}

const Lookup* lookup_in_panels(const Compute& c, const std::vector<Lookup>& list) {
  const Lookup* only = nullptr;
  for (const Lookup& lookup : list) {
    // Fetched whole in any position.
    if (lookup.inner && lookup.conditional) continue;
    if (only != nullptr) return nullptr;
    only = &lookup;
  }
  if (only == nullptr || only->conditional || only->place != Lookup::Place::kBody) return nullptr;
  if (c.monoid) return combines_freely(*c.monoid) ? only : nullptr;
  // Elements that no point defines must equal the initial value of panels.
  const Scalar type = c.bodies.front()->type;
  const bool begins_alike = c.guard ? c.fill && equal(c.fill, identity_of(found_once(type), type)) : !c.fill;
  return c.left.empty() && !c.base && !c.combine && begins_alike ? only : nullptr;
}

Monoid found_once(Scalar s) {
  const Monoid::Kind kind = s == Scalar::kBool ? Monoid::Kind::kAny
                            : is_complex(s)    ? Monoid::Kind::kSum  // complex numbers have no order
                                               : Monoid::Kind::kMax;
  return Monoid{kind, {}, {}, {}};
}

}  // namespace tdsl::ir
