#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace tdsl::tests {

namespace {

using Kind = Piece::Kind;
using Pieces = std::vector<Piece>;

constexpr std::array kTypes = {"f64", "f32", "i64", "i32", "bool"};
constexpr std::array kNumbers = {"0",
                                 "1",
                                 "2",
                                 "-1",
                                 "3",
                                 "7",
                                 "8",
                                 "1000",
                                 "2147483648",
                                 "4611686018427387904",
                                 "9223372036854775807",
                                 "0.0",
                                 "1.0",
                                 "0.5",
                                 "1e308",
                                 "1e-9",
                                 "inf",
                                 "1e400",
                                 "nan",
                                 "true",
                                 "false"};
constexpr std::array kFunctions = {
    "sum",     "prod",   "min",       "max",   "mean", "any",   "all",    "count", "argmin",   "argmax",
    "norm",    "exp",    "sqrt",      "abs",   "i64",  "f64",   "f32",    "zeros", "ones",     "eye",
    "iota",    "random", "full",      "roll",  "flip", "diag",  "cumsum", "sort",  "argsort",  "concat",
    "reshape", "pad",    "outer",     "trace", "tril", "inv",   "det",    "solve", "cholesky", "grad",
    "where",   "size",   "transpose", "mod",   "pow",  "floor", "sign",   "isnan", "nnz",      "einsum"};
constexpr std::array kSigns = {
    "+",  "-", "*", "/",  "%",     "**",  "@",    "'",    "==", "!=",   "<",    "<=",  ">",   ">=",     "&&",
    "||", "!", "=", "+=", "-=",    "*=",  "min=", "max=", ",",  ";",    ":",    "..",  "(",   ")",      "[",
    "]",  "{", "}", "->", "where", "for", "in",   "by",   "if", "then", "else", "let", "var", "output", "return"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t end_of_number(std::string_view text, std::size_t at, bool& is_float) {
  while (at < text.size() && is_word(text[at])) {
    const bool exponent = text[at] == 'e' && at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
    is_float = is_float || text[at] == 'e';
    at += exponent ? 2 : 1;
    if (at + 1 < text.size() && text[at] == '.' && std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0) {
      is_float = true;
      ++at;
    }
  }
  return at;
}

std::size_t end_of_sign(std::string_view text, std::size_t at) {
  for (const std::string_view sign : {"**", "==", "!=", "<=", ">=", "&&", "||", "..", "->", "+=", "-=", "*=", "/="}) {
    if (text.substr(at).starts_with(sign)) return at + sign.size();
  }
  return at + 1;
}

/// End of the comment or white space that begins here; `at` itself if there is none.
std::size_t end_of_blank(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])) != 0) ++end;
  if (text.substr(end).starts_with("//")) return std::min(text.find('\n', end), text.size());
  if (text.substr(end).starts_with("/*"))
    return std::min(text.find("*/", end) == std::string_view::npos ? text.size() : text.find("*/", end) + 2,
                    text.size());
  return end;
}

class Mutation {
 public:
  Mutation(Pieces pieces, std::mt19937_64& random) : pieces_(std::move(pieces)), random_(random) {}

  std::string run() {
    const std::size_t changes = 1 + below(4) / 3 + below(8) / 7;
    for (std::size_t k = 0; k < changes; ++k) change();
    std::string text;
    for (const Piece& p : pieces_) text += p.text;
    return text;
  }

