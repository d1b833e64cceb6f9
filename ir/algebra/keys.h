#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tdsl::ir::algebra {

using Index = std::int64_t;
/// Block coordinates, one per key dimension; never negative.
using Key = std::vector<Index>;
/// Positions of key dimensions, from 0. The order matters where two lists are matched.
using Dims = std::vector<int>;

/// `[0, 2]`, as in the text form.
[[nodiscard]] std::string key_text(const Key& key);
[[nodiscard]] std::string dims_text(const Dims& dims);
/// 0, 1, .., n - 1.
[[nodiscard]] Dims all_dims(std::size_t n);
/// The position of `dim` in `dims`, or nothing.
[[nodiscard]] std::optional<int> position_of(const Dims& dims, int dim);
[[nodiscard]] bool subset(const Dims& inner, const Dims& outer);
/// The key's values at `dims`, in their order.
[[nodiscard]] Key values_at(const Key& key, const Dims& dims);

/// A set of keys of one arity, in row-major order. Its frontier is the smallest vector that bounds every key from
/// above; the set is *full* if it holds every key below the frontier, else it has holes. Copies share their storage.
class KeySet {
 public:
  KeySet() = default;  ///< the one key of arity 0
  /// Every key below `frontier`.
  [[nodiscard]] static KeySet below(Key frontier);
  /// The distinct keys of `keys`, all of the given arity.
  [[nodiscard]] static KeySet of(std::vector<Key> keys, std::size_t arity);

  [[nodiscard]] const Key& frontier() const { return frontier_; }
  [[nodiscard]] std::size_t arity() const { return frontier_.size(); }
  [[nodiscard]] bool full() const { return some_ == nullptr; }
  /// The number of existing keys, excluding holes.
  [[nodiscard]] Index count() const;
  [[nodiscard]] bool contains(const Key& key) const;
  void for_each(const std::function<void(const Key&)>& f) const;

  friend bool operator==(const KeySet& a, const KeySet& b);

 private:
  Key frontier_;
  std::shared_ptr<const std::vector<Key>> some_;  ///< sorted; null: every key below the frontier
};

/// Calls f for every key below `frontier`, in row-major order.
void for_each_below(const Key& frontier, const std::function<void(const Key&)>& f);
/// The product of the extents.
[[nodiscard]] Index volume(const std::vector<Index>& extents);

}  // namespace tdsl::ir::algebra
