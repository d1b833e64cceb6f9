#include "passes/dense_storage.h"

#include <set>
#include <string>
#include <tuple>

namespace tdsl::passes {

using namespace ir;

namespace {

std::string sparse_type_text(const Program& program, const Type& type) {
  std::string text(name_of(type.scalar));
  for (std::size_t d = 0; d < type.rank(); ++d) {
    const std::string extent = type.shape[d].to_string([&](ValueId v) { return program.info(v).name.empty() ? "?" : program.info(v).name; });
    text += (d == 0 ? "[" : ", ") + std::string(d < type.sparse.size() && type.sparse[d] ? "sparse " : "") + extent;
  }
  return text + "]";
}

}  // namespace

void warn_of_dense_storage(const Program& program, PassContext& context) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> told;
  for_each_node(program.body, [&](const Node& n) {
    for (const ValueId v : n.results) {
      const ValueInfo& info = program.info(v);
      const SourceRange& range = info.range.known() ? info.range : n.range;
      if (!info.type.has_sparse() || !told.insert({range.file, range.line, info.name}).second)
        continue;
      const std::string name = info.name.empty() ? "this value" : "'" + info.name + "'";
      context.warn("dense-storage", range, name + ", " + sparse_type_text(program, info.type) + ", is stored dense, absent elements included: compressed storage is not supported yet");
    }
  });
}

}  // namespace tdsl::passes
