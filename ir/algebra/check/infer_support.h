#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/algebra/check/infer.h"

// Common parts of type inference. The require functions throw AlgebraError.

namespace tdsl::ir::algebra {

void require(bool condition, const std::string& message);
/// Requires distinct, existing dimensions.
void require_dims(const Dims& dims, std::size_t arity, std::string_view what);
/// Requires that only the first `values` key values are used.
void require_keys(const KeyFunction& keys, std::size_t values);
void require_predicate(const Predicate& where, std::size_t values);
void require_layout(const Layout& layout, std::size_t arity);

/// Keys of results; reports a problem for the first duplicate.
class NewKeys {
 public:
  explicit NewKeys(std::size_t arity) : arity_(arity) {}

  void add(Key key, const Key& from, std::vector<std::string>& problems);
  [[nodiscard]] KeySet set() const;

 private:
  std::size_t arity_;
  std::map<Key, Key> source_;
  bool twice_ = false;
};
[[nodiscard]] KeySet rekeyed(const KeySet& keys, const KeyFunction& f, std::vector<std::string>& problems);
/// The result dimension that each key dimension becomes under `f`.
[[nodiscard]] std::vector<std::optional<int>> passed(const KeyFunction& f, std::size_t arity);

/// True if the result's holes are zero blocks, given that the operand's are (`before`) and that `by` is applied to its
/// blocks. Holes only in the new keys are zero blocks.
[[nodiscard]] bool holes_stay_zero(const KeySet& result, const KeySet& operand, bool before, const Kernels& by);
/// Reports a problem if `by` may not be applied to partial results.
void require_pieces(const RelationType& type, const Kernels& by, std::vector<std::string>& problems);

[[nodiscard]] Inferred infer_join(const Join& join, const RelationType& left, const RelationType& right);

}  // namespace tdsl::ir::algebra
