#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace tdsl::codegen {

/// Text made of indented lines.
class Writer {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  /// `head {`, the indented output of `body`, `tail`.
  template <class Body>
  void block(std::string_view head, const Body& body, std::string_view tail = "}") {
    line("{} {{", head);
    ++depth_;
    body();
    --depth_;
    line("{}", tail);
  }
  /// `type x, y;`: successive declarations of the same type are one. `kind` distinguishes types spelled `auto`.
  void declare(std::string_view type, std::string_view declarator, std::string_view kind = {}) {
    const std::string key = fmt::format("{} {}", type, kind);
    if (text_.empty() || text_.size() != declarations_end_ || key != declared_) {
      line("{} {};", type, declarator);
    } else {
      text_.resize(text_.size() - 2);  // the end of the previous declaration
      text_ += fmt::format(", {};\n", declarator);
    }
    declared_ = key;
    declarations_end_ = text_.size();
  }
  /// Lines already complete.
  void raw(std::string_view lines) { text_ += lines; }
  /// Removes and returns the text from this length on.
  [[nodiscard]] std::string cut(std::size_t length) {
    std::string rest = text_.substr(length);
    text_.resize(length);
    declarations_end_ = 0;
    return rest;
  }
  void indent() { ++depth_; }
  void outdent() { --depth_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t depth_ = 0;
  std::string declared_;              ///< type and kind of the last declaration
  std::size_t declarations_end_ = 0;  ///< length of the text after the last declaration
};

}  // namespace tdsl::codegen
