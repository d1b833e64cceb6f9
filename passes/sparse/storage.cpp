// Chooses the matrices with sparse dimensions whose blocks contain stored elements only:
//
//     %1:f64[%0, sparse %0] "A" = input "A"
//     %3 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))
// becomes
//     %1:f64[%0, compressed %0] "A" = input "A"
//
// These are inputs, and results computed from stored elements of compressed operands, if at least one operation
// iterates over their stored elements; and matrices computed at all points, if an operation does. A Compute that reads
// a submatrix, `A[2:5, :]`, may iterate over the elements of that one alone, and one that reads single elements, `A[i,
// i]`, read a vector of these (rearranged_reads.h). Matrices whose sparse operands are read transposed are computed in
// the order of these (exchanged.h). Reductions to which absent elements contribute are split first
// (background.cpp, stored_optima.h). Stores at computed positions are assembled (assemblies.h). Values that no
// operation produces compressed, a product of dense matrices, get a compressed copy if two operations iterate over it,
// or one in a loop that does not compute the value; a single operation reads all of it for less than the cost of a
// copy:
//
//     %4:f64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j]))
//     %7:f64[%0, compressed %0] = compute [i in 0..%0, j in 0..%0] (%4[i, j])
//
// Readers of whole matrices get a dense copy at once (dense_copies.cpp), so that loops over single elements read the
// copy and can still run as one task. No later pass transforms a sparse iteration: readers of compressed values are
// excluded from serial loops and nests.
//
// Precondition and postcondition: verified; no value is compressed yet.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/text/print.h"
#include "passes/passes.h"
#include "passes/rewriting.h"
#include "passes/sparse/assemblies.h"
#include "passes/sparse/exchanged.h"
#include "passes/sparse/iteration.h"
#include "passes/sparse/rearranged_reads.h"
#include "passes/sparse/sampled_parts.h"
#include "passes/sparse/storage_choice.h"
#include "passes/sparse/stored_optima.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Moves reads at other subscripts than index variables to separate matrices if that lets more values be compressed.
StorageChoice with_rearranged(const Program& program) {
  UserResults results;
  while (true) {
    RearrangedReads reads = rearranged_reads(program, results);
    StorageChoice choice = choose_storage(std::move(reads.program), Candidates::kAll);
    const std::size_t before = results.refused.size() + results.dense.size();
    const auto dense = [&](ValueId v) { return !choice.compressed.contains(v); };
    for (const auto& [v, moved] : reads.moved) {
      const bool lost = choice.program.type(v).has_sparse() && dense(v);  // located elements are dense
      for (const ValueId user : moved.users) {
        const Type& type = choice.program.type(user);
        if (lost || std::ranges::any_of(moved.from, dense))
          results.refused.insert(user);
        else if (type.rank() == 2 && type.has_sparse() && dense(user))
          results.dense.insert(user);
      }
    }
    if (results.refused.size() + results.dense.size() == before) return choice;
  }
}

/// A program with compressed copies of values.
struct CompressedCopies {
  Program program;
  std::map<ValueId, ValueId> copies;  ///< the copy of each
};

class CompressedCopier {
 public:
  CompressedCopier(const Program& program, const StorageChoice& choice, const std::set<ValueId>& refused)
      : marked_(program), result_{program, {}} {
    for (const auto& [v, operations] : choice.compressed) {
      if (static_cast<std::size_t>(v.id) < marked_.values.size())
        marked_.values[static_cast<std::size_t>(v.id)].type.format.compress(true);
    }
    for_each_operation(std::as_const(program.body.nodes), 0, [&](const Node& n, const Compute&, int loops) {
      const bool dense =
          n.results.size() == 1 && choice.dense.contains(n.results[0]) && !refused.contains(n.results[0]);
      if (dense && program.type(n.results[0]).rank() == 2 && program.info(n.results[0]).tile.empty())
        consider(n, loops);
    });
  }

