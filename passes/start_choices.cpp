#include "passes/start_choices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/serial_loop.h"
#include "passes/einsum.h"
#include "passes/product_chain.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class StartChoices {
 public:
  StartChoices(Program program, PassContext& context) : program_(std::move(program)), context_(context), uses_(use_counts(program_)) {}

  Program run() {
    Region body = std::move(program_.body);
    visit(body);
    program_.body = std::move(body);
    return std::move(program_);
  }

 private:
  void visit(Region& region) {
    for (Node& node : region.nodes) {
      if (is_marked_serial(node))
        continue;
      for (Region* inner : regions_of(node))
        visit(*inner);
    }
    std::vector<bool> removed(region.nodes.size(), false);
    // From the last node on, so that the longest chain is seen first.
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      if (!removed[k])
        chain(region, k, removed);
    }
    std::vector<Node> nodes;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (!removed[k])
        contract(std::move(region.nodes[k]), nodes);
    }
    region.nodes = std::move(nodes);
  }

  /// A sum of products of several tensors becomes a chain, the only order worth taking, or a choice.
  void contract(Node node, std::vector<Node>& into) {
    const auto* c = std::get_if<Compute>(&node.op);
    const auto einsum = c == nullptr ? std::nullopt : einsum_of(program_, *c);
    if (!einsum) {
      into.push_back(std::move(node));
      return;
    }
    if (const auto chain = chain_of(*einsum)) {
      become_chain(node, *chain);
      into.push_back(std::move(node));
      return;
    }
    const PathChoice choice = paths_of(*einsum);
    if (choice.paths.empty()) {
      into.push_back(std::move(node));
    } else if (choice.paths.size() == 1 && !choice.as_one) {
      context_.applied(node.range, "the tensors are contracted two by two: " + text_of(program_, *einsum, choice.paths[0]));
      for (Node& n : nodes_of(program_, *einsum, choice.paths[0], node.results[0], node.range))
        into.push_back(std::move(n));
    } else {
      choose(node, *einsum, choice);
      into.push_back(std::move(node));
    }
  }

  void choose(Node& node, const Einsum& einsum, const PathChoice& choice) {
    Choose forms;
    for (const ContractionPath& path : choice.paths) {
      const ValueId v = another(node.results[0]);
      forms.names.push_back(text_of(program_, einsum, path));
      forms.regions.push_back({{}, nodes_of(program_, einsum, path, v, node.range), {v}});
    }
    if (choice.as_one) {
      const ValueId v = another(node.results[0]);
      forms.names.emplace_back("all at once");
      Region region{{}, {}, {v}};
      region.nodes.push_back({node.range, {v}, node.op});
      forms.regions.push_back(std::move(region));
    }
    context_.applied(node.range, "in which order these tensors are contracted is chosen when the program starts");
    node.op = std::move(forms);
  }

  /// A value like `v`.
  ValueId another(ValueId v) {
    const ValueInfo info = program_.info(v);
    const ValueId copy = program_.new_value(info.type, info.name, info.range);
    program_.values[static_cast<std::size_t>(copy.id)].tile = info.tile;
    return copy;
  }

  void chain(Region& region, std::size_t k, std::vector<bool>& removed) {
    const auto chain = chain_at(region, k, uses_, removed);
    if (!chain || chain->factors.size() > kLongestChain || !is_dense(region.nodes[k], *chain) || is_settled(region, k, *chain))
      return;
    for (const std::size_t absorbed : chain->absorbed)
      removed[absorbed] = true;
    become_chain(region.nodes[k], *chain);
  }

  void become_chain(Node& node, const ProductChain& chain) {
    Chain op;
    op.sizes = chain.sizes;
    for (const Factor& f : chain.factors)
      op.factors.push_back({f.tensor, f.transposed});
    context_.applied(node.range, "the order of this chain of products is chosen when the program starts, by the sizes");
    node.op = std::move(op);
  }

  /// Whether no order is better, whatever the sizes.
  static bool is_settled(const Region& region, std::size_t k, const ProductChain& chain) {
    ProductOrder order(chain);
    return chain.factors.size() <= kLongestSymbolicChain && order.solve() && cheaper(order.cost(), written_cost(region, k, chain)) == false;
  }

  [[nodiscard]] bool is_dense(const Node& root, const ProductChain& chain) const {
    return !program_.type(root.results[0]).has_sparse() &&
           std::ranges::none_of(chain.factors, [this](const Factor& f) { return program_.type(f.tensor).has_sparse(); });
  }

  Program program_;
  PassContext& context_;
  std::vector<int> uses_;
};

}  // namespace

Program start_choices(const Program& program, PassContext& context) { return StartChoices(program, context).run(); }

}  // namespace tdsl::passes
