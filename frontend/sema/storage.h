#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/sema/tensor.h"

namespace tdsl::frontend {

/// One direction of a user's storage: element `indices` of one tensor is element `results` of the other where `guard`
/// holds (null: everywhere).
struct StorageMap {
  std::vector<std::int32_t> indices;
  std::vector<ir::Expr> results;
  ir::Expr guard;

  /// The element at `subscripts`, one per index.
  [[nodiscard]] std::vector<ir::Expr> at(const std::vector<ir::Expr>& subscripts) const;
  [[nodiscard]] ir::Expr guard_at(const std::vector<ir::Expr>& subscripts) const;
};

/// A `storage` with its arguments: how the elements of a tensor of shape `logical` lie in one of shape `stored`.
struct UserStorage {
  std::string text;  ///< `banded(n, 1)`
  ir::SourceRange range;
  std::vector<ir::Extent> logical;
  std::vector<ir::Extent> stored;
  StorageMap to;    ///< logical to stored
  StorageMap from;  ///< stored to logical
};
using StorageRef = std::shared_ptr<const UserStorage>;

/// What a name with a storage stands for: all of the tensor that `value` stores, which is never made.
struct StoredWhole {
  ir::ValueId value;
  StorageRef storage;
  std::vector<std::int32_t> labels;
  ir::Expr body;
};

/// The element at `subscripts` of the tensor that `value` stores. Outside of the storage's guard it is absent, as in a
/// sparse type.
[[nodiscard]] ir::Expr stored_element(const UserStorage& storage, ir::Scalar type, ir::ValueId value,
                                      const std::vector<ir::Expr>& subscripts, const ir::SourceRange& range);
/// `value` where the condition holds; elsewhere 0, and absent.
[[nodiscard]] ir::Expr absent_outside(const ir::Expr& inside, const ir::Expr& value, const ir::SourceRange& range);
/// Set when `t` is exactly such a name, and no part or rearrangement of it.
[[nodiscard]] const StoredWhole* stored_whole(const Tensor& t);
/// Whether two storages put the same elements in the same places.
[[nodiscard]] bool same_storage(const UserStorage& a, const UserStorage& b);

}  // namespace tdsl::frontend
