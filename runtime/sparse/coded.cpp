#include "runtime/sparse/coded.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/check.h"

namespace tdsl::rt::sparse {

namespace {

constexpr Index kArrayAlignment = 64;

constexpr Index rounded_up(Index bytes, Index to = kArrayAlignment) { return (bytes + to - 1) / to * to; }

/// Distinguishes all values that are not equal in every operation: -0 and 0, nans.
template <class T>
std::uint64_t identity_bits(T value) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <class T>
bool is_finite(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
  return true;
}

// Note [Codes by time] Blocks with codes are smaller, but not always faster. A pass that needs the code of each row
// visits rows that are 0, too, unless the column lists its nonzero rows; it makes a table with an entry for every value
// of every column, and these leave the cache if there are many columns. A walk visits the nonzero elements alone, once
// for all operators of a nest, at a cost per row. Costs are nanoseconds on one core, of which only the ratios matter.

constexpr double kLookup = 0.7, kAddition = 0.7;  ///< per row of a column with a code per row
constexpr double kListedRow = 1.1;                ///< per nonzero row of other columns
constexpr double kCount = 1, kEntry = 2;          ///< per distinct value: its result, stored in a table,
constexpr double kSum = 8;                        ///< or sums of weights, which are cleared, added and tested
constexpr double kDecoded = 1;                    ///< per element, zeros included
constexpr double kElement = 0.8;                  ///< of a walk, per update
constexpr double kRow = 15, kRowOfNest = 120;     ///< of a walk

}  // namespace

/// The distinct values of a column in the order of their first rows.
template <class T>
class Coder<T>::Dictionary {
 public:
  /// The value's code; kMostCodes if the dictionary is full.
  Index code(T value) {
    const std::uint64_t bits = identity_bits(value);
    std::size_t at = place(bits);
    for (; slots_[at] != 0; at = (at + 1) % slots_.size()) {
      if (identity_bits(values_[slots_[at] - 1]) != bits) continue;
      ++counts_[slots_[at] - 1];
      return slots_[at] - 1;
    }
    if (static_cast<Index>(values_.size()) == kMostCodes) return kMostCodes;
    values_.push_back(value);
    counts_.push_back(1);
    slots_[at] = static_cast<std::uint32_t>(values_.size());
    if (2 * values_.size() > slots_.size()) grow();
    return static_cast<Index>(values_.size()) - 1;
  }
  [[nodiscard]] const std::vector<T>& values() const { return values_; }
  [[nodiscard]] const std::vector<Index>& counts() const { return counts_; }
  [[nodiscard]] Index elements() const {
    Index sum = 0;
    for (const Index count : counts_) sum += count;
    return sum;
  }

 private:
  [[nodiscard]] std::size_t place(std::uint64_t bits) const {
    return (bits * 0x9e3779b97f4a7c15ULL >> 32) % slots_.size();
  }
  void grow() {
    slots_.assign(4 * slots_.size(), 0);
    for (std::size_t k = 0; k < values_.size(); ++k) {
      std::size_t at = place(identity_bits(values_[k]));
      while (slots_[at] != 0) at = (at + 1) % slots_.size();
      slots_[at] = static_cast<std::uint32_t>(k + 1);
    }
  }

