// Gives every reader of a compressed matrix that is neither a sparse iteration over it nor a rearrangement
// (ir/analysis/rearrangement.h) a dense copy, made by a sparse iteration in front of its first reader:
//
//     %2 = compute [i in 0..%0, j in 0..%0] (exp(%1[i, j]))                %1 compressed
// becomes
//     %3 = compute [i in 0..%0, j in 0..%0] (%1[i, j])
//     %2 = compute [i in 0..%0, j in 0..%0] (exp(%3[i, j]))
//
// Loops that carry a variable dense start from copies, and branches yield them. A sparse iteration may also look up
// elements of other compressed matrices at its row and column. The copy has the type of the original. Matrices without
// sparse iterations, because other passes changed their readers, lose their mark, and their copies are removed. Copies
// warn `[dense-copy]`.
//
// Postcondition: verified; only sparse iterations and rearrangements read compressed values.

#include "passes/passes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/analysis/serial_loop.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_branch(const Node& n) { return std::holds_alternative<If>(n.op) || std::holds_alternative<Choose>(n.op); }

class Copies {
 public:
  Copies(Program program, PassContext& context) : program_(std::move(program)), context_(context) {}

  Program run() {
    visit(program_.body, {});
    return std::move(program_);
  }

 private:
  /// `into`: the values that the region's yields define.
  void visit(Region& region, const std::vector<ValueId>& into) {
    std::vector<ValueId> defined;
    const auto is_compressed = [&](ValueId v) { return program_.type(v).is_compressed(); };
    std::ranges::copy_if(region.arguments, std::back_inserter(defined), is_compressed);
    for (Node& n : region.nodes) {
      std::ranges::copy_if(n.results, std::back_inserter(defined), is_compressed);
      if (holds_operations(n)) {
        for (Region* inner : regions_in(n)) visit(*inner, n.results);
      }
    }
    for (const ValueId v : defined) copy_in(region, into, v);
    tell_of_arguments(region);
  }

  /// Warns about arguments of routines, which are copied already.
  void tell_of_arguments(const Region& region) {
    std::map<ValueId, ValueId> copied;
    for (const Node& n : region.nodes) {
      const ValueId of = copied_matrix(n);
      if (of.valid() && program_.type(of).is_compressed() && !program_.type(n.results[0]).is_compressed())
        copied.emplace(n.results[0], of);
      if (!std::holds_alternative<Routine>(n.op)) continue;
      for (const ValueId argument : operands_of(program_, n)) {
        if (const auto found = copied.find(argument); found != copied.end())
          warn(found->second, n.range, reason(n, true));
      }
    }
  }

