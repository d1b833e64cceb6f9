#include "passes/sampling.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "ir/stored_walk.h"
#include "passes/rewriting.h"
#include "passes/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

Expr is_present(Scalar type, ValueId matrix) {
  const Expr element = read(type, matrix, {index_ref(0), index_ref(1)});
  if (type == Scalar::kBool)
    return element;
  return binary(BinaryOp::kNe, element, is_float(type) ? constant(type, 0.0) : constant(type, std::int64_t{0}));
}

class Sampling {
 public:
  Sampling(Program program, PassContext& context) : program_(std::move(program)), context_(context), uses_(use_counts(program_)) {}

  Program run() {
    Region body = std::move(program_.body);
    visit(body);
    program_.body = std::move(body);
    return std::move(program_);
  }

 private:
  struct Readers {
    std::size_t first = 0;  ///< its place
    ValueId walked;
  };

  void visit(Region& region) {
    for (Node& n : region.nodes) {
      if (!holds_operations(n))
        continue;
      for (Region* inner : regions_of(n))
        visit(*inner);
    }
    // From the last node on: what only a sampled one reads can be sampled, too.
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      if (const auto readers = readers_of(region, k))
        sample(region, k, *readers);
    }
  }

  /// What reads the node's value, if it is a dense matrix and all of them walk one matrix beside it.
  [[nodiscard]] std::optional<Readers> readers_of(const Region& region, std::size_t k) const {
    const auto* c = std::get_if<Compute>(&region.nodes[k].op);
    const ValueId v = region.nodes[k].results.empty() ? ValueId{} : region.nodes[k].results[0];
    if (c == nullptr || c->out.size() != 2 || c->bodies.size() != 1 || !is_dense_matrix(v) || reads_compressed(*c) || can_fail(program_, *c))
      return std::nullopt;
    Readers readers;
    int count = 0;
    for (std::size_t r = k + 1; r < region.nodes.size(); ++r) {
      const auto* reader = std::get_if<Compute>(&region.nodes[r].op);
      if (reader == nullptr || !values_read(*reader).contains(v))
        continue;
      const auto walk = stored_walk(program_, *reader);
      const bool fits = walk && !walk->is_union() && reads_walked(*reader, *walk, v) && (count == 0 || walk->driver().tensor == readers.walked);
      if (!fits)
        return std::nullopt;
      if (count++ == 0)
        readers = {r, walk->driver().tensor};
    }
    const bool all = count > 0 && uses_[static_cast<std::size_t>(v.id)] == count;
    return all && program_.type(v).shape == program_.type(readers.walked).shape ? std::optional(readers) : std::nullopt;
  }
  [[nodiscard]] bool is_dense_matrix(ValueId v) const { return program_.type(v).rank() == 2 && !program_.type(v).has_sparse() && program_.info(v).tile.empty(); }
  [[nodiscard]] bool reads_compressed(const Compute& c) const {
    return std::ranges::any_of(values_read(c), [&](ValueId v) { return program_.info(v).compressed; });
  }

  /// The node under the guard, in front of its first reader: the walked matrix may be defined behind the node.
  void sample(Region& region, std::size_t k, const Readers& readers) {
    const Type& walked = program_.type(readers.walked);
    Compute sampled = std::get<Compute>(region.nodes[k].op);
    sampled.guard = conjunction(is_present(walked.scalar, readers.walked), sampled.guard);
    const auto walk = stored_walk(program_, sampled);
    if (!walk || walk->driver().tensor != readers.walked || walk->result == StoredWalk::Result::kDense)
      return;
    const SourceRange range = region.nodes[k].range;
    region.nodes[k].op = std::move(sampled);
    ValueInfo& info = program_.values[static_cast<std::size_t>(region.nodes[k].results[0].id)];
    info.type.sparse = walked.sparse;
    info.compressed = true;
    const std::string& name = program_.info(readers.walked).name;
    context_.applied(range, "computed only where " + (name.empty() ? "a compressed matrix" : "'" + name + "'") + " has elements: nothing reads it elsewhere");
    const auto begin = region.nodes.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(k), begin + static_cast<std::ptrdiff_t>(k) + 1, begin + static_cast<std::ptrdiff_t>(readers.first));
  }

  Program program_;
  PassContext& context_;
  std::vector<int> uses_;
};

}  // namespace

Program sampling(const Program& program, PassContext& context) { return Sampling(program, context).run(); }

}  // namespace tdsl::passes
