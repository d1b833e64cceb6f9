#include "passes/fuse_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/serial_loop.h"
#include "passes/affine.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

const Label& label_of(const Compute& c, std::int32_t label) {
  const auto l = static_cast<std::size_t>(label);
  return l < c.out.size() ? c.out[l] : c.reduce[l - c.out.size()];
}
std::int32_t label_count(const Compute& c) { return static_cast<std::int32_t>(c.out.size() + c.reduce.size()); }

void for_each_read(const Compute& c, const std::function<void(const Read&)>& f) {
  for_each_node(c.bodies[0], [&](const ExprNode& n) {
    if (const auto* r = std::get_if<Read>(&n.op))
      f(*r);
  });
}

bool applies(const Expr& e) {
  bool found = false;
  for_each_node(e, [&](const ExprNode& n) { found = found || std::holds_alternative<Apply>(n.op); });
  return found;
}

bool is_known_monoid(const Monoid& m) {
  return m.kind != Monoid::Kind::kUser && m.kind != Monoid::Kind::kArgMin && m.kind != Monoid::Kind::kArgMax;
}

class RowFusion {
 public:
  RowFusion(Program program, PassContext& context) : program_(std::move(program)), context_(context), uses_(use_counts(program_)) {}

  Program run() {
    Region body = std::move(program_.body);
    visit(body);
    program_.body = std::move(body);
    return std::move(program_);
  }

 private:
  /// Which labels of an operator the nest runs over.
  using Shared = std::vector<std::int32_t>;
  /// The nodes of one nest, by their places in the region, each with its shared labels.
  using Nest = std::map<std::size_t, Shared>;

