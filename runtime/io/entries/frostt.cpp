#include "runtime/io/entries/frostt.h"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/io/entries/text_lines.h"
#include "runtime/io/entries/text_numbers.h"
#include "runtime/io/shown_word.h"
#include "runtime/real_types.h"

namespace tdsl::rt {

namespace {

/// True after the last field of a line, or in a comment line.
bool is_remark(const Fields& fields) { return fields.at_end() || fields.front() == '#'; }

/// Parses the extents in a first line `# tdsl shape 4 2 3`.
EntryFile::Extents parse_shape(const TextLines& lines, std::string_view line) {
  Fields fields(line.substr(kFrosttShape.size()));
  EntryFile::Extents shape;
  while (!fields.at_end()) {
    if (!fields.take_count(shape.emplace_back()))
      lines.fail("expected an extent of the shape, found " + shown_word(fields.word()));
  }
  if (shape.empty() || shape.size() > std::size_t{kMaxRank})
    lines.fail("expected the 1 to " + std::to_string(kMaxRank) + " extents of the shape");
  return shape;
}

struct Head {
  int rank = 0;
  std::optional<EntryFile::Extents> shape;
};

/// The rank is the number of extents in the shape line, otherwise the number of subscripts of the first entry.
Head read_head(const OpenFile& file) {
  TextLines lines(file, 0, file.bytes());
  std::string_view line;
  while (lines.next(line)) {
    if (lines.offset() == 0 && line.starts_with(kFrosttShape)) {
      EntryFile::Extents shape = parse_shape(lines, line);
      const int rank = static_cast<int>(shape.size());
      return {rank, std::move(shape)};
    }
    Fields fields(line);
    if (is_remark(fields)) continue;
    int words = 0;
    for (; !is_remark(fields) && words <= kMaxRank + 1; ++words) fields.skip_word();
    if (words < 2) lines.fail("expected subscripts and a value");
    if (words > kMaxRank + 1) lines.fail("tensors have at most " + std::to_string(kMaxRank) + " dimensions");
    return {words - 1, std::nullopt};
  }
  throw RunError(file.path() +
                 ":1: the file has no entries, so that nothing says how many dimensions it has; a first line `" +
                 std::string(kFrosttShape) + " 4 3` would say its shape [bad-file]");
}

template <Element T>
class EntryLines {
 public:
  EntryLines(const OpenFile& file, std::int64_t first, std::int64_t last, EntryFile::Part& part, int rank,
             const std::optional<EntryFile::Extents>& shape)
      : lines_(file, first, last), part_(part), rank_(rank), shape_(shape) {}

  void read() {
    std::string_view line;
    while (lines_.next(line)) {
      Fields fields(line);
      if (is_remark(fields)) continue;
      entry(fields);
      ++part_.tally.lines;
    }
  }

 private:
  void entry(Fields fields) {
    std::array<std::int64_t, kMaxRank> at{};
    for (int d = 0; d < rank_; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const Fields here = fields;
      if (!fields.take_count(at[i]) || at[i] < 1)
        lines_.fail("expected subscript " + std::to_string(d + 1) + " of " + std::to_string(rank_) + ", from 1 on" +
                    found(here));
      if (shape_ && at[i] > (*shape_)[i]) {
        lines_.fail("subscript " + std::to_string(d + 1) + " is " + std::to_string(at[i]) +
                    ", but the shape in the first line has " + std::to_string((*shape_)[i]) + " there");
      }
      part_.tally.reach[i] = std::max(part_.tally.reach[i], at[i]);
    }
    const T value = number(fields);
    if (!is_remark(fields)) {
      lines_.fail((shape_
                       ? "the shape has " + std::to_string(rank_) + (rank_ == 1 ? " extent" : " extents")
                       : "the first entry has " + std::to_string(rank_) + (rank_ == 1 ? " subscript" : " subscripts")) +
                  ", this one has more");
    }
    const EntryForm& form = part_.entries.form();
    if (!form.wide && EntryForm::needs_wide(std::span(at).first(static_cast<std::size_t>(rank_))))
      part_.entries.widen();
    std::byte* const to = part_.entries.append();
    for (int d = 0; d < rank_; ++d) form.set_coordinate(to, d, at[static_cast<std::size_t>(d)] - 1);
    form.set_value(to, value);
  }

  T number(Fields& fields) const {
    std::conditional_t<std::same_as<T, bool>, std::int32_t, T> value{};
    const Fields here = fields;
    const Fields::Number result = fields.take_number(value);
    if (result == Fields::Number::kGood && (!std::same_as<T, bool> || value == 1)) return static_cast<T>(value);
    if (result == Fields::Number::kTooLarge)
      lines_.fail("the value does not fit into " + std::string(element_name(element_type_of<T>)) + found(here));
    const std::string_view wanted = std::same_as<T, bool>   ? "1, which is true"
                                    : std::is_integral_v<T> ? "an integer"
                                                            : "a number";
    lines_.fail("expected " + std::string(wanted) + found(here));
  }

  static std::string found(const Fields& fields) {
    return fields.at_end() ? ", the line ends" : ", found " + shown_word(fields.word());
  }

  TextLines lines_;
  EntryFile::Part& part_;
  int rank_;
  const std::optional<EntryFile::Extents>& shape_;
};

}  // namespace

FrosttFile::FrosttFile(OpenFile opened) : EntryFile(std::move(opened)) {
  Head head = read_head(file());
  rank_ = head.rank;
  shape_ = std::move(head.shape);
}

EntryFile::Part FrosttFile::read(ElementType type, std::int64_t part, std::int64_t parts) const {
  const Range range = range_of(0, file().bytes(), part, parts);
  Part result{entries_to_read({rank_, type, false}), {0, Extents(static_cast<std::size_t>(rank_), 0), {}}};
  visit_real_type(type, path(), [&](auto tag) {
    EntryLines<typename decltype(tag)::type>(file(), range.first, range.last, result, rank_, shape_).read();
  });
  file().require_unchanged();
  return result;
}

EntryFile::Extents FrosttFile::settle(std::span<const Tally> tallies, std::int64_t, Part& mine) const {
  Extents shape = shape_.value_or(Extents(static_cast<std::size_t>(rank_), 0));
  for (const Tally& tally : tallies) {
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = std::max(shape[d], tally.reach[d]);
  }
  if (EntryForm::needs_wide(shape)) mine.entries.widen();
  return shape;
}

}  // namespace tdsl::rt
