#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

// The text of manifests: words separated by blanks or line ends, strings in quotes.

namespace tdsl::rt::checkpoint {

class TextWriter {
 public:
  TextWriter& word(std::string_view word);
  TextWriter& number(std::int64_t number);
  TextWriter& bits(std::uint64_t bits);  ///< hexadecimal
  TextWriter& real(double value);        ///< exactly
  TextWriter& string(std::string_view text);
  TextWriter& line();
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void gap();
  std::string text_;
};

/// An error in the contents of a text or a file.
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A missing file; it may exist on a node with a different view of the file system.
class Absent : public Damaged {
 public:
  explicit Absent(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Throws Absent if the file does not exist, and Damaged if it is not a regular file. Other errors are left to the code
/// that opens it.
void require_file(const std::string& path);

/// Reads the text back. Functions that consume a token throw Damaged with the line number if it is missing; they skip
/// preceding blanks and line ends. Words are views of the text, which must outlive them.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}
  /// Consumes exactly this word.
  void expect(std::string_view word);
  /// Consumes this word if it is next; else nothing.
  [[nodiscard]] bool next_is(std::string_view word);
  [[nodiscard]] std::string_view word();
  [[nodiscard]] std::int64_t number();  ///< decimal
  /// Reads the number of items that follow, each of at least one character.
  [[nodiscard]] std::size_t count();
  [[nodiscard]] std::uint64_t bits();  ///< hexadecimal
  [[nodiscard]] double real();         ///< exactly the written value
  [[nodiscard]] std::string string();  ///< without its quotes and escapes
  // The calls of TextWriter: one function that lists the parts of a value both writes and reads it.
  TextReader& word(std::string_view wanted) {
    expect(wanted);
    return *this;
  }
  template <std::integral T>
  TextReader& number(T& x) {
    return set(x, static_cast<T>(number()));
  }
  TextReader& bits(std::uint64_t& x) { return set(x, bits()); }
  TextReader& real(double& x) { return set(x, real()); }
  TextReader& string(std::string& x) { return set(x, string()); }
  TextReader& line() { return *this; }
  /// True if only blanks are left.
  [[nodiscard]] bool at_end();
  /// Throws Damaged with the current line number.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  template <class T>
  TextReader& set(T& x, T value) {
    x = std::move(value);
    return *this;
  }
  void skip_blanks();
  std::string_view text_;
  std::size_t at_ = 0;
};

/// A list: its length, and `one(item)` for every item; `in_lines`: each on lines of its own.
template <class List, class F>
void list(TextWriter& out, const List& items, const F& one, bool in_lines = false) {
  out.number(static_cast<std::int64_t>(items.size()));
  if (in_lines) out.line();
  for (const auto& item : items) one(item);
}
template <class List, class F>
void list(TextReader& in, List& items, const F& one, bool = false) {
  items.clear();
  for (std::size_t k = in.count(); k > 0; --k) one(items.emplace_back());
}

/// One of two words.
inline void either(TextWriter& out, std::string_view yes, std::string_view no, bool value) {
  out.word(value ? yes : no);
}
inline void either(TextReader& in, std::string_view yes, std::string_view no, bool& value) {
  value = in.next_is(yes);
  if (!value) in.expect(no);
}

}  // namespace tdsl::rt::checkpoint
