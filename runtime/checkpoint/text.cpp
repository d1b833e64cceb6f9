#include "runtime/checkpoint/text.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "runtime/io/file_kind.h"

namespace tdsl::rt::checkpoint {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\n'; }

template <class T, class... Form>
std::string digits_of(T value, Form... form) {
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, form...).ptr;
  return {digits.data(), end};
}

template <class T, class... Form>
T parsed(const TextReader& reader, std::string_view word, Form... form) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, form...);
  if (error != std::errc() || end != word.data() + word.size())
    reader.fail("invalid number `" + std::string(word) + "`");
  return value;
}

}  // namespace

Absent::Absent(std::string path)
    : Damaged("cannot open `" + path + "`: " + std::generic_category().message(ENOENT)), path_(std::move(path)) {}

void require_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw Absent(path);
  } else if (!S_ISREG(status.st_mode)) {
    throw Damaged("`" + path + "` is not a regular file, but " + file_kind_name(status.st_mode));
  }
}

void TextWriter::gap() {
  if (!text_.empty() && text_.back() != '\n') text_ += ' ';
}

TextWriter& TextWriter::word(std::string_view word) {
  gap();
  text_ += word;
  return *this;
}
TextWriter& TextWriter::number(std::int64_t number) { return word(digits_of(number)); }
TextWriter& TextWriter::bits(std::uint64_t bits) { return word(digits_of(bits, 16)); }
TextWriter& TextWriter::real(double value) { return word(digits_of(value, std::chars_format::hex)); }
TextWriter& TextWriter::line() {
  text_ += '\n';
  return *this;
}

TextWriter& TextWriter::string(std::string_view text) {
  gap();
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') text_ += '\\';
    text_ += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  text_ += '"';
  return *this;
}

void TextReader::fail(const std::string& what) const {
  const auto line =
      1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
  throw Damaged("line " + std::to_string(line) + ": " + what);
}

void TextReader::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

bool TextReader::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

std::string_view TextReader::word() {
  skip_blanks();
  const std::size_t begin = at_;
  while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
  if (at_ == begin) fail("unexpected end");
  return text_.substr(begin, at_ - begin);
}

void TextReader::expect(std::string_view wanted) {
  const std::string_view found = word();
  if (found != wanted) fail("expected `" + std::string(wanted) + "`, found `" + std::string(found) + "`");
}

bool TextReader::next_is(std::string_view wanted) {
  const std::size_t begin = at_;
  if (!at_end() && word() == wanted) return true;
  at_ = begin;
  return false;
}

std::int64_t TextReader::number() { return parsed<std::int64_t>(*this, word()); }
std::uint64_t TextReader::bits() { return parsed<std::uint64_t>(*this, word(), 16); }
double TextReader::real() { return parsed<double>(*this, word(), std::chars_format::hex); }

std::size_t TextReader::count() {
  const std::int64_t count = number();
  if (count < 0 || static_cast<std::uint64_t>(count) > text_.size()) fail("count out of range");
  return static_cast<std::size_t>(count);
}

std::string TextReader::string() {
  skip_blanks();
  if (at_ == text_.size() || text_[at_] != '"') fail("expected a quoted string");
  std::string result;
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    const bool escaped = text_[at_] == '\\' && ++at_ < text_.size();
    if (at_ == text_.size()) break;
    result += escaped && text_[at_] == 'n' ? '\n' : text_[at_];
  }
  if (at_ == text_.size()) fail("unterminated string");
  ++at_;
  return result;
}

}  // namespace tdsl::rt::checkpoint
