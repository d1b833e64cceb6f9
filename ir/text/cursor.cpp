#include "ir/text/cursor.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace tdsl::ir {

namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

void TextCursor::fail(const std::string& message) const {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t k = 0; k < position_ && k < text_.size(); ++k) {
    column = text_[k] == '\n' ? 1 : column + 1;
    line += text_[k] == '\n' ? 1 : 0;
  }
  throw std::runtime_error(std::to_string(line) + ":" + std::to_string(column) + ": " + message);
}

std::size_t TextCursor::line() {
  skip_blanks();
  const std::string_view before = text_.substr(0, position_);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

void TextCursor::skip_blanks() {
  while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
}

char TextCursor::peek() {
  skip_blanks();
  return position_ < text_.size() ? text_[position_] : '\0';
}

bool TextCursor::at_end() { return peek() == '\0'; }

bool TextCursor::accept(std::string_view token) {
  skip_blanks();
  if (!text_.substr(position_).starts_with(token)) return false;
  const std::size_t end = position_ + token.size();
  if (is_word_character(token.back()) && end < text_.size() && is_word_character(text_[end])) return false;
  position_ = end;
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!accept(token)) fail("expected `" + std::string(token) + "`");
}

bool TextCursor::at_word() {
  const char c = peek();
  return is_word_character(c) && !is_digit(c);
}

std::string TextCursor::word() {
  if (!at_word()) fail("expected a name");
  const std::size_t start = position_;
  while (position_ < text_.size() && is_word_character(text_[position_])) ++position_;
  return std::string(text_.substr(start, position_ - start));
}

std::string TextCursor::string() {
  if (peek() != '"') fail("expected a string");
  std::string result;
  for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_) {
    char c = text_[position_];
    if (c == '\\' && position_ + 1 < text_.size()) {
      c = text_[++position_];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    result += c;
  }
  if (position_ == text_.size()) fail("the string is not closed");
  ++position_;
  return result;
}

std::string_view TextCursor::number_text() {
  skip_blanks();
  std::size_t end = position_;
  const auto at = [&](std::size_t k) { return k < text_.size() ? text_[k] : '\0'; };
  const auto digits = [&] {
    while (is_digit(at(end))) ++end;
  };
  if (at(end) == '-') ++end;
  digits();
  // In `0..n` the dots belong to the range.
  if (at(end) == '.' && is_digit(at(end + 1))) {
    ++end;
    digits();
  }
  if (at(end) == 'e' && (is_digit(at(end + 1)) || at(end + 1) == '-' || at(end + 1) == '+')) {
    end += 2;
    digits();
  }
  return text_.substr(position_, end - position_);
}

std::int64_t TextCursor::integer() {
  const std::string_view digits = number_text();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) fail("expected an integer");
  position_ += digits.size();
  return value;
}

std::uint64_t TextCursor::natural() {
  const std::string_view digits = number_text();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) fail("expected a natural number");
  position_ += digits.size();
  return value;
}

bool TextCursor::at_literal() {
  const char c = peek();
  if (is_digit(c) || c == '-') return true;
  const std::size_t start = position_;
  const bool found = accept("true") || accept("false") || accept("inf") || accept("nan");
  position_ = start;
  return found;
}

Scalar TextCursor::scalar() {
  const auto type = rt::element_type_named(word());
  if (!type) fail("expected an element type");
  return *type;
}

Literal TextCursor::literal() {
  if (accept("true")) return true;
  if (accept("false")) return false;
  if (accept("inf")) return std::numeric_limits<double>::infinity();
  if (accept("-inf")) return -std::numeric_limits<double>::infinity();
  if (accept("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (accept("-nan")) return -std::numeric_limits<double>::quiet_NaN();
  const std::string_view digits = number_text();
  if (digits.find_first_of(".e") == std::string_view::npos) return integer();
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) fail("expected a number");
  position_ += digits.size();
  return value;
}

}  // namespace tdsl::ir
