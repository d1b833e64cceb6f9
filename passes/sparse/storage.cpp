#include "passes/sparse/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "passes/sparse/background.h"
#include "passes/sparse/compressed_copies.h"
#include "passes/sparse/dense_copies.h"
#include "passes/sparse/rearranged_reads.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

std::string name_in(const Program& program, ValueId v) {
  const std::string& name = program.info(v).name;
  return name.empty() ? "this value" : "`" + name + "`";
}

/// With matrices of their own for what is read elsewhere than at index variables, where that lets more be compressed.
std::pair<Program, StorageChoice> with_rearranged(const Program& program) {
  UserResults results;
  while (true) {
    RearrangedReads reads = rearranged_reads(program, results);
    StorageChoice choice = choose_storage(reads.program, Candidates::kAll);
    const std::size_t before = results.refused.size() + results.dense.size();
    const auto dense = [&](ValueId v) { return !choice.compressed.contains(v); };
    for (const auto& [v, moved] : reads.moved) {
      for (const ValueId user : moved.users) {
        const Type& type = reads.program.type(user);
        if (dense(v) || std::ranges::any_of(moved.from, dense))
          results.refused.insert(user);
        else if (type.rank() == 2 && type.has_sparse() && dense(user))
          results.dense.insert(user);
      }
    }
    if (results.refused.size() + results.dense.size() == before) return {std::move(reads.program), std::move(choice)};
  }
}

/// With compressed copies of what is made dense, where they are walked.
std::pair<Program, StorageChoice> chosen(const Program& program) {
  std::pair<Program, StorageChoice> without = with_rearranged(program);
  std::set<ValueId> refused;
  while (true) {
    const CompressedCopies copies = compressed_copies(program, without.second, refused);
    if (copies.copies.empty()) return without;
    std::pair<Program, StorageChoice> with = with_rearranged(copies.program);
    const std::set<ValueId> vain = copies_in_vain(copies, with.first, with.second);
    if (vain.empty()) return with;
    refused.insert(vain.begin(), vain.end());
  }
}

}  // namespace

Program storage(const Program& original, PassContext& context) {
  auto [marked, choice] = chosen(background(original, context));
  for (const auto& [v, walks] : choice.compressed) {
    marked.values[static_cast<std::size_t>(v.id)].compressed = true;
    context.applied(
        marked.info(v).range,
        fmt::format("{} is compressed: {} go{} over its stored elements", name_in(marked, v),
                    walks == 1 ? "one operation" : fmt::format("{} operations", walks), walks == 1 ? "es" : ""));
  }
  for (const auto& [v, reason] : choice.dense)
    context.refused(marked.info(v).range, fmt::format("{} is stored dense: {}", name_in(marked, v), reason));
  return dense_copies(marked, context);
}

}  // namespace tdsl::passes
