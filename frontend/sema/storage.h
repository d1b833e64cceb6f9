#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/sema/tensor.h"

namespace tdsl::frontend {

/// One direction of a user-defined storage: maps element `indices` of one tensor to element `results` of the other
/// where `guard` holds (null: everywhere).
struct StorageMap {
  std::vector<std::int32_t> indices;
  std::vector<ir::Expr> results;
  ir::Expr guard;

  /// The image of the element at `subscripts`, one per index.
  [[nodiscard]] std::vector<ir::Expr> at(const std::vector<ir::Expr>& subscripts) const;
  [[nodiscard]] ir::Expr guard_at(const std::vector<ir::Expr>& subscripts) const;
};

/// A `storage` with arguments: the mapping of a tensor of shape `logical` into a tensor of shape `stored`.
struct UserStorage {
  std::string text;  ///< `banded(n, 1)`
  ir::SourceRange range;
  std::vector<ir::Extent> logical;
  std::vector<ir::Extent> stored;
  StorageMap to;    ///< logical to stored
  StorageMap from;  ///< stored to logical
};
using StorageRef = std::shared_ptr<const UserStorage>;

/// A name with a storage: the whole logical tensor stored in `value`, which is never materialised.
struct StoredWhole {
  ir::ValueId value;
  StorageRef storage;
  std::vector<std::int32_t> labels;
  ir::Expr body;
};

/// The element of the logical tensor at `subscripts`. Absent outside the storage's guard, as in a sparse type.
[[nodiscard]] ir::Expr stored_element(const UserStorage& storage, ir::Scalar type, ir::ValueId value,
                                      const std::vector<ir::Expr>& subscripts, const ir::SourceRange& range);
/// `value` where the condition holds; absent (0) elsewhere.
[[nodiscard]] ir::Expr absent_outside(const ir::Expr& inside, const ir::Expr& value, const ir::SourceRange& range);
/// Non-null if `t` is exactly such a name, not a part or rearrangement of it.
[[nodiscard]] const StoredWhole* stored_whole(const Tensor& t);
/// True if both storages map the same elements to the same positions.
[[nodiscard]] bool same_storage(const UserStorage& a, const UserStorage& b);

}  // namespace tdsl::frontend
