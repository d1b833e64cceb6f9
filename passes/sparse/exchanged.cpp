#include "passes/sparse/exchanged.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// True if the read's subscripts are these index variables.
bool is_at(const Read& r, std::int32_t row, std::int32_t column) {
  return r.subscripts.size() == 2 && bare_label(r.subscripts[0]) == row && bare_label(r.subscripts[1]) == column;
}

class ExchangedMaps : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      if (!reads_transposed(region.nodes[k]) || !only_reduced(region, k)) continue;
      context_.applied(region.nodes[k].range, "computed in the order of its sparse operands, and read transposed");
      exchange_dimensions(program_, region, k);
      name_exchanged(program_, region.nodes[k].results[0]);
    }
  }

  /// True for an element-wise matrix of sparse type, no copy, whose sparse operands are all read transposed.
  [[nodiscard]] bool reads_transposed(const Node& node) const {
    const auto* c = std::get_if<Compute>(&node.op);
    if (c == nullptr || !is_elementwise(*c) || c->out.size() != 2 || std::holds_alternative<Read>(c->bodies[0]->op))
      return false;
    const ValueInfo& info = program_.info(node.results[0]);
    if (!info.type.has_sparse() || !info.tile.empty()) return false;
    bool any = false, all = true;
    for_each_read(*c, [&](const Read& r) {
      if (!program_.type(r.tensor).has_sparse()) return;
      any = true;
      all = all && is_at(r, 1, 0);
    });
    return any && all;
  }

  /// True if only reductions with dense results use the value, at two index variables.
  [[nodiscard]] bool only_reduced(const Region& region, std::size_t k) const {
    const ValueId v = region.nodes[k].results[0];
    int count = 0;
    for (std::size_t r = k + 1; r < region.nodes.size(); ++r) {
      const auto* c = std::get_if<Compute>(&region.nodes[r].op);
      if (c == nullptr || !values_read(*c).contains(v)) continue;
      bool plain = c->monoid && c->left.empty() && !c->base && !program_.type(region.nodes[r].results[0]).has_sparse();
      for_each_read(*c, [&](const Read& read) {
        plain = plain && (read.tensor != v ||
                          std::ranges::all_of(read.subscripts, [](const Expr& s) { return bare_label(s) >= 0; }));
      });
      if (!plain) return false;
      ++count;
    }
    return count > 0 && count == use_counts_[static_cast<std::size_t>(v.id)];
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

void exchange_dimensions(Program& program, Region& region, std::size_t k) {
  auto& c = std::get<Compute>(region.nodes[k].op);
  const ValueId v = region.nodes[k].results[0];
  std::swap(c.out[0], c.out[1]);
  const std::vector<Expr> labels{index_ref(1), index_ref(0)};
  rewrite_expressions(c, [&](const Expr& e) { return substitute_labels(e, labels); });
  Type& type = program.values[static_cast<std::size_t>(v.id)].type;
  std::swap(type.shape[0], type.shape[1]);
  if (!type.format.levels.empty()) {
    type.format.levels.resize(2, Format::Level::kDense);
    std::swap(type.format.levels[0], type.format.levels[1]);
  }
  for (Node& node : region.nodes) {
    auto* reader = std::get_if<Compute>(&node.op);
    if (reader == nullptr || !values_read(*reader).contains(v)) continue;
    rewrite_expressions(*reader, [&](const Expr& e) {
      return rewrite(e, [&](const Expr& x) {
        const auto* r = std::get_if<Read>(&x->op);
        return r == nullptr || r->tensor != v ? x : read(x->type, v, {r->subscripts[1], r->subscripts[0]}, x->range);
      });
    });
  }
}

void name_exchanged(Program& program, ValueId v) {
  std::string& name = program.values[static_cast<std::size_t>(v.id)].name;
  if (name.empty()) return;
  if (name.ends_with(")'"))
    name.pop_back();
  else
    name += "'";
}

Program exchanged_maps(const Program& program, PassContext& context) { return ExchangedMaps(program, context).run(); }

}  // namespace tdsl::passes
