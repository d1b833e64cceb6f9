#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

// The text of manifests: words with blanks or line ends between them, strings in quotes.

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

/// What is not as it should be in a text, or in a file.
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file that is not there; on a node that has another view of the file system, it may be.
class Absent : public Damaged {
 public:
  explicit Absent(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Throws Absent if there is no such file, and Damaged if it is no regular one. What else the system says of it is left
/// to whoever opens it.
void require_file(const std::string& path);

/// Reads it back. Whatever takes something throws Damaged with the line's number if that is not there; blanks and line
/// ends before it are passed over. Words are parts of the text, which must outlive them.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}
  /// Takes this very word.
  void expect(std::string_view word);
  /// Takes this word if it is next; else nothing.
  [[nodiscard]] bool next_is(std::string_view word);
  [[nodiscard]] std::string_view word();
  [[nodiscard]] std::int64_t number();  ///< decimal
  /// A number of things that follow, each of them at least a character.
  [[nodiscard]] std::size_t count();
  [[nodiscard]] std::uint64_t bits();  ///< hexadecimal
  [[nodiscard]] double real();         ///< exactly what was written
  [[nodiscard]] std::string string();  ///< without its quotes and escapes
  /// Whether nothing but blanks is left.
  [[nodiscard]] bool at_end();
  /// Throws Damaged with the number of the line that has been reached.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void skip_blanks();
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tdsl::rt::checkpoint