  CompressedCopies run() {
    std::map<ValueId, int> walks;
    for_each_operation(marked_.body.nodes, 0, [&](const Node& n, const Compute& c, int loops) {
      for (const ValueId v : visited(n, c)) walks[v] += loops > loops_.at(v) ? 2 : 1;
    });
    std::erase_if(loops_, [&](const auto& candidate) { return walks[candidate.first] < 2; });
    for (const auto& [v, loops] : loops_) result_.copies.emplace(v, copy_of(v));
    for_each_operation(result_.program.body.nodes, 0, [&](Node& n, const Compute& c, int) {
      ValueMap names;
      for (const ValueId v : visited(n, c)) names.emplace(v, result_.copies.at(v));
      rename_operands(n, names);
    });
    insert(result_.program.body);
    return std::move(result_);
  }

 private:
  /// Skips values that could be compressed without a copy: choose_storage has decided about them.
  void consider(const Node& n, int loops) {
    Format& format = marked_.values[static_cast<std::size_t>(n.results[0].id)].type.format;
    format.compress(true);
    const auto iteration = sparse_iteration(marked_, n);
    if (!iteration || iteration->result == SparseIteration::Result::kDense)
      loops_.emplace(n.results[0], loops);
    else
      format.compress(false);
  }

  /// The candidates of which the operation reads only stored elements.
  [[nodiscard]] std::set<ValueId> visited(const Node& n, const Compute& c) const {
    std::set<ValueId> found = values_read(c);
    std::erase_if(found, [&](ValueId v) { return !loops_.contains(v) || !reads_stored(marked_, n, v); });
    return found;
  }

  ValueId copy_of(ValueId v) {
    const ValueInfo info = result_.program.info(v);
    return result_.program.new_value(info.type, info.name, info.range);
  }
  void insert(Region& region) {
    std::vector<Node> nodes;
    for (Node& n : region.nodes) {
      for (Region* inner : regions_in(n)) insert(*inner);
      const auto found = n.results.size() == 1 ? result_.copies.find(n.results[0]) : result_.copies.end();
      nodes.push_back(std::move(n));
      if (found != result_.copies.end())
        nodes.push_back(copying(result_.program, found->first, found->second, nodes.back().range));
    }
    region.nodes = std::move(nodes);
  }

  Program marked_;                ///< the chosen values and all candidates are marked compressed
  std::map<ValueId, int> loops_;  ///< loop depth of each candidate's definition
  CompressedCopies result_;
};

/// The originals of copies that are not compressed, or are read whole.
std::set<ValueId> copies_in_vain(const std::map<ValueId, ValueId>& copies, const StorageChoice& choice) {
  std::set<ValueId> vain;
  for (const auto& [v, copy] : copies) {
    if (!choice.compressed.contains(copy)) vain.insert(v);
  }
  for_each_operation(choice.program.body.nodes, 0, [&](const Node& n, const Compute& c, int) {
    const std::set<ValueId> read = values_read(c);
    for (const auto& [v, copy] : copies) {
      if (read.contains(copy) && !vain.contains(v) && !reads_stored(choice.program, n, copy)) vain.insert(v);
    }
  });
  return vain;
}

/// Adds compressed copies of dense values over which operations iterate.
StorageChoice chosen(const Program& program) {
  StorageChoice without = with_rearranged(program);
  std::set<ValueId> refused;
  while (true) {
    const CompressedCopies copies = CompressedCopier(program, without, refused).run();
    if (copies.copies.empty()) return without;
    StorageChoice with = with_rearranged(copies.program);
    const std::set<ValueId> vain = copies_in_vain(copies.copies, with);
    if (vain.empty()) return with;
    refused.insert(vain.begin(), vain.end());
  }
}

