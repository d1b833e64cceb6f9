#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/index/index.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/parsed_files.h"

namespace tdsl::frontend {

/// Names of one block, function, index statement or lambda during the walk; see `Scope` in sema/scope.h.
struct IndexScope {
  bool is_function = false;
  bool is_index = false;
  IndexScope* outer = nullptr;
  SourceRange range;  ///< where its names are visible
  std::map<std::string, std::int32_t> names = {};
};

/// The dimensions of the program or of one function.
struct IndexFrame {
  std::int32_t function = -1;
  SourceRange range;
  std::map<std::string, std::int32_t> dimensions = {};
  std::map<std::string, std::int32_t> types = {};  ///< type parameters
};

/// Walks the syntax trees of a file and of its imports with the scopes of the language. Bodies of functions, monoids
/// and storages come last: they see the params of the whole program.
class IndexBuilder {
 public:
  IndexBuilder(SourceManager& sources, const IndexOptions& options) : sources_(sources), options_(options) {}
  [[nodiscard]] Index build(std::uint32_t file);

 private:
  class InScope;

  // index_builder.cpp: files, declarations and lookup
  const ast::Module* parse(std::uint32_t file, bool is_main);
  const ast::Module* import(const ast::Import& import, std::uint32_t importer);
  void declare_callables(const ast::Module& module);
  std::int32_t declare(const ast::Identifier& name, IndexKind kind, const SourceRange& whole);
  std::int32_t add(const ast::Identifier& name, IndexKind kind, const SourceRange& whole);
  void declare_function(const ast::Identifier& name, IndexKind kind, const SourceRange& whole, std::string signature);
  void add_parameters(const std::vector<ast::FunctionParameter>& parameters);
  [[nodiscard]] std::string signature_of(const SourceRange& from, const SourceRange& body) const;
  [[nodiscard]] std::string doc_of(const SourceRange& whole) const;
  [[nodiscard]] std::int32_t find(const std::string& name) const;
  [[nodiscard]] std::int32_t dimension_named(const std::string& name) const;
  [[nodiscard]] std::int32_t callable(const std::string& name, std::uint32_t file) const;
  [[nodiscard]] SourceRange word_in(const SourceRange& range, const std::string& word) const;
  void use(std::int32_t declaration, const SourceRange& range, bool writes = false);
  void other(const std::string& name, const SourceRange& range, bool called);

  // index_statements.cpp
  void module(const ast::Module& module, bool is_main);
  void statement(const ast::Stmt& s);
  void block(const ast::Block& b);
  void input(const ast::Input& i, const SourceRange& range);
  void output(const ast::Output& o, const SourceRange& range);
  void let(const ast::Let& l, const SourceRange& range);
  void tuple_let(const ast::TupleLet& l, const SourceRange& range);
  void assign(const ast::Assign& a, const SourceRange& range);
  void loop(const ast::For& f, std::size_t level, const SourceRange& range);
  void returned(const ast::Return& r, const SourceRange& range);
  void defined(const ast::Target& target, const ast::Annotations& notes, const ast::Definition& d,
               const SourceRange& range, bool assigns);
  void bind_left(const ast::Target& target, bool assigns, const SourceRange& range);
  void bind_ranges(const ast::Suffixes& suffixes, const SourceRange& range);
  void assign_op(const ast::AssignOp& op);
  void body(const ast::Stmt& s);
  void function_body(const ast::Function& f, const SourceRange& range);
  void bind_parameters(const std::vector<ast::FunctionParameter>& parameters, std::vector<std::int32_t> declarations);
  void foreign_parameters(const ast::Extern& e);
  void storage_body(const ast::Storage& s, const SourceRange& range);
  void index_map(const ast::IndexMap& map);

  // index_expressions.cpp
  void expression(const ast::Expr& e);
  void expression(const ast::ExprPtr& e) {
    if (e) expression(*e);
  }
  void name(const std::string& name, const SourceRange& range, bool wants_function);
  void call(const ast::Call& call);
  void arguments(const ast::Call& call, std::int32_t callee);
  void reduction(const ast::Reduction& r, const SourceRange& range);
  void lambda(const ast::Function& f, const SourceRange& range);
  void type(const std::optional<ast::TypeExpr>& t, bool binds);
  void type(const ast::FunctionType& t);
  void type_word(const std::string& parameter, const SourceRange& range);
  void dimension(const ast::Expr& e, bool binds);
  void storage_use(const std::optional<ast::StorageAnnotation>& s);

  SourceManager& sources_;
  const IndexOptions& options_;
  Index index_;
  ParsedFiles own_;  ///< used if the options have none
  std::map<std::uint32_t, std::shared_ptr<const ParsedText>> files_;
  std::map<const ast::Import*, const ast::Module*> imported_;
  std::set<std::string> paths_;
  std::set<std::uint32_t> library_;
  std::map<std::string, std::int32_t> callables_;
  std::map<std::string, std::int32_t> storages_;
  std::map<SourceRange, std::int32_t, bool (*)(const SourceRange&, const SourceRange&)> at_{
      [](const SourceRange& a, const SourceRange& b) {
        return std::tuple(a.file, a.line, a.column) < std::tuple(b.file, b.line, b.column);
      }};
  std::set<std::int32_t> functions_as_values_;  ///< parameters of function type
  std::set<std::int32_t> tensors_;              ///< declared with dimensions
  std::vector<const ast::Stmt*> bodies_;
  IndexScope* scope_ = nullptr;
  IndexFrame* frame_ = nullptr;
};

/// Opens a scope of the walk for its lifetime.
class IndexBuilder::InScope {
 public:
  InScope(IndexBuilder& builder, const SourceRange& range, bool is_function = false, bool is_index = false)
      : builder_(builder), scope_{is_function, is_index, builder.scope_, range} {
    while (is_function && scope_.outer != nullptr && scope_.outer->outer != nullptr) scope_.outer = scope_.outer->outer;
    saved_ = std::exchange(builder.scope_, &scope_);
  }
  ~InScope() { builder_.scope_ = saved_; }
  InScope(const InScope&) = delete;
  InScope& operator=(const InScope&) = delete;

 private:
  IndexBuilder& builder_;
  IndexScope scope_;
  IndexScope* saved_ = nullptr;
};

}  // namespace tdsl::frontend
