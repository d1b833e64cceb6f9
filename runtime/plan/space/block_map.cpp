#include "runtime/plan/space/block_map.h"

#include <algorithm>
#include <charconv>

namespace tdsl::plan {

namespace {

/// Distance in ranks between neighbouring coordinates of a dimension, in a grid whose last dimension varies fastest.
std::vector<Index> strides_of(const std::vector<Index>& grid) {
  std::vector<Index> strides(grid.size(), 1);
  for (std::size_t d = grid.size(); d-- > 1;) strides[d - 1] = strides[d] * grid[d];
  return strides;
}

/// Advances row-major coordinates; false after the last.
bool next_block(std::vector<Index>& at, const std::vector<Index>& blocks) {
  for (std::size_t d = at.size(); d-- > 0;) {
    if (++at[d] < blocks[d]) return true;
    at[d] = 0;
  }
  return false;
}

/// The period, in blocks, of the owners along a dimension, at the first block of the other dimensions.
Index period_along(const BlockMap& map, std::size_t d) {
  const Index stride = strides_of(map.blocks)[d];
  for (Index c = 1; c < map.blocks[d]; ++c) {
    if (map.owners[static_cast<std::size_t>(c * stride)] == map.owners.front()) return c;
  }
  return map.blocks[d];
}

/// Distance in ranks between the owners of the first two blocks along a dimension; 0 if there is only one block.
Index step_along(const BlockMap& map, std::size_t d, Index ranks) {
  if (map.blocks[d] == 1) return 0;
  return (map.owners[static_cast<std::size_t>(strides_of(map.blocks)[d])] - map.owners.front() + ranks) % ranks;
}

bool says_the_same(const BlockMap& cyclic, const BlockMap& table, Index ranks) {
  std::vector<Index> at(table.blocks.size(), 0);
  for (const std::int32_t owner : table.owners) {
    if (cyclic.owner(at, ranks) != owner) return false;
    next_block(at, table.blocks);
  }
  return true;
}

std::string joined(const std::vector<Index>& numbers) {
  std::string text;
  for (const Index n : numbers) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

/// A left-to-right parser of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool ended() const { return rest_.empty(); }
  bool take(std::string_view wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  /// The position of the name that extends to `end`.
  std::optional<int> name(const std::vector<std::string>& names, std::string_view end) {
    const auto found = std::find(names.begin(), names.end(), rest_.substr(0, rest_.find(end)));
    if (found == names.end() || !take(*found) || !take(end)) return std::nullopt;
    return static_cast<int>(found - names.begin());
  }
  std::optional<Index> number() {
    Index value = 0;
    const auto result = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (result.ec != std::errc() || value < 0) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(result.ptr - rest_.data()));
    return value;
  }
  /// Parses at most `most` positive numbers: `3x4`.
  std::optional<std::vector<Index>> numbers(std::size_t most) {
    std::vector<Index> list;
    do {
      const std::optional<Index> n = number();
      if (!n || *n < 1 || *n > kTableTiles || list.size() == most) return std::nullopt;
      list.push_back(*n);
    } while (take("x"));
    return list;
  }

 private:
  std::string_view rest_;
};

std::optional<BlockMap> parse_cyclic(Reader text, std::size_t dimensions) {
  BlockMap map;
  const auto blocks = text.numbers(dimensions);
  if (!blocks || !text.take(" on ")) return std::nullopt;
  const auto over = text.numbers(dimensions);
  if (!over || over->size() != blocks->size()) return std::nullopt;
  map.blocks = *blocks;
  map.over = *over;
  if (text.take(" from ")) {
    const auto first = text.number();
    if (!first) return std::nullopt;
    map.first = *first;
  }
  return text.ended() ? std::optional(std::move(map)) : std::nullopt;
}

std::optional<BlockMap> parse_columns(Reader text, const std::vector<std::string>& names, Index ranks) {
  const auto count = text.number();
  if (!count || *count < 1 || *count > ranks || !text.take(" (")) return std::nullopt;
  const auto row = text.name(names, ", ");
  const auto column = row ? text.name(names, ")") : row;
  if (!column || *row == *column || !text.ended()) return std::nullopt;
  return block_map(RankColumns{ranks, *count, *row, *column});
}

std::optional<BlockMap> parse_table(Reader text, std::size_t dimensions) {
  BlockMap map;
  const auto blocks = text.numbers(dimensions);
  if (!blocks || !text.take(":")) return std::nullopt;
  map.blocks = *blocks;
  Index count = 1;
  for (const Index n : map.blocks) count *= n, count = std::min(count, kTableTiles + 1);
  if (count > kTableTiles) return std::nullopt;
  while (!text.ended()) {
    if (!text.take(" ")) return std::nullopt;
    const auto owner = text.number();
    const auto times = text.take("*") ? text.number() : Index{1};
    if (!owner || *owner > INT32_MAX || !times || static_cast<Index>(map.owners.size()) + *times > count)
      return std::nullopt;
    map.owners.insert(map.owners.end(), static_cast<std::size_t>(*times), static_cast<std::int32_t>(*owner));
  }
  return static_cast<Index>(map.owners.size()) == count ? std::optional(std::move(map)) : std::nullopt;
}

}  // namespace

Index RankColumns::height(Index column) const { return ranks / count + (column < ranks % count ? 1 : 0); }

Index RankColumns::first_rank(Index column) const { return column * (ranks / count) + std::min(column, ranks % count); }

Index RankColumns::column_of(Index rank) const {
  const Index low = ranks / count, tall = ranks % count;
  return rank < tall * (low + 1) ? rank / (low + 1) : tall + (rank - tall * (low + 1)) / low;
}

Interval RankColumns::tiles_of(Index rank, int d, Index tiles) const {
  if (d != row_dim && d != column_dim) return {0, tiles};
  const Index column = column_of(rank), first = first_rank(column), shares = height(column);
  if (d == row_dim) return {(rank - first) * tiles / shares, (rank - first + 1) * tiles / shares};
  return {first * tiles / ranks, (first + shares) * tiles / ranks};
}

Index RankColumns::owner(Index row, Index rows, Index column, Index columns) const {
  const auto tiles = [&](Index c) { return tiles_of(first_rank(c), column_dim, columns); };
  Index c = column_of(std::min(ranks - 1, column * ranks / columns));
  while (tiles(c).lo > column) --c;
  while (tiles(c).hi <= column) ++c;
  // The rank whose rows [r n / h, (r+1) n / h) include this one.
  return first_rank(c) + ((row + 1) * height(c) + rows - 1) / rows - 1;
}

Index RankColumns::blocks(int d) const {
  const Index low = ranks / count;
  if (d == row_dim) return ranks % count == 0 ? low : low * (low + 1);
  return d == column_dim ? ranks : 1;
}

Index BlockMap::count() const {
  Index n = 1;
  for (const Index b : blocks) n *= b;
  return n;
}

Index BlockMap::owner(const std::vector<Index>& block, Index ranks) const {
  if (columns) {
    const auto row = idx(columns->row_dim), column = idx(columns->column_dim);
    return columns->owner(block[row], blocks[row], block[column], blocks[column]);
  }
  if (!cyclic()) {
    const std::vector<Index> strides = strides_of(blocks);
    Index number = 0;
    for (std::size_t d = 0; d < blocks.size(); ++d) number += block[d] * strides[d];
    return owners[static_cast<std::size_t>(number)];
  }
  const std::vector<Index> strides = strides_of(over);
  Index rank = first;
  for (std::size_t d = 0; d < over.size(); ++d) rank += block[d] % over[d] * strides[d];
  return rank % ranks;
}

BlockMap block_map(const RankColumns& columns) {
  BlockMap map;
  map.columns = columns;
  for (int d = 0; d <= std::max(columns.row_dim, columns.column_dim); ++d) map.blocks.push_back(columns.blocks(d));
  return map;
}

BlockMap block_map(std::vector<Index> blocks, std::vector<std::int32_t> owners, Index ranks) {
  const BlockMap table{std::move(blocks), {}, 0, std::move(owners)};
  const std::size_t rank = table.blocks.size();
  if (rank == 0 || table.owners.empty()) return table;
  BlockMap cyclic{table.blocks, std::vector<Index>(rank, 1), table.owners.front()};
  Index used = 1;  // ranks used by the dimensions after d
  for (std::size_t d = rank; d-- > 0; used *= cyclic.over[d]) {
    const Index wanted = step_along(table, d, ranks);
    // A dimension with fewer blocks than ranks does not reveal its number of ranks.
    for (std::size_t e = d + 1; e < rank && wanted > used; ++e) {
      const Index inside = used / cyclic.over[e];
      if (cyclic.over[e] == table.blocks[e] && wanted % inside == 0) {
        cyclic.over[e] = wanted / inside;
        used = wanted;
      }
      if (cyclic.over[e] > 1) break;  // earlier dimensions depend on it
    }
    cyclic.over[d] = period_along(table, d);
  }
  return used <= ranks && says_the_same(cyclic, table, ranks) ? cyclic : table;
}

std::string text_of(const BlockMap& map, const std::vector<std::string>& names) {
  if (map.columns) {
    return "columns " + std::to_string(map.columns->count) + " (" + names[idx(map.columns->row_dim)] + ", " +
           names[idx(map.columns->column_dim)] + ")";
  }
  if (map.cyclic()) {
    return "cyclic " + joined(map.blocks) + " on " + joined(map.over) +
           (map.first > 0 ? " from " + std::to_string(map.first) : "");
  }
  std::string text = "table " + joined(map.blocks) + ':';
  for (std::size_t k = 0; k < map.owners.size();) {
    std::size_t end = k + 1;
    while (end < map.owners.size() && map.owners[end] == map.owners[k]) ++end;
    text += ' ' + std::to_string(map.owners[k]) + (end > k + 1 ? '*' + std::to_string(end - k) : "");
    k = end;
  }
  return text;
}

std::optional<BlockMap> parse_block_map(std::string_view text, const std::vector<std::string>& names, Index ranks) {
  Reader reader(text);
  if (reader.take("cyclic ")) return parse_cyclic(reader, names.size());
  if (reader.take("columns ")) return parse_columns(reader, names, ranks);
  if (reader.take("table ")) return parse_table(reader, names.size());
  return std::nullopt;
}

}  // namespace tdsl::plan
