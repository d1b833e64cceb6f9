#include "frontend/sema/storage.h"

#include <algorithm>

#include "frontend/sema/types.h"

namespace tdsl::frontend {

namespace {

LabelMap places(const std::vector<std::int32_t>& indices, const std::vector<Expr>& subscripts) {
  LabelMap map;
  for (std::size_t d = 0; d < indices.size(); ++d) map.emplace(indices[d], subscripts[d]);
  return map;
}

/// Compares the maps after renaming labels.
bool same_map(const StorageMap& a, const StorageMap& b) {
  if (a.indices.size() != b.indices.size() || a.results.size() != b.results.size() || !a.guard != !b.guard)
    return false;
  std::vector<Expr> own;
  for (const std::int32_t id : a.indices) own.push_back(ir::index_ref(id));
  const std::vector<Expr> other = b.at(own);
  return std::ranges::equal(a.results, other, [](const Expr& x, const Expr& y) { return ir::equal(x, y); }) &&
         (!a.guard || ir::equal(a.guard, b.guard_at(own)));
}

}  // namespace

std::vector<Expr> StorageMap::at(const std::vector<Expr>& subscripts) const {
  const LabelMap map = places(indices, subscripts);
  std::vector<Expr> found;
  for (const Expr& e : results) found.push_back(substitute(e, map));
  return found;
}

Expr StorageMap::guard_at(const std::vector<Expr>& subscripts) const {
  return substitute(guard, places(indices, subscripts));
}

Expr stored_element(const UserStorage& storage, ir::Scalar type, ir::ValueId value, const std::vector<Expr>& subscripts,
                    const ir::SourceRange& range) {
  const Expr read = ir::read(type, value, storage.to.at(subscripts), range);
  const Expr inside = storage.to.guard_at(subscripts);
  return inside ? absent_outside(inside, read, range) : read;
}

Expr absent_outside(const Expr& inside, const Expr& value, const ir::SourceRange& range) {
  const ir::Scalar type = value->type;
  const Expr zero = type == ir::Scalar::kBool ? ir::constant(type, false) : converted(ir::constant_i64(0), type);
  const Expr element = ir::select(inside, value, zero, range);
  return ir::is_float(type) ? ir::unary(ir::UnaryOp::kSparse, element, range) : element;
}

const StoredWhole* stored_whole(const Tensor& t) {
  const StoredWhole* whole = t.stored.get();
  return whole != nullptr && !t.padded && whole->body.id() == t.body.id() && whole->labels == t.labels ? whole
                                                                                                       : nullptr;
}

bool same_storage(const UserStorage& a, const UserStorage& b) {
  return &a == &b ||
         (a.logical == b.logical && a.stored == b.stored && same_map(a.to, b.to) && same_map(a.from, b.from));
}

}  // namespace tdsl::frontend
