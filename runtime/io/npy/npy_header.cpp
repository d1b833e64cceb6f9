#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <system_error>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/npy/npy_elements.h"

namespace tdsl::rt {

namespace {

static_assert(std::endian::native == std::endian::little, "file headers are written for little-endian machines");

/// A parser for the Python literals used in headers.
class DictionaryParser {
 public:
  DictionaryParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = parse_string();
      expect(':');
      if (key == "descr") {
        parse_type(header);
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran = parse_bool();
        order = true;
      } else if (key == "shape") {
        header.shape = parse_shape();
        shape = true;
      } else {
        fail("unknown entry `" + key + "`");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) { fail("`descr`, `fortran_order` and `shape` are needed"); }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw RunError("`" + path_ + "` has a damaged .npy header: " + reason + " [bad-file]");
  }

  void skip_spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) { ++position_; }
  }

  bool accept(char c) {
    skip_spaces();
    if (position_ < text_.size() && text_[position_] == c) {
      ++position_;
      return true;
    }
    return false;
  }

  void expect(char c) {
    if (!accept(c)) { fail(std::string("`") + c + "` expected"); }
  }

  std::string parse_string() {
    skip_spaces();
    const char quote = position_ < text_.size() ? text_[position_] : ' ';
    if (quote != '\'' && quote != '"') { fail("a string expected"); }
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) { fail("a string does not end"); }
    const std::string result(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return result;
  }

  bool parse_bool() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return value;
      }
    }
    fail("True or False expected");
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::int64_t extent = 0;
      const auto result = std::from_chars(text_.data() + position_, text_.data() + text_.size(), extent);
      if (result.ec != std::errc() || extent < 0) { fail("a shape consists of sizes"); }
      position_ = static_cast<std::size_t>(result.ptr - text_.data());
      accept('L');  // written by NumPy under Python 2
      shape.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  void parse_type(NpyHeader& header) {
    skip_spaces();
    if (position_ < text_.size() && text_[position_] == '[') {
      throw RunError("`" + path_ + "` holds records; a tensor`s elements are bool, integer or floating [wrong-type]");
    }
    const std::string descr = parse_string();
    const auto* const type = std::ranges::find_if(kNpyTypes, [&](const NpyType& t) {
      return !descr.empty() && descr.substr(1) == t.kind + std::to_string(t.bytes);
    });
    if (type == std::end(kNpyTypes) || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
      std::string floats;
      for (const ElementInfo& info : kElementTypes) {
        if (is_float(info.type)) floats += (info.type == ElementType::kBf16 ? " and " : ", ") + std::string(info.name);
      }
      throw RunError("`" + path_ + "` has the element type `" + descr +
                     "`; supported are bool, integers of 1 to 8 bytes" + floats + " [wrong-type]");
    }
    header.kind = type->kind;
    header.bytes = type->bytes;
    header.swapped = descr[0] == '>' && header.bytes > 1;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t position_ = 0;
};

}  // namespace

std::int64_t NpyHeader::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) { count *= extent; }
  return count;
}

std::string NpyHeader::type_name() const {
  return kind == 'b' ? "bool" : (kind == 'V' ? "bf" : std::string(1, kind)) + std::to_string(8 * bytes);
}

NpyHeader parse_npy_dictionary(std::string_view text, const std::string& path) {
  NpyHeader header = DictionaryParser(text, path).parse();
  if (header.shape.size() > kMaxRank) {
    throw RunError("`" + path + "` has " + std::to_string(header.shape.size()) + " dimensions; at most " +
                   std::to_string(kMaxRank) + " are supported [bad-file]");
  }
  // The product of the extents in bytes must be below 2^63, even if an extent of zero makes the actual size zero.
  std::int64_t bytes = header.bytes;
  for (const std::int64_t extent : header.shape) {
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes)) {
      throw RunError("`" + path + "` announces more elements than 64 bits can count [bad-file]");
    }
  }
  return header;
}

std::string npy_descriptor(ElementType type) {
  const ElementInfo& info = element_info(type);
  return std::string(1, info.size > 1 ? '<' : '|') + info.kind + std::to_string(info.size);
}

std::string npy_header_bytes(ElementType type, std::span<const std::int64_t> shape, std::size_t least) {
  std::string dictionary = "{'descr': '" + npy_descriptor(type) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    dictionary += (d == 0 ? "" : " ") + std::to_string(shape[d]);
    dictionary += (d + 1 < shape.size() || shape.size() == 1) ? "," : "";
  }
  dictionary += "), }";
  // Rank 8 with 19-digit extents stays below 300 characters, so the 16-bit length field of version 1.0 is always
  // sufficient.
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  const std::size_t unpadded = kPrefix + dictionary.size() + 1;
  const std::size_t padded = (unpadded + kAlignment - 1) / kAlignment * kAlignment;
  dictionary.append(std::max(padded, least) - unpadded, ' ');
  dictionary += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

std::string npy_series_header(ElementType type, std::span<const std::int64_t> shape) {
  constexpr std::size_t kRoom = 64;
  std::vector<std::int64_t> longest(shape.begin(), shape.end());
  longest.front() = std::numeric_limits<std::int64_t>::max();
  return npy_header_bytes(type, shape, npy_header_bytes(type, longest).size() + kRoom);
}

bool is_series(const NpyHeader& header) {
  if (header.shape.empty() || header.fortran || header.swapped) return false;
  return header.data_offset == static_cast<std::int64_t>(npy_series_header(type_of(header), header.shape).size());
}

}  // namespace tdsl::rt
