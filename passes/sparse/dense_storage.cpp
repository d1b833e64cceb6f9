// Warns `[dense-storage]` about every tensor of a sparse type that stores all of its elements, with the reason.
// `dense_copies` has already warned about dense copies of compressed matrices.

#include "passes/passes.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

std::string sparse_type_text(const Program& program, const Type& type) {
  std::string text(name_of(type.scalar));
  for (std::size_t d = 0; d < type.rank(); ++d) {
    const std::string extent =
        type.shape[d].to_string([&](ValueId v) { return program.info(v).name.empty() ? "?" : program.info(v).name; });
    text += (d == 0 ? "[" : ", ") + std::string(type.format.is_sparse(d) ? "sparse " : "") + extent;
  }
  return text + "]";
}

/// The reason that the pass `storage` gave, or would give now.
std::string why_dense(const StorageChoice& choice, ValueId v, const SourceRange& range, const PassContext& context) {
  if (const auto found = choice.dense.find(v); found != choice.dense.end()) return found->second;
  constexpr std::string_view kDense = " is stored dense: ";
  for (const Remark& r : context.remarks()) {
    const std::size_t at = r.reason.find(kDense);
    const bool here = r.range.file == range.file && r.range.line == range.line && r.range.column == range.column;
    if (here && r.pass == "storage" && r.decision == Decision::kRefused && at != std::string::npos)
      return r.reason.substr(at + kDense.size());
  }
  return "the pass `storage` is left out";
}

/// True if `[dense-copy]` has warned about it.
bool is_dense_copy(const Program& program, const Node& n) {
  const auto* c = std::get_if<Compute>(&n.op);
  const ValueId of = c == nullptr ? ValueId{} : copied_matrix(*c);
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
                     name + ", " + sparse_type_text(program, info.type) +
                         ", is stored dense, absent elements included: " + why_dense(choice, v, range, context));
      }
    });
  }
}

}  // namespace tdsl::passes
