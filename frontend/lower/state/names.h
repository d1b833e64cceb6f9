#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/lower/state/reports.h"
#include "frontend/sema/scope.h"

namespace tdsl::frontend {

/// The scopes around the current statement, and their names.
class Names {
 public:
  /// `main_file`: the program's; unused names of imported files yield no warnings.
  Names(Reports& reports, const Frames& frames, const CompileOptions& options, std::uint32_t main_file)
      : reports_(reports), frames_(frames), options_(options), main_file_(main_file) {}

  /// Opens a scope for its lifetime; closing it warns about unused names.
  class InScope {
   public:
    InScope(Names& names, Scope::Kind kind);
    /// A lambda's scope inside the scope in which the lambda stands.
    InScope(Names& names, Scope& around);
    ~InScope();
    InScope(const InScope&) = delete;
    InScope& operator=(const InScope&) = delete;

   private:
    Names& names_;
    Scope scope_;
    Scope* saved_;
  };

  SymbolRef declare(const ast::Identifier& name, Symbol::Kind kind);
  /// Declares the name after an invalid declaration, so that its uses are not errors too.
  void declare_broken(const ast::Identifier& name);
  /// Binds an index variable with this label. `bare`: its value is the label itself.
  void bind_symbol(const ast::Identifier& name, std::int32_t label, const ir::Expr& value, bool bare);
  /// The symbol, or null.
  [[nodiscard]] SymbolRef find(const std::string& name) const { return scope_->find(name); }
  [[nodiscard]] SymbolRef find_here(const std::string& name) const;    ///< in the innermost scope only
  [[nodiscard]] SymbolRef find_global(const std::string& name) const;  ///< in the program's scope only
  [[nodiscard]] Scope& current() { return *scope_; }
  /// True if the name belongs to the scopes around a lambda whose body is being lowered.
  [[nodiscard]] bool is_captured(const std::string& name) const;
  /// All visible names, for suggestions.
  [[nodiscard]] std::vector<std::string> visible() const { return scope_->visible(); }
  /// The declaration of the name in an ended block of this function.
  [[nodiscard]] std::optional<ir::SourceRange> ended(const std::string& name) const;
  /// True for the first report of an undeclared name in this function.
  bool is_first_report(const std::string& name);
  /// The labels of index variables in scope whose values are point coordinates, in order of binding.
  [[nodiscard]] std::vector<std::int32_t> point_labels() const;

 private:
  using InFunction = std::pair<const ast::Function*, std::string>;
  struct Past {
    std::optional<ir::SourceRange> ended;
    bool reported = false;
  };
  [[nodiscard]] InFunction in_function(const std::string& name) const { return {frames_.back().function, name}; }
  void warn_unused(const Scope& scope);

  Reports& reports_;
  const Frames& frames_;
  const CompileOptions& options_;
  std::uint32_t main_file_;
  Scope* scope_ = nullptr;
  std::map<InFunction, Past> past_;
};

}  // namespace tdsl::frontend