  std::vector<T> values_;
  std::vector<Index> counts_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(16);  ///< code + 1, by hash; a power of two
};

template <class T>
Coder<T>::Coder(const RowEntries<T>& entries, Index most) : entries_(entries), rows_(0), segments_(0) {
  if (entries.extents.size() != 2 || entries.values.empty()) return;
  rows_ = entries.extents[0];
  segments_ = (rows_ + kSegmentRows - 1) / kSegmentRows;
  if (!assign_codes(most)) return;
  if (head_.bytes > most) head_.bytes = 0;
}

template <class T>
double Coder<T>::nanoseconds_with_codes(const CodedVisits& visits) const {
  double listed = 0, coded = 0, values = 0;
  for (const CodedChunk& chunk : chunks_) listed += chunk.count;
  for (const CodedColumn& column : columns_) {
    values += column.values;
    const bool of_rows =
        column.form != Form::kEmpty && column.form != Form::kListed && column.form != Form::kListedWords;
    coded += of_rows ? static_cast<double>(rows_) : 0;
  }
  const double all = static_cast<double>(rows_) * static_cast<double>(columns_.size());
  return visits.counts * kCount * values + visits.totals * (kEntry * values + kLookup * coded + kListedRow * listed) +
         visits.weights * (kSum * values + kAddition * coded + kListedRow * listed) +
         visits.decoded * ((kDecoded + kElement) * all + kRow * static_cast<double>(rows_));
}

template <class T>
double Coder<T>::nanoseconds_without(const CodedVisits& visits) const {
  const auto elements = static_cast<double>(entries_.values.size()), rows = static_cast<double>(rows_);
  return (visits.counts + visits.totals + visits.weights + visits.decoded) * kElement * elements +
         (kRow * (visits.walks + visits.decoded) + kRowOfNest * visits.nests) * rows;
}

template <class T>
bool Coder<T>::assign_codes(Index most) {
  const auto columns = static_cast<std::size_t>(entries_.extents[1]);
  std::vector<Dictionary> dictionaries(columns);
  columns_.resize(columns);
  shift_.resize(columns);
  code_.resize(entries_.values.size());
  constexpr Index kEach = sizeof(T) + sizeof(Index);
  Index bytes = 0;
  for (std::size_t k = 0; k < code_.size(); ++k) {
    Dictionary& values = dictionaries[entries_.last[k]];
    const std::size_t before = values.values().size();
    const Index code = values.code(entries_.values[k]);
    if (code == kMostCodes) return false;
    if (values.values().size() > before && (bytes += kEach) > most) return false;
    code_[k] = static_cast<std::uint16_t>(code);
  }
  for (std::size_t c = 0; c < columns; ++c) choose(c, dictionaries[c]);
  place(dictionaries);
  return head_.bytes > 0;
}

/// The smallest form. Rows without an element have code 0 in columns that are not listed.
template <class T>
void Coder<T>::choose(std::size_t column, const Dictionary& values) {
  const auto distinct = static_cast<Index>(values.values().size());
  const Index elements = values.elements();
  const Index all = distinct + (elements < rows_ ? 1 : 0);
  const auto width = [](Index codes) { return codes <= 256 ? 1 : 2; };
  const Index listed = elements * (2 + width(distinct));
  const Index coded = all <= kMostCodes ? rows_ * width(all) : std::numeric_limits<Index>::max();
  Form& form = columns_[column].form;
  if (elements == 0) {
    form = Form::kEmpty;
  } else if (all == 1) {
    form = Form::kConstant;
  } else if (listed < coded) {
    form = width(distinct) == 1 ? Form::kListed : Form::kListedWords;
  } else {
    form = width(all) == 1 ? Form::kBytes : Form::kWords;
  }
}

/// Computes offsets, chunks and the head.
template <class T>
void Coder<T>::place(const std::vector<Dictionary>& dictionaries) {
  const auto columns = static_cast<Index>(columns_.size());
  std::vector<std::uint32_t> listed(static_cast<std::size_t>(segments_ * columns));
  for (std::size_t r = 0; r < entries_.begins.size(); ++r) {
    std::uint32_t* const of_segment = listed.data() + static_cast<Index>(entries_.outer[r]) / kSegmentRows * columns;
    for (Index k = entries_.begins[r]; k < entries_.end(r); ++k)
      ++of_segment[entries_.last[static_cast<std::size_t>(k)]];
  }
  head_.chunks = rounded_up(static_cast<Index>(sizeof(BlockHead)) + columns * static_cast<Index>(sizeof(CodedColumn)));
  Index at = rounded_up(head_.chunks + segments_ * columns * static_cast<Index>(sizeof(CodedChunk)));
  bool finite = true;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Dictionary& from = dictionaries[c];
    CodedColumn& column = columns_[c];
    const bool dense = column.form == Form::kBytes || column.form == Form::kWords;
    if (const Index zeros = rows_ - from.elements(); dense && zeros > 0) {
      values_.push_back(T(0));
      counts_.push_back(zeros);
      ++column.values;
      shift_[c] = 1;
    }
    values_.insert(values_.end(), from.values().begin(), from.values().end());
    counts_.insert(counts_.end(), from.counts().begin(), from.counts().end());
    column.values += static_cast<std::uint32_t>(from.values().size());
    column.dictionary = at;
    column.counts = rounded_up(at + column.values * static_cast<Index>(sizeof(T)), 8);
    at = column.counts + column.values * static_cast<Index>(sizeof(Index));
    finite = finite && std::ranges::all_of(from.values(), is_finite<T>);
  }
  head_.codes = rounded_up(at);
  Index codes = 0;
  chunks_.resize(static_cast<std::size_t>(segments_ * columns));
  for (Index s = 0; s < segments_; ++s) {
    for (Index c = 0; c < columns; ++c) {
      CodedChunk& chunk = chunks_[static_cast<std::size_t>(s * columns + c)];
      const Index count = listed[static_cast<std::size_t>(s * columns + c)];
      if (codes / 8 > std::numeric_limits<std::uint32_t>::max()) return;
      chunk.at = static_cast<std::uint32_t>(codes / 8);
      const Form form = columns_[static_cast<std::size_t>(c)].form;
      if (form == Form::kListed || form == Form::kListedWords) chunk.count = static_cast<std::uint32_t>(count);
      codes += rounded_up(form == Form::kBytes         ? rows_in(s)
                          : form == Form::kWords       ? 2 * rows_in(s)
                          : form == Form::kListed      ? 3 * count
                          : form == Form::kListedWords ? 4 * count
                                                       : 0,
                          8);
    }
  }
  head_.levels = 2;
  head_.element = static_cast<std::uint8_t>(element_type_of<T>);
  head_.flags = finite ? BlockHead::kValues | BlockHead::kFinite : BlockHead::kValues;
  head_.codec = BlockHead::kCoded;
  head_.count[0] = rows_;
  head_.count[1] = rows_ * columns;
  head_.bytes = rounded_up(head_.codes + codes);
}