/// Assembles the stores that can be compressed that way.
StorageChoice with_assemblies(const Program& program) {
  std::set<ValueId> refused;
  while (true) {
    Assemblies found = assemblies(program, refused);
    StorageChoice choice = chosen(found.program);
    const std::size_t before = refused.size();
    for (const auto& [target, made] : found.made) {
      if (std::ranges::any_of(made, [&](ValueId v) { return choice.dense.contains(v); })) refused.insert(target);
    }
    if (refused.size() == before) return choice;
  }
}

/// Finds positions of optima among stored elements where that leaves the matrix compressed.
Program with_optima(const Program& original, PassContext& context) {
  StoredOptima optima = stored_optima(original);
  while (!optima.empty()) {
    const Program written = with_stored_optima(original, context, optima);
    const StorageChoice choice = with_rearranged(written);
    const auto dense = [&](const auto& optimum) { return !choice.compressed.contains(optimum.second); };
    if (std::erase_if(optima, dense) > 0) continue;
    for (const auto& [v, of] : optima)
      context.applied(original.info(v).range,
                      "the position of an optimum: among stored elements and the first absent one");
    return written;
  }
  return original;
}

constexpr std::string_view kStoredDense = " is stored dense: ";

}  // namespace

Program storage(const Program& original, PassContext& context) {
  const Program ordered = exchanged_maps(sampled_parts(original, context), context);
  const auto [program, compressed, dense] = with_assemblies(background(with_optima(ordered, context), context));
  for (const auto& [v, operations] : compressed)
    context.applied(program.info(v).range,
                    fmt::format("{} is compressed: {} go{} over its stored elements", quoted(program, v, "this value"),
                                operations == 1 ? "one operation" : fmt::format("{} operations", operations),
                                operations == 1 ? "es" : ""));
  for (const auto& [v, reason] : dense)
    context.refused(program.info(v).range, quoted(program, v, "this value") + std::string(kStoredDense) + reason);
  return dense_copies(program, context);
}

// --- Warnings about dense storage, at the end of the pipeline

namespace {

/// The reason that the pass `storage` gave, or would give now.
std::string why_dense(const StorageChoice& choice, ValueId v, const SourceRange& range, const PassContext& context) {
  if (const auto found = choice.dense.find(v); found != choice.dense.end()) return found->second;
  for (const Remark& r : context.remarks()) {
    const std::size_t at = r.reason.find(kStoredDense);
    const bool here = r.range.file == range.file && r.range.line == range.line && r.range.column == range.column;
    if (here && r.pass == "storage" && r.decision == Decision::kRefused && at != std::string::npos)
      return r.reason.substr(at + kStoredDense.size());
  }
  return "the pass `storage` is left out";
}

/// True if `[dense-copy]` has warned about it.
bool is_dense_copy(const Program& program, const Node& n) {
  const ValueId of = copied_matrix(n);
  return of.valid() && program.type(of).is_compressed();
}

}  // namespace

void warn_of_dense_storage(const Program& program, PassContext& context) {
  const StorageChoice choice = choose_storage(program, Candidates::kAll);
  // One warning per line, preferably for a named tensor.
  std::set<std::pair<std::uint32_t, std::uint32_t>> told;
  for (const bool named : {true, false}) {
    for_each_node(program.body, [&](const Node& n) {
      for (const ValueId v : n.results) {
        const ValueInfo& info = program.info(v);
        const SourceRange& range = info.range.known() ? info.range : n.range;
        const bool vector =
            info.type.rank() == 1 && std::holds_alternative<Compute>(n.op);  // small compared to its operands
        if (!info.type.has_sparse() || vector || info.type.is_compressed() || is_dense_copy(program, n) ||
            info.name.empty() == named || !told.insert({range.file, range.line}).second)
          continue;
        const std::string name = named ? "`" + info.name + "`" : "this value";
        context.warn("dense-storage", range,
                     name + ", " + declared_type(program, info.type) +
                         ", is stored dense, absent elements included: " + why_dense(choice, v, range, context));
      }
    });
  }
}

}  // namespace tdsl::passes
