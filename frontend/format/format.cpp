#include "frontend/format/format.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/format/words.h"
#include "frontend/syntax/parse.h"
#include "frontend_parser.hpp"
#include "ir/graph/check.h"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;

constexpr std::size_t kWidth = 120;
constexpr std::size_t kContinuation = 4;
/// Trailing comments are aligned up to this column.
constexpr std::size_t kCommentColumn = 80;

/// A possible line break: before the character at `offset`, which follows a space.
struct Break {
  std::size_t offset = 0;
  int penalty = 0;
};

struct Line {
  std::size_t indentation = 0;
  std::string code;
  std::string comment;  ///< after the code, or alone
  bool blank_before = false;
  std::vector<Break> breaks = {};
  bool continues = false;  ///< continuation of the previous line
};

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n\f\v") + 1);
  return text;
}

std::string spelling(const Token& token) {
  return token.kind == Kind::TOK_STRING ? quoted_string(token.text) : token.text;
}

bool same_token(const Token& a, const Token& b) { return a.kind == b.kind && a.text == b.text; }

class Formatter {
 public:
  explicit Formatter(const TokenizedFile& file)
      : tokens_(file.tokens), comments_(file.comments), words_(format_words(file.tokens)) {}

  std::string run() {
    for (position_ = 0; tokens_[position_].kind != Kind::TOK_END; ++position_) token();
    comments_before(tokens_.size() - 1);
    end_line();
    return text();
  }

 private:
  // --- From tokens to lines

  void token() {
    const Token& t = tokens_[position_];
    comments_before(position_);
    const bool closes = t.kind == Kind::TOK_RIGHT_BRACE;
    if (closes && !flat())
      close_block();
    else if (at_start_ && !flat())
      begin_statement();
    else if (!flat() && breaks_here())
      continue_line();
    append(spelling(t));
    last_end_ = t.range.end_line;
    if (t.kind == Kind::TOK_LEFT_BRACE) {
      ++depth_;
      after_opening_ = true;
      at_start_ = true;
    } else if (closes) {
      depth_ -= flat() ? 1 : 0;
      at_start_ = !else_follows() && !argument_ends();
    } else if (t.kind == Kind::TOK_SEMICOLON) {
      at_start_ = true;
    } else {
      at_start_ = false;
    }
    if (flat() && position_ == flat_end_) {
      flat_end_ = 0;
      at_start_ = true;
    }
  }

  [[nodiscard]] bool flat() const { return flat_end_ != 0; }
  [[nodiscard]] bool else_follows() const { return tokens_[position_ + 1].kind == Kind::TOK_ELSE; }

  /// True after the block of a lambda, which is an argument.
  [[nodiscard]] bool argument_ends() const {
    const int next = tokens_[position_ + 1].kind;
    return next == Kind::TOK_COMMA || next == Kind::TOK_RIGHT_PAREN;
  }

  void begin_statement() {
    const bool blank = tokens_[position_].range.line > last_end_ + 1 && !after_opening_ && !lines_empty();
    start_line(2 * depth_, blank);
    const std::size_t end = statement_end();
    if (fits_flat(end)) flat_end_ = end;
  }

  void close_block() {
    --depth_;
    start_line(2 * depth_, false);
  }

  /// Keeps the user's line breaks, except before `else` and before brackets that open a block or close.
  [[nodiscard]] bool breaks_here() const {
    const Token& t = tokens_[position_];
    if (after_line_comment_) return true;
    const bool joins =
        words_[position_].tight_before || t.kind == Kind::TOK_LEFT_BRACE ||
        (t.kind == Kind::TOK_ELSE && position_ > 0 && tokens_[position_ - 1].kind == Kind::TOK_RIGHT_BRACE) ||
        (position_ > 0 && words_[position_ - 1].tight_after);
    return t.range.line > last_end_ && !joins;
  }

  void continue_line() {
    start_line(2 * depth_ + kContinuation, false);
    line_.continues = true;
  }

  /// The last token of the statement that starts here.
  [[nodiscard]] std::size_t statement_end() const {
    std::size_t open = 0;
    for (std::size_t i = position_; i < tokens_.size(); ++i) {
      switch (tokens_[i].kind) {
        case Kind::TOK_LEFT_BRACE: ++open; break;
        case Kind::TOK_RIGHT_BRACE:
          if (--open == 0 && tokens_[i + 1].kind != Kind::TOK_ELSE) return i;
          break;
        case Kind::TOK_SEMICOLON:
          if (open == 0) return i;
          break;
        default: break;
      }
    }
    return tokens_.size() - 1;
  }

  /// True if the statement has a block, was written on one line without comments, and fits on one line.
  [[nodiscard]] bool fits_flat(std::size_t end) const {
    const Token& first = tokens_[position_];
    const Token& last = tokens_[end];
    if (last.kind != Kind::TOK_RIGHT_BRACE || last.range.end_line != first.range.line) return false;
    const auto inside = [&](const ast::Comment& c) {
      return c.range.line == first.range.line && c.range.column > first.range.column &&
             c.range.column < last.range.column;
    };
    if (std::ranges::any_of(comments_, inside)) return false;
    std::size_t width = 2 * depth_;
    for (std::size_t i = position_; i <= end; ++i)
      width += utf8_length(spelling(tokens_[i])) + (i > position_ && spaced(i) ? 1 : 0);
    return width <= kWidth;
  }

  [[nodiscard]] bool spaced(std::size_t i) const { return !words_[i].tight_before && !words_[i - 1].tight_after; }