template <class T>
void Coder<T>::write(std::byte* to) const {
  TDSL_CHECK(head_.bytes > 0, "only coded blocks are written");
  std::memcpy(to, &head_, sizeof head_);
  const auto list = [&](Index at, const auto* from, std::size_t count) {
    if (count > 0) std::memcpy(to + at, from, count * sizeof *from);
  };
  list(sizeof(BlockHead), columns_.data(), columns_.size());
  list(head_.chunks, chunks_.data(), chunks_.size());
  std::size_t first = 0;
  for (const CodedColumn& column : columns_) {
    list(column.dictionary, values_.data() + first, column.values);
    list(column.counts, counts_.data() + first, column.values);
    first += column.values;
  }
  std::memset(to + head_.codes, 0, static_cast<std::size_t>(head_.bytes - head_.codes));
  write_codes(to + head_.codes);
}

template <class T>
void Coder<T>::write_codes(std::byte* codes) const {
  const std::size_t columns = columns_.size();
  std::vector<Index> next(columns);  // listed element of the segment
  Index segment = -1;
  for (std::size_t r = 0; r < entries_.begins.size(); ++r) {
    const auto row = static_cast<Index>(entries_.outer[r]);
    if (row / kSegmentRows != segment) std::ranges::fill(next, 0);
    segment = row / kSegmentRows;
    const Index within = row % kSegmentRows;
    const CodedChunk* const chunks = chunks_.data() + segment * static_cast<Index>(columns);
    for (Index k = entries_.begins[r]; k < entries_.end(r); ++k) {
      const std::size_t c = entries_.last[static_cast<std::size_t>(k)];
      std::byte* const chunk = codes + static_cast<Index>(chunks[c].at) * 8;
      const auto code = static_cast<std::uint16_t>(code_[static_cast<std::size_t>(k)] + shift_[c]);
      const auto put_word = [](std::byte* at, Index place, std::uint16_t word) {
        std::memcpy(at + 2 * place, &word, sizeof word);
      };
      switch (columns_[c].form) {
        case Form::kBytes: chunk[within] = static_cast<std::byte>(code); break;
        case Form::kWords: put_word(chunk, within, code); break;
        case Form::kListed:
        case Form::kListedWords: {
          const Index place = next[c]++;
          put_word(chunk, place, static_cast<std::uint16_t>(within));
          std::byte* const of_rows = chunk + 2 * static_cast<Index>(chunks[c].count);
          if (columns_[c].form == Form::kListed) {
            of_rows[place] = static_cast<std::byte>(code);
          } else {
            put_word(of_rows, place, code);
          }
          break;
        }
        case Form::kEmpty:
        case Form::kConstant: break;
      }
    }
  }
}

template <class T>
BlockMemory decoded(const BlockHead& coded, plan::Interval rows) {
  const CodedView<T> view(coded);
  BlockHead head;
  head.levels = 2;
  head.element = coded.element;
  head.flags = coded.flags;
  head.count[0] = rows.size();
  head.count[1] = rows.size() * view.columns();
  const BlockArrays arrays = arrays_of(head);
  head.bytes = arrays.bytes;
  BlockMemory memory = block_memory(head.bytes);
  std::memcpy(memory.get(), &head, sizeof head);
  view.decode(rows, reinterpret_cast<T*>(memory.get() + arrays.values));
  return memory;
}

#define TDSL_INSTANTIATE(enumerator, T, ...) template BlockMemory decoded<T>(const BlockHead&, plan::Interval);
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE
template class Coder<double>;
template class Coder<float>;
template class Coder<std::int64_t>;
template class Coder<std::uint64_t>;
template class Coder<std::int32_t>;
template class Coder<std::uint32_t>;
template class Coder<std::int16_t>;
template class Coder<std::uint16_t>;
template class Coder<std::int8_t>;
template class Coder<std::uint8_t>;

}  // namespace tdsl::rt::sparse