  void visit(Region& region) {
    for (Node& node : region.nodes) {
      if (is_marked_serial(node))
        continue;
      for (Region* inner : regions_of(node))
        visit(*inner);
    }
    // From the last node on, so that a nest is seen with its last operator first.
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      const Nest nest = best_nest(region, k);
      if (nest.size() > 1 && pays(region, nest))
        k = build(region, nest);
    }
  }

  [[nodiscard]] const Compute* plain_compute(const Node& node) const {
    const auto* c = std::get_if<Compute>(&node.op);
    const bool plain = c != nullptr && c->bodies.size() == 1 && c->left.empty() && !c->base && !c->combine && !c->guard && !c->fill && !c->in_any_order;
    if (!plain || program_.type(node.results[0]).has_sparse() || !program_.info(node.results[0]).tile.empty())
      return nullptr;
    if ((c->monoid && !is_known_monoid(*c->monoid)) || applies(c->bodies[0]) || can_fail(program_, *c))
      return nullptr;
    return c;
  }

  /// Whether the operator can be in a nest over `shared`: rows of what it reads are where the nest is, and no row is read more often than once.
  [[nodiscard]] bool fits(const Compute& c, const Shared& shared) const {
    const auto aligned = static_cast<std::size_t>(std::ranges::count_if(shared, [&](std::int32_t l) { return static_cast<std::size_t>(l) < c.out.size(); }));
    if (aligned != 0 && (aligned != shared.size() || shared != leading(shared.size())))
      return false;
    if (std::ranges::any_of(shared, [&](std::int32_t l) { return !(label_of(c, l).begin == Extent(0)); }))
      return false;
    bool good = true;
    bool covered = c.reduce.empty();
    for_each_read(c, [&](const Read& r) {
      std::set<std::int32_t> labels;
      for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
        const std::int32_t label = bare_label(r.subscripts[d]);
        const auto place = static_cast<std::size_t>(std::ranges::find(shared, label) - shared.begin());
        good = good && (label >= 0 ? labels.insert(label).second && (place == shared.size() || place == d) : extent_of(r.subscripts[d]).has_value());
      }
      good = good && !program_.type(r.tensor).has_sparse();
      const bool by_rows = std::ranges::all_of(shared, [&](std::int32_t l) { return labels.contains(l); });
      covered = covered || (by_rows && static_cast<std::int32_t>(labels.size()) == label_count(c));
    });
    return good && covered;
  }

  /// The first labels.
  static Shared leading(std::size_t count) {
    Shared labels(count);
    std::iota(labels.begin(), labels.end(), 0);
    return labels;
  }

  /// What the nest may run over, as its last operator has it: its first labels, or those of the first dimensions of what it reads.
  static std::vector<Shared> candidates(const Compute& c) {
    std::vector<Shared> lists;
    for (std::size_t count = 1; count <= c.out.size(); ++count)
      lists.push_back(leading(count));
    for_each_read(c, [&](const Read& r) {
      Shared shared;
      for (const Expr& subscript : r.subscripts) {
        const std::int32_t label = bare_label(subscript);
        if (label < static_cast<std::int32_t>(c.out.size()))
          break;
        shared.push_back(label);
        lists.push_back(shared);
      }
    });
    return lists;
  }

  /// The one with most operators; of several, the one over most labels, which has most tasks.
  Nest best_nest(const Region& region, std::size_t seed) const {
    const Compute* c = plain_compute(region.nodes[seed]);
    Nest best;
    if (c == nullptr)
      return best;
    for (const Shared& shared : candidates(*c)) {
      if (!fits(*c, shared))
        continue;
      Nest nest = grown(region, seed, shared);
      if (nest.size() > best.size() || (nest.size() == best.size() && !nest.empty() && shared.size() > best.at(seed).size()))
        best = std::move(nest);
    }
    return best;
  }

  /// The nest that ends with the operator and runs over these labels of it.
  Nest grown(const Region& region, std::size_t seed, const Shared& shared) const {
    Nest nest{{seed, shared}};
    const Shared rows = leading(shared.size());
    for (std::size_t k = seed; k-- > 0;) {
      const Compute* c = plain_compute(region.nodes[k]);
      if (c == nullptr || c->out.size() < rows.size() || !fits(*c, rows) || !read_by_rows(region, nest, region.nodes[k].results[0], *c))
        continue;
      if (!replaced_meanwhile(*c, region, k + 1, seed))
        nest.emplace(k, rows);
    }
    return nest;
  }

  /// Whether operators of the nest are all that reads the value of this Compute, each at its shared labels.
  bool read_by_rows(const Region& region, const Nest& nest, ValueId v, const Compute& producer) const {
    int readers = 0;
    for (const auto& [k, shared] : nest) {
      const auto& c = std::get<Compute>(region.nodes[k].op);
      bool reads_it = false;
      bool by_rows = true;
      for (std::size_t f = 0; f < shared.size(); ++f)
        by_rows = by_rows && label_of(c, shared[f]).end == producer.out[f].end;
      for_each_read(c, [&](const Read& r) {
        if (r.tensor != v)
          return;
        reads_it = true;
        for (std::size_t f = 0; f < shared.size(); ++f)
          by_rows = by_rows && f < r.subscripts.size() && bare_label(r.subscripts[f]) == shared[f];
      });
      if (reads_it && !by_rows)
        return false;
      readers += reads_it ? 1 : 0;
    }
    return readers > 0 && uses_[static_cast<std::size_t>(v.id)] == readers;
  }

  /// Whether one of the nodes in between may replace a tensor that the operator reads: moved behind it, the read would keep the old tensor alive.
  static bool replaced_meanwhile(const Compute& c, const Region& region, std::size_t first, std::size_t last) {
    const std::set<ValueId> read = values_read(c);
    for (std::size_t k = first; k < last; ++k) {
      const Node& n = region.nodes[k];
      const auto* other = std::get_if<Compute>(&n.op);
      if (other != nullptr && other->base && read.contains(*other->base))
        return true;
      if (const auto* f = std::get_if<For>(&n.op); f != nullptr && std::ranges::any_of(f->inits, [&](ValueId v) { return read.contains(v); }))
        return true;
      if (const auto* w = std::get_if<While>(&n.op); w != nullptr && std::ranges::any_of(w->inits, [&](ValueId v) { return read.contains(v); }))
        return true;
    }
    return false;
  }

  /// Whether something is saved that is as large as the largest tensor that is read by rows: one read instead of two, or a value never stored.
  bool pays(const Region& region, const Nest& nest) const {
    std::map<ValueId, int> readers;
    std::set<ValueId> stored;
    for (const auto& [k, shared] : nest) {
      std::set<ValueId> of_this;
      for_each_read(std::get<Compute>(region.nodes[k].op), [&](const Read& r) {
        if (!r.subscripts.empty() && bare_label(r.subscripts[0]) == shared[0])
          of_this.insert(r.tensor);
      });
      for (const ValueId v : of_this)
        ++readers[v];
      stored.insert(region.nodes[k].results[0]);
    }
    std::size_t most = 0;
    for (const auto& [v, count] : readers)
      most = std::max(most, program_.type(v).rank());
    return std::ranges::any_of(readers, [&](const auto& entry) {
      return program_.type(entry.first).rank() == most && (entry.second > 1 || stored.contains(entry.first));
    });
  }

  /// Puts the nest where its last operator is. Returns that place.
  std::size_t build(Region& region, const Nest& nest) {
    const auto& [last, last_shared] = *nest.rbegin();
    Node node{region.nodes[last].range, region.nodes[last].results, {}};
    Fused fused;
    for (const std::int32_t label : last_shared)
      fused.shared.push_back(label_of(std::get<Compute>(region.nodes[last].op), label));
    for (const auto& [k, shared] : nest) {
      fused.body.nodes.push_back(std::move(region.nodes[k]));
      fused.labels.push_back(shared);
    }
    for (std::size_t m = 0; m + 1 < fused.body.nodes.size(); ++m)
      context_.applied(fused.body.nodes[m].range, "computed by rows, in the loops of what reads it");
    const ValueId outside = node.results[0];
    const ValueId inside = program_.new_value(program_.type(outside), program_.info(outside).name, program_.info(outside).range);
    uses_.push_back(1);
    fused.body.nodes.back().results = {inside};
    fused.body.yields = {inside};
    node.op = std::move(fused);
    region.nodes[last] = std::move(node);
    std::size_t at = last;
    for (auto entry = std::next(nest.rbegin()); entry != nest.rend(); ++entry) {
      region.nodes.erase(region.nodes.begin() + static_cast<std::ptrdiff_t>(entry->first));
      --at;
    }
    return at;
  }

  Program program_;
  PassContext& context_;
  std::vector<int> uses_;
};

}  // namespace

Program fuse_rows(const Program& program, PassContext& context) {
  return RowFusion(program, context).run();
}

}  // namespace tdsl::passes