 private:
  /// Not a distribution of the standard library: these differ between implementations.
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }
  template <class List>
  std::string one_of(const List& list) {
    return list[below(list.size())];
  }
  template <class Test>
  std::vector<std::size_t> where(const Test& test) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      if (test(pieces_[k])) found.push_back(k);
    }
    return found;
  }
  std::vector<std::size_t> of_kind(Kind kind) const {
    return where([&](const Piece& p) { return p.kind == kind; });
  }
  std::vector<std::size_t> words() const {
    return where([](const Piece& p) { return p.kind != Kind::kBlank; });
  }
  void erase(std::size_t first, std::size_t last) {
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(first),
                  pieces_.begin() + static_cast<std::ptrdiff_t>(last));
  }
  void insert(std::size_t at, const Pieces& what) {
    pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(at), what.begin(), what.end());
  }

  void change() {
    if (words().empty()) return;
    // Mutations that more often leave a valid program have twice the weight.
    switch (below(20)) {
      case 0: return exchange(words());
      case 1: return leave_out();
      case 2: return double_piece();
      case 3: return replace_piece();
      case 4: return exchange(of_kind(Kind::kName));
      case 5: return change_type();
      case 6: return change_dimension();
      case 7: return replace_sign();
      case 8:
      case 9:
      case 10: return replace_name();
      case 11:
      case 12:
      case 13: return exchange_names_nearby();
      case 14:
      case 15:
      case 16: return replace_literal();
      default: return change_statement();
    }
  }

  void exchange(const std::vector<std::size_t>& places) {
    if (places.size() < 2) return;
    std::swap(pieces_[places[below(places.size())]].text, pieces_[places[below(places.size())]].text);
  }
  /// `A[i, j]` becomes `A[j, i]`.
  void exchange_names_nearby() {
    const auto names = of_kind(Kind::kName);
    if (names.size() < 2) return;
    const std::size_t k = below(names.size());
    std::swap(pieces_[names[k]].text, pieces_[names[std::min(k + 1 + below(4), names.size() - 1)]].text);
  }
  void replace_name() {
    const auto names = of_kind(Kind::kName);
    if (names.empty()) return;
    Piece& target = pieces_[names[below(names.size())]];
    target.text = below(3) == 0 ? one_of(kFunctions) : pieces_[names[below(names.size())]].text;
  }
  void leave_out() {
    const auto places = words();
    const std::size_t at = places[below(places.size())];
    erase(at, at + 1);
  }
  void double_piece() {
    const auto places = words();
    const std::size_t at = places[below(places.size())];
    insert(at, {pieces_[at], {Kind::kBlank, " "}});
  }
  void replace_piece() {
    const auto places = words();
    pieces_[places[below(places.size())]].text = pieces_[places[below(places.size())]].text;
  }
  void replace_literal() {
    const auto numbers = where([](const Piece& p) { return p.kind == Kind::kInteger || p.kind == Kind::kFloat; });
    if (!numbers.empty()) pieces_[numbers[below(numbers.size())]].text = one_of(kNumbers);
  }
  void change_type() {
    const auto types = where([](const Piece& p) { return std::ranges::find(kTypes, p.text) != kTypes.end(); });
    if (!types.empty()) pieces_[types[below(types.size())]].text = one_of(kTypes);
  }
  /// Adds or removes a dimension: `[n, m]` becomes `[n]` or `[n, m, m]`.
  void change_dimension() {
    const auto commas = where([](const Piece& p) { return p.text == "," || p.text == "["; });
    if (commas.empty()) return;
    const std::size_t at = commas[below(commas.size())];
    std::size_t next = at + 1;
    while (next < pieces_.size() && pieces_[next].kind == Kind::kBlank) ++next;
    if (next >= pieces_.size()) return;
    if (below(2) == 0) {
      insert(next + 1, {{Kind::kSign, ","}, {Kind::kBlank, " "}, pieces_[next]});
    } else {
      erase(at, next + 1);
    }
  }
  void replace_sign() {
    const auto signs = of_kind(Kind::kSign);
    if (!signs.empty()) pieces_[signs[below(signs.size())]].text = " " + one_of(kSigns) + " ";
  }
  /// A statement extends from after a `;` or a brace to the next `;`.
  void change_statement() {
    const auto ends = where([](const Piece& p) { return p.text == ";"; });
    if (ends.size() < 2) return;
    const std::size_t k = 1 + below(ends.size() - 1);
    const std::size_t first = ends[k - 1] + 1;
    const std::size_t last = ends[k] + 1;
    const Pieces statement(pieces_.begin() + static_cast<std::ptrdiff_t>(first),
                           pieces_.begin() + static_cast<std::ptrdiff_t>(last));
    switch (below(3)) {
      case 0: return erase(first, last);
      case 1: return insert(last, statement);
      default:
        erase(first, last);
        const auto left = where([](const Piece& p) { return p.text == ";"; });
        return insert(left[below(left.size())] + 1, statement);
    }
  }

  Pieces pieces_;
  std::mt19937_64& random_;
};

}  // namespace

std::vector<Piece> pieces_of(std::string_view text) {
  Pieces pieces;
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    Kind kind = Kind::kSign;
    std::size_t end = end_of_blank(text, at);
    if (end > at) {
      kind = Kind::kBlank;
    } else if (std::isdigit(c) != 0) {
      bool is_float = false;
      end = end_of_number(text, at, is_float);
      kind = is_float ? Kind::kFloat : Kind::kInteger;
    } else if (is_word(text[at])) {
      kind = Kind::kName;
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (c == '"') {
      kind = Kind::kString;
      end = std::min(text.find('"', at + 1), text.size() - 1) + 1;
    } else {
      end = end_of_sign(text, at);
    }
    pieces.push_back({kind, std::string(text.substr(at, end - at))});
    at = end;
  }
  return pieces;
}

std::string mutated(std::string_view program, std::mt19937_64& random) {
  return Mutation(pieces_of(program), random).run();
}

}  // namespace tdsl::tests