  /// Inserts one copy in front of the first node that needs it, or inside branches if only branches do.
  void copy_in(Region& region, const std::vector<ValueId>& into, ValueId v) {
    std::vector<std::size_t> users;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (needs(region.nodes[k], v, true)) users.push_back(k);
    }
    const bool yielded = becomes_dense(region.yields, into, v);
    if (users.empty() && !yielded) return;
    if (!yielded && std::ranges::all_of(users, [&](std::size_t k) { return is_branch(region.nodes[k]); })) {
      for (const std::size_t k : users) {
        for (Region* inner : regions_in(region.nodes[k])) copy_in(*inner, region.nodes[k].results, v);
      }
      return;
    }
    const std::size_t place = users.empty() ? region.nodes.size() : users[0];
    const SourceRange range = users.empty() ? program_.info(into[0]).range : region.nodes[place].range;
    Type type = program_.type(v);
    type.format.compress(false);
    const ValueId copy = program_.new_value(std::move(type), program_.info(v).name, range);
    for (const std::size_t k : users) redirect(region.nodes[k], v, copy, true);
    redirect_yields(region, into, v, copy, range);
    region.nodes.insert(region.nodes.begin() + static_cast<std::ptrdiff_t>(place), copying(program_, v, copy, range));
  }

  /// True if `v` is among the values `from` and is assigned to a dense one of `into`.
  [[nodiscard]] bool becomes_dense(std::span<const ValueId> from, std::span<const ValueId> into, ValueId v) const {
    bool found = false;
    for (std::size_t k = 0; k < std::min(from.size(), into.size()); ++k)
      found = found || (from[k] == v && !program_.type(into[k]).is_compressed());
    return found;
  }
  void redirect_dense(std::span<ValueId> from, std::span<const ValueId> into, ValueId v, ValueId copy) const {
    for (std::size_t k = 0; k < std::min(from.size(), into.size()); ++k) {
      if (from[k] == v && !program_.type(into[k]).is_compressed()) from[k] = copy;
    }
  }
  void redirect_yields(Region& region, const std::vector<ValueId>& into, ValueId v, ValueId copy,
                       const SourceRange& range) {
    if (!becomes_dense(region.yields, into, v)) return;
    warn(v, range, "a loop or branch carries it dense");
    redirect_dense(region.yields, into, v, copy);
  }
  /// The variables of a loop.
  [[nodiscard]] static std::span<const ValueId> carried(const Region& body) {
    return std::span(body.arguments).subspan(1);
  }

  /// True if the node, or a nested one, reads all elements of the compressed value. `operations`: Computes may iterate
  /// over stored elements.
  [[nodiscard]] bool needs(const Node& n, ValueId v, bool operations) const {
    if (needs_itself(n, v, operations)) return true;
    const bool inside = operations && holds_operations(n);
    return std::ranges::any_of(regions_in(n), [&](const Region* r) {
      return (inside && becomes_dense(r->yields, n.results, v)) ||
             std::ranges::any_of(r->nodes, [&](const Node& inner) { return needs(inner, v, inside); });
    });
  }
  [[nodiscard]] bool needs_itself(const Node& n, ValueId v, bool operations) const {
    const std::vector<ValueId> operands = operands_of(program_, n);
    if (std::ranges::find(operands, v) == operands.end()) return false;
    if (std::holds_alternative<Output>(n.op) || std::holds_alternative<Print>(n.op)) return false;
    if (const auto* f = std::get_if<For>(&n.op)) return becomes_dense(f->inits, carried(f->body), v);
    if (const auto* w = std::get_if<While>(&n.op)) return becomes_dense(w->inits, carried(w->body), v);
    return !operations || !reads_stored(program_, n, v);
  }
  void redirect(Node& n, ValueId v, ValueId copy, bool operations) {
    if (needs_itself(n, v, operations)) {
      warn(v, n.range, reason(n, operations));
      if (auto* f = std::get_if<For>(&n.op))
        redirect_dense(f->inits, carried(f->body), v, copy);
      else if (auto* w = std::get_if<While>(&n.op))
        redirect_dense(w->inits, carried(w->body), v, copy);
      else
        rename_operands(n, {{v, copy}});
    }
    const bool inside = operations && holds_operations(n);
    for (Region* r : regions_in(n)) {
      for (Node& inner : r->nodes) redirect(inner, v, copy, inside);
      if (inside) redirect_yields(*r, n.results, v, copy, n.range);
    }
  }

  void warn(ValueId v, const SourceRange& range, const std::string& why) {
    if (told_.emplace(v, range.file, range.line).second)
      context_.warn(
          "dense-copy", range,
          quoted(program_, v, "a compressed tensor") + " is compressed, and here a dense copy is read: " + why);
  }
  [[nodiscard]] static std::string reason(const Node& n, bool operations) {
    const auto holds = [&]<class T>() { return std::holds_alternative<T>(n.op); };
    if (holds.operator()<For>() || holds.operator()<While>()) return "a loop carries it dense";
    if (!holds.operator()<Compute>()) return "library routines work on dense tensors";
    return operations ? "this does not go over its stored elements alone"
                      : "this is a part of a task or nest that reads elements one by one";
  }

  Program program_;
  PassContext& context_;
  std::set<std::tuple<ValueId, std::uint32_t, std::uint32_t>> told_;
};

/// Unmarks matrices without sparse iterations; their copies become the matrix itself.
class Unmarking : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

  Program run() {
    StorageChoice choice = choose_storage(std::move(program_), Candidates::kMarked);
    program_ = std::move(choice.program);
    if (choice.dense.empty()) return std::move(program_);
    for (const auto& [v, reason] : choice.dense) {
      lost_.insert(v);
      context_.refused(program_.info(v).range,
                       quoted(program_, v, "this value") + " is stored dense after all: " + reason);
    }
    Program result = RegionRewriter::run();
    rename_everywhere(result, names_);
    return result;
  }

 private:
  [[nodiscard]] bool enters(const Node&) const override { return true; }

  void rewrite_node(Node n, std::vector<Node>& earlier) override {
    const ValueId of = copied_matrix(n);
    if (of.valid() && lost_.contains(of) && program_.type(of).format == program_.type(n.results[0]).format)
      names_.emplace(n.results[0], of);
    else
      keep(std::move(n), earlier);
  }

  std::set<ValueId> lost_;
  ValueMap names_;
};

}  // namespace

Program dense_copies(const Program& program, PassContext& context) {
  const bool any = std::ranges::any_of(program.values, [](const ValueInfo& v) { return v.type.is_compressed(); });
  return any ? Copies(Unmarking(program, context).run(), context).run() : program;
}

}  // namespace tdsl::passes
