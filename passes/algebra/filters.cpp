// Lets reads at the positions of true elements copy the elements there, instead of looking up each position:
//
//     %5:bool[%4], %6:i64[%4] = routine topk (%2) axis 0                                        %2 a vector of bools
//     %7:f64[%4] "y" = compute [k in 0..%4] (mul(%1[%6[k]], 2.0))
// becomes (with dead_code, if nothing else reads %6)
//     %8:f64[%4] = routine filter (%1, %2) axis 0
//     %7:f64[%4] "y" = compute [k in 0..%4] (mul(%8[k], 2.0))
//
// The read has the positions in one dimension and an index variable over the whole extent in each other one. Routine
// and reader are in one region, so that no loop over single elements gets a routine. Tensors of a sparse type keep
// their storage: they are read as before.
//
// A map with one reader stays: compose_reads computes it at the elements that are read. A rearrangement that is more
// than a transposition, such as the rows of a matrix one after the other, is computed before it is filtered; so this
// pass runs in front of compose_reads, too.
//
// Precondition: derivatives are computed.

#include "passes/passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Filters : public RegionRewriter {
 public:
  Filters(Program program, PassContext& context) : RegionRewriter(std::move(program), context) {
    const std::vector<int> uses = use_counts(program_);
    for_each_node(program_.body, [&](const Node& n) {
      const auto* c = std::get_if<Compute>(&n.op);
      if (c == nullptr || !is_elementwise(*c) || rearranges(*c)) return;
      if (uses[static_cast<std::size_t>(n.results[0].id)] == 1) left_.insert(n.results[0]);
    });
  }

 private:
  /// A dimension that is read at positions.
  struct Filtered {
    std::size_t axis = 0;
    ValueId positions;
    Expr place;  ///< the subscript of the positions
  };

  /// True if the body is an element with other subscripts than index variables.
  [[nodiscard]] static bool rearranges(const Compute& c) {
    const auto* r = std::get_if<Read>(&c.bodies[0]->op);
    return r != nullptr && std::ranges::any_of(r->subscripts, [](const Expr& e) { return bare_label(e) < 0; });
  }

  void rewrite_region(Region& region) override {
    const auto masks = std::exchange(masks_, {});
    const auto made = std::exchange(made_, {});
    RegionRewriter::rewrite_region(region);
    masks_ = masks;
    made_ = made;
  }

  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (const auto* r = std::get_if<Routine>(&node.op); r != nullptr && r->kind == Routine::Kind::kTopk) {
      const Type& mask = program_.type(r->operands[0]);
      if (mask.scalar == Scalar::kBool && mask.rank() == 1) masks_.emplace(node.results[1], r->operands[0]);
    }
    if (auto* c = std::get_if<Compute>(&node.op); c != nullptr && !masks_.empty()) filter(node, *c, earlier);
    keep(std::move(node), earlier);
  }

  void filter(const Node& node, Compute& c, std::vector<Node>& earlier) {
    rewrite_expressions(c, [&](const Expr& whole) {
      return rewrite(whole, [&](const Expr& e) {
        const auto* r = std::get_if<Read>(&e->op);
        const auto found = r != nullptr ? filtered(c, *r) : std::nullopt;
        if (!found) return e;
        const bool is_all = c.bodies.size() == 1 && c.bodies[0].id() == whole.id() && whole.id() == e.id();
        std::vector<Expr> subscripts = r->subscripts;
        subscripts[found->axis] = found->place;
        const ValueId kept =
            routine(node, r->tensor, *found, is_all ? program_.info(node.results[0]).name : "", earlier);
        return read(e->type, kept, std::move(subscripts), e->range);
      });
    });
  }

  /// The index variable, if it takes the values of a dimension of that extent.
  [[nodiscard]] static std::int32_t label_over(const Compute& c, const Expr& subscript, const Extent& extent) {
    const std::int32_t label = bare_label(subscript);
    if (label < 0) return -1;
    const Label& l = label_of(c, label);
    return l.begin == Extent(0) && l.end == extent ? label : -1;
  }

  [[nodiscard]] std::optional<Filtered> filtered(const Compute& c, const Read& r) const {
    const Type& type = program_.type(r.tensor);
    // Elements of two bytes are combined in another type.
    if (left_.contains(r.tensor) || type.has_sparse() || (is_float(type.scalar) && size_of(type.scalar) < 4))
      return std::nullopt;
    std::optional<Filtered> found;
    std::set<std::int32_t> labels;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      Expr subscript = r.subscripts[d];
      Extent extent = type.shape[d];
      const auto* inner = std::get_if<Read>(&subscript->op);
      if (inner != nullptr && masks_.contains(inner->tensor) && !found) {
        if (!(program_.type(masks_.at(inner->tensor)).shape[0] == extent)) return std::nullopt;
        found = Filtered{d, inner->tensor, inner->subscripts[0]};
        subscript = inner->subscripts[0];
        extent = program_.type(inner->tensor).shape[0];
      }
      const std::int32_t label = label_over(c, subscript, extent);
      if (label < 0 || !labels.insert(label).second) return std::nullopt;
    }
    return found;
  }

  /// The filtered tensor; each is computed once per region.
  ValueId routine(const Node& reader, ValueId tensor, const Filtered& f, const std::string& name,
                  std::vector<Node>& earlier) {
    const auto [known, fresh] = made_.emplace(std::tuple(tensor, f.positions, f.axis), ValueId{});
    if (!fresh) return known->second;
    Type type = program_.type(tensor);
    type.shape[f.axis] = program_.type(f.positions).shape[0];
    type.format = {};
    known->second = program_.new_value(std::move(type), name, reader.range);
    Routine r{Routine::Kind::kFilter, {tensor, masks_.at(f.positions)}, static_cast<std::int64_t>(f.axis)};
    earlier.push_back({reader.range, {known->second}, std::move(r)});
    context_.applied(reader.range, quoted(program_, tensor, "a tensor") + " is filtered without positions");
    return known->second;
  }

  std::set<ValueId> left_;            ///< maps with one reader
  std::map<ValueId, ValueId> masks_;  ///< of positions of true elements
  std::map<std::tuple<ValueId, ValueId, std::size_t>, ValueId> made_;
};

}  // namespace

Program filters(const Program& program, PassContext& context) { return Filters(program, context).run(); }

}  // namespace tdsl::passes
