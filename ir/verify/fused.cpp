#include "ir/verify/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/analysis/contraction.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr.h"

namespace tdsl::ir {

namespace {

class FusedVerifier {
 public:
  FusedVerifier(const Program& program, const Node& node, const Fused& fused)
      : program_(program), node_(node), fused_(fused) {}

  std::vector<std::string> run() {
    require(!fused_.shared.empty(), "shares no index variable");
    require(fused_.body.arguments.empty(), "its region has arguments");
    if (!require(fused_.labels.size() == fused_.body.nodes.size(), "labels and nodes differ in number"))
      return std::move(problems_);
    for (std::size_t m = 0; m < fused_.body.nodes.size(); ++m) member(m);
    results();
    if (fused_.epilogue) epilogue();
    return std::move(problems_);
  }

 private:
  bool require(bool good, const std::string& message) {
    if (!good) problems_.push_back(message);
    return good;
  }

  void member(std::size_t m) {
    const Node& node = fused_.body.nodes[m];
    const auto* c = std::get_if<Compute>(&node.op);
    if (!require(c != nullptr && node.results.size() == 1 && c->bodies.size() == 1,
                 "a node is no compute of one result"))
      return;
    require(c->left.empty() && !c->base && !c->combine, "a node writes into a tensor");
    if (!own_labels(*c, fused_.labels[m])) return;
    const auto reads = [&](const Expr& e) {
      if (!e) return;
      for_each_node(e, [&](const ExprNode& n) {
        if (const auto* r = std::get_if<Read>(&n.op)) read(*r, fused_.labels[m]);
      });
    };
    reads(c->bodies[0]);
    reads(c->guard);
    members_[node.results[0]] = m;
  }

  bool own_labels(const Compute& c, const std::vector<std::int32_t>& labels) {
    if (!require(labels.size() == fused_.shared.size(), "a node does not say which labels are shared")) return false;
    for (std::size_t f = 0; f < labels.size(); ++f) {
      const auto l = static_cast<std::size_t>(labels[f]);
      if (!require(labels[f] >= 0 && l < c.out.size() + c.reduce.size(), "a shared label does not exist")) return false;
      require(std::ranges::count(labels, labels[f]) == 1, "a label is shared twice");
      const Label& label = label_of(c, labels[f]);
      require(label.begin == fused_.shared[f].begin && label.end == fused_.shared[f].end,
              "a shared label has another range");
    }
    return true;
  }

  /// Nodes read only complete elements of other nodes: of aligned values, at the reader's shared index variables.
  void read(const Read& r, const std::vector<std::int32_t>& reader) {
    const auto found = members_.find(r.tensor);
    if (found == members_.end()) return;
    const auto& producer = std::get<Compute>(fused_.body.nodes[found->second].op);
    for (std::size_t f = 0; f < fused_.shared.size(); ++f) {
      const auto place = static_cast<std::size_t>(fused_.labels[found->second][f]);
      if (!require(place < producer.out.size(), fmt::format("reads %{}, which is not complete", r.tensor.id))) continue;
      if (place >= r.subscripts.size()) continue;  // reported elsewhere
      require(bare_label(r.subscripts[place]) == reader[f] && producer.out[place].begin == Extent(0),
              fmt::format("reads %{} at another place than its own", r.tensor.id));
    }
  }

  void results() {
    require(node_.results.size() == fused_.body.yields.size(), "results and yields differ in number");
    for (const ValueId v : fused_.body.yields)
      require(members_.contains(v), fmt::format("yields %{}, which it does not compute", v.id));
    for (std::size_t k = 0; k < std::min(node_.results.size(), fused_.body.yields.size()); ++k) {
      const Type& outside = program_.type(node_.results[k]);
      const Type& inside = program_.type(fused_.body.yields[k]);
      const bool count = outside.scalar == Scalar::kI64 && inside.scalar == Scalar::kF64;
      require((count || outside.scalar == inside.scalar) && outside.shape == inside.shape,
              "results and yields differ in type");
    }
  }

  /// An epilogue: a product of matrices and an element-wise node that replaces it, point by point.
  void epilogue() {
    if (!problems_.empty() ||
        !require(fused_.body.nodes.size() == 2, "an epilogue has other nodes than a product and what follows it"))
      return;
    const auto& product = std::get<Compute>(fused_.body.nodes[0].op);
    const auto& after = std::get<Compute>(fused_.body.nodes[1].op);
    const ValueId value = fused_.body.nodes[0].results[0];
    require(contraction_of(product, shifted_labels).has_value() && !product.in_any_order,
            "its first node is no product of matrices");
    require(!after.monoid && !after.guard && after.reduce.empty(), "what follows the product is not element-wise");
    require(fused_.body.yields == fused_.body.nodes[1].results, "an epilogue yields something else than its last node");
    require(program_.type(value).scalar == program_.type(node_.results[0]).scalar,
            "an epilogue changes the element type");
    for (std::size_t m = 0; m < 2; ++m) {
      const Compute& c = m == 0 ? product : after;
      require(fused_.labels[m].size() == c.out.size() && std::ranges::is_sorted(fused_.labels[m]),
              "an epilogue does not share all index variables of the result, in order");
    }
    bool reads = false;
    for_each_node(after.bodies[0], [&](const ExprNode& n) {
      const auto* r = std::get_if<Read>(&n.op);
      reads = reads || (r != nullptr && r->tensor == value);
    });
    require(reads, "an epilogue does not read its product");
  }

  const Program& program_;
  const Node& node_;
  const Fused& fused_;
  std::map<ValueId, std::size_t> members_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> fused_problems(const Program& program, const Node& node, const Fused& fused) {
  return FusedVerifier(program, node, fused).run();
}

}  // namespace tdsl::ir
