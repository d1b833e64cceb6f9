#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/algebra/check/infer.h"

// What the inference of several operators has in common. The require functions throw AlgebraError.

namespace tdsl::ir::algebra {

void require(bool condition, const std::string& message);
/// Dimensions that exist, each once.
void require_dims(const Dims& dims, std::size_t arity, std::string_view what);
/// That only the first `values` key values are mentioned.
void require_keys(const KeyFunction& keys, std::size_t values);
void require_predicate(const Predicate& where, std::size_t values);
void require_layout(const Layout& layout, std::size_t arity);

/// Keys of results, with a problem for the first that comes twice.
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
/// What each dimension of a key becomes in the result of `f`.
[[nodiscard]] std::vector<std::optional<int>> passed(const KeyFunction& f, std::size_t arity);

/// Whether the result's holes are zero blocks, where `before` says whether the operand's are and `by` is applied to its
/// blocks. Holes that only the new keys make are zero blocks.
[[nodiscard]] bool holes_stay_zero(const KeySet& result, const KeySet& operand, bool before, const Kernels& by);
/// Notes a problem if `by` may not be applied to partial results.
void require_pieces(const RelationType& type, const Kernels& by, std::vector<std::string>& problems);

[[nodiscard]] Inferred infer_join(const Join& join, const RelationType& left, const RelationType& right);

}  // namespace tdsl::ir::algebra
