#include "passes/storage.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "passes/background.h"
#include "passes/dense_copies.h"
#include "passes/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

std::string name_in(const Program& program, ValueId v) {
  const std::string& name = program.info(v).name;
  return name.empty() ? "this value" : "'" + name + "'";
}

}  // namespace

Program storage(const Program& original, PassContext& context) {
  const Program program = background(original, context);
  const StorageChoice choice = choose_storage(program, Candidates::kAll);
  Program marked = program;
  for (const auto& [v, walks] : choice.compressed) {
    marked.values[static_cast<std::size_t>(v.id)].compressed = true;
    context.applied(program.info(v).range, fmt::format("{} is compressed: {} go{} over its stored elements", name_in(program, v),
                                                       walks == 1 ? "one operation" : fmt::format("{} operations", walks), walks == 1 ? "es" : ""));
  }
  for (const auto& [v, reason] : choice.dense)
    context.refused(program.info(v).range, fmt::format("{} is stored dense: {}", name_in(program, v), reason));
  return dense_copies(marked, context);
}

}  // namespace tdsl::passes
