#include "runtime/io/json_reader.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace tdsl::rt {

namespace {

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  JsonValue run() {
    JsonValue value = parse(0);
    blanks();
    if (at_ != text_.size()) fail("more text behind the value");
    return value;
  }

 private:
  static constexpr int kMostDepth = 64;

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("no JSON at byte " + std::to_string(at_) + ": " + what);
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    blanks();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("`") + c + "` is expected");
  }
  bool word(std::string_view w) {
    if (!text_.substr(at_).starts_with(w)) return false;
    at_ += w.size();
    return true;
  }

  JsonValue parse(int depth) {
    if (depth > kMostDepth) fail("too deep");
    blanks();
    if (take('{')) return object(depth);
    if (take('[')) return list(depth);
    if (peek() == '"') return JsonValue(string());
    if (word("true")) return JsonValue(true);
    if (word("false")) return JsonValue(false);
    if (word("null")) return {};
    // NaN, Infinity and -Infinity are extensions used by Zarr and NumPy.
    const std::size_t begin = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '-' || peek() == '+' || peek() == '.')
      ++at_;
    if (at_ == begin) fail("a value is expected");
    return JsonValue(JsonValue::Number{std::string(text_.substr(begin, at_ - begin))});
  }

  JsonValue object(int depth) {
    JsonValue::Members members;
    if (take('}')) return JsonValue(std::move(members));
    do {
      blanks();
      std::string name = string();
      expect(':');
      members.emplace_back(std::move(name), parse(depth + 1));
    } while (take(','));
    expect('}');
    return JsonValue(std::move(members));
  }

  JsonValue list(int depth) {
    JsonValue::Items items;
    if (take(']')) return JsonValue(std::move(items));
    do { items.push_back(parse(depth + 1)); } while (take(','));
    expect(']');
    return JsonValue(std::move(items));
  }

  std::string string() {
    if (peek() != '"') fail("a string is expected");
    ++at_;
    std::string value;
    while (peek() != '"') {
      if (at_ >= text_.size() || static_cast<unsigned char>(peek()) < ' ') fail("a string does not end");
      if (peek() != '\\') {
        value += text_[at_++];
        continue;
      }
      ++at_;
      value += escaped();
    }
    ++at_;
    return value;
  }

  std::string escaped() {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char c = peek();
    ++at_;
    if (const std::size_t k = kLetters.find(c); c != '\0' && k != std::string_view::npos)
      return std::string(1, kMeanings[k]);
    if (c != 'u' || text_.size() < at_ + 4) fail("an unknown escape");
    unsigned code = 0;
    for (int k = 0; k < 4; ++k) {
      const char digit = static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_++])));
      if (std::isxdigit(static_cast<unsigned char>(digit)) == 0) fail("an unknown escape");
      code = 16 * code + static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    std::string utf8;
    if (code < 0x80) {
      utf8 += static_cast<char>(code);
    } else if (code < 0x800) {
      utf8 += {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
    } else {  // surrogate pairs are not combined: no name of interest has any
      utf8 += {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
               static_cast<char>(0x80 | (code & 0x3f))};
    }
    return utf8;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::member(std::string_view name) const {
  const auto* const members = std::get_if<Members>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, name, &Members::value_type::first);
  return found == members->end() ? nullptr : &found->second;
}

JsonValue parse_json(std::string_view text) { return JsonParser(text).run(); }

}  // namespace tdsl::rt