  void append(const std::string& word) {
    if (!line_.code.empty() && (position_ == 0 || spaced(position_))) {
      if (words_[position_].break_penalty >= 0 && !flat())
        line_.breaks.push_back({line_.code.size() + 1, words_[position_].break_penalty});
      line_.code += ' ';
    }
    line_.code += word;
    after_line_comment_ = after_opening_ = false;
  }

  // --- Comments

  void comments_before(std::size_t token) {
    while (next_comment_ < comments_.size() && before(comments_[next_comment_].range, tokens_[token].range))
      comment(comments_[next_comment_++], tokens_[token]);
  }

  static bool before(const SourceRange& a, const SourceRange& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  }

  void comment(const ast::Comment& c, const Token& next) {
    const bool is_line = c.text.starts_with("//");
    const std::string text = trimmed(c.text);
    const bool behind = c.range.line == last_end_ && !lines_empty();
    // Between statements on separate lines, the comment belongs to the first one.
    const bool between = behind && at_start_ && !flat();
    const bool inline_comment =
        !is_line && next.kind != Kind::TOK_END && next.range.line == c.range.end_line && !between;
    if (behind && !inline_comment && line_.comment.empty() && !line_.code.empty()) {
      line_.comment = text;
    } else if (inline_comment && (behind || !at_start_)) {
      line_.code += (line_.code.empty() ? "" : " ") + text;
    } else {
      const bool blank = c.range.line > last_end_ + 1 && !after_opening_ && !lines_empty();
      start_line(2 * depth_ + (at_start_ ? 0 : kContinuation), blank);
      line_.comment = text;
      after_opening_ = false;
    }
    last_end_ = c.range.end_line;
    after_line_comment_ = !inline_comment && !at_start_;
  }

  // --- Lines

  [[nodiscard]] bool lines_empty() const { return lines_.empty() && line_.code.empty() && line_.comment.empty(); }

  void start_line(std::size_t indentation, bool blank_before) {
    end_line();
    line_.indentation = indentation;
    line_.blank_before = blank_before;
  }

  void end_line() {
    Line line = std::exchange(line_, {});
    if (line.code.empty() && line.comment.empty()) return;
    const std::string comment = std::exchange(line.comment, {});
    while (const Break* at = best_break(line)) {
      Line head{line.indentation, line.code.substr(0, at->offset - 1), "", line.blank_before, {}, false};
      Line rest{
          line.indentation + (line.continues ? 0 : kContinuation), line.code.substr(at->offset), "", false, {}, true};
      for (const Break& b : line.breaks) {
        if (b.offset > at->offset) rest.breaks.push_back({b.offset - at->offset, b.penalty});
      }
      lines_.push_back(std::move(head));
      line = std::move(rest);
    }
    line.comment = comment;
    lines_.push_back(std::move(line));
  }

  /// The best position to break a line that is too long, or null.
  [[nodiscard]] static const Break* best_break(const Line& line) {
    if (line.indentation + utf8_length(line.code) <= kWidth) return nullptr;
    const Break* best = nullptr;
    for (const Break& b : line.breaks) {
      const bool fits = line.indentation + utf8_length(std::string_view(line.code).substr(0, b.offset - 1)) <= kWidth;
      if (best == nullptr || (fits && b.penalty <= best->penalty)) best = &b;
    }
    return best;
  }

  [[nodiscard]] std::string text() {
    std::string result;
    for (std::size_t first = 0; first < lines_.size();) {
      std::size_t last = first;
      std::size_t column = width_with_comment(lines_[first]);
      while (last + 1 < lines_.size() && !lines_[last + 1].blank_before && aligns(lines_[last]) &&
             aligns(lines_[last + 1]))
        column = std::max(column, width_with_comment(lines_[++last]));
      for (; first <= last; ++first) result += shown(lines_[first], column);
    }
    return result;
  }

  static bool aligns(const Line& line) { return !line.code.empty() && !line.comment.empty(); }
  static std::size_t width_with_comment(const Line& line) { return line.indentation + utf8_length(line.code) + 2; }

  static std::string shown(const Line& line, std::size_t comment_column) {
    std::string result = line.blank_before ? "\n" : "";
    result += std::string(line.indentation, ' ') + line.code;
    if (aligns(line)) {
      const std::size_t own = width_with_comment(line);
      result += std::string((comment_column <= kCommentColumn ? comment_column : own) - own + 2, ' ');
    }
    return result + line.comment + "\n";
  }

  const std::vector<Token>& tokens_;
  const std::vector<ast::Comment>& comments_;
  std::vector<FormatWord> words_;
  std::vector<Line> lines_;
  Line line_;
  std::size_t position_ = 0;
  std::size_t next_comment_ = 0;
  std::size_t depth_ = 0;     // of open blocks
  std::size_t flat_end_ = 0;  // last token of the statement kept on one line; 0: none
  std::uint32_t last_end_ = 0;
  bool at_start_ = true;
  bool after_opening_ = false;
  bool after_line_comment_ = false;
};

}  // namespace

std::optional<std::string> format(SourceManager& sources, std::uint32_t file, DiagnosticSink& sink) {
  if (!parse_file(sources, file, sink)) return std::nullopt;
  DiagnosticSink silent;
  const TokenizedFile tokenized = tokenize(sources, file, silent);
  std::string text = Formatter(tokenized).run();
  const TokenizedFile again = tokenize(sources, sources.add(sources.name(file), text), silent);
  const bool same = std::ranges::equal(tokenized.tokens, again.tokens, same_token) &&
                    tokenized.comments.size() == again.comments.size();
  TDSL_CHECK(same, "formatting keeps the program");
  return text;
}

}  // namespace tdsl::frontend
