#include "frontend/index/index_builder.h"

#include <algorithm>
#include <cctype>

#include "frontend/lower/builtins.h"
#include "frontend/lower/state/modules.h"

namespace tdsl::frontend {

namespace {

/// Stands for "to the end of the file".
constexpr std::uint32_t kToTheEnd = 0;

bool begins_before(const Token& token, const SourceRange& range) {
  return std::pair(token.range.line, token.range.column) < std::pair(range.line, range.column);
}

/// `// text` and `/* text */` without delimiters and the space inside them.
std::string without_delimiters(const std::string& comment) {
  std::string text = comment.substr(std::min<std::size_t>(2, comment.size()));
  if (comment.starts_with("/*") && text.ends_with("*/")) text.resize(text.size() - 2);
  const std::size_t first = text.find_first_not_of(" \t/");
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return first == std::string::npos || last < first ? "" : text.substr(first, last - first + 1);
}

/// White space runs as one space.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == '=')) line.pop_back();
  return line;
}

}  // namespace

Index IndexBuilder::build(std::uint32_t file) {
  paths_.insert(sources_.name(file));
  const ast::Module* main = parse(file, true);
  IndexFrame frame{-1, {file, 1, 1, kToTheEnd, 0}};
  frame_ = &frame;
  {
    const InScope program(*this, {file, 1, 1, kToTheEnd, 0});
    declare_callables(*main);
    module(*main, true);
    for (std::size_t k = 0; k < bodies_.size(); ++k) body(*bodies_[k]);
  }
  std::ranges::stable_sort(index_.uses, {},
                           [](const IndexUse& u) { return std::tuple(u.range.file, u.range.line, u.range.column); });
  // A name that one statement mentions twice at one place, such as the ranges of `return (a[i], b[i]) for i in …`.
  const auto same = [](const IndexUse& a, const IndexUse& b) { return a.range == b.range; };
  index_.uses.erase(std::unique(index_.uses.begin(), index_.uses.end(), same), index_.uses.end());
  return std::move(index_);
}

const ast::Module* IndexBuilder::parse(std::uint32_t file, bool is_main) {
  const std::shared_ptr<const ParsedText>& parsed = files_[file] =
      (options_.parsed != nullptr ? *options_.parsed : own_).of(sources_, file);
  if (is_main) index_.complete = parsed->complete;
  return &parsed->module;
}

const ast::Module* IndexBuilder::import(const ast::Import& import, std::uint32_t importer) {
  const auto path = import_path(import, sources_.name(importer), options_.library_directory);
  if (!path || objection_to_name(*path)) return nullptr;
  std::optional<std::uint32_t> file;
  for (std::uint32_t k = 0; k < sources_.file_count(); ++k) {
    if (sources_.name(k) == *path) file = k;
  }
  if (!file) {
    auto text = options_.read ? options_.read(*path) : std::nullopt;
    if (!text) text = text_of_file(*path);
    if (!text) return nullptr;
    file = sources_.add(*path, *text);
  }
  index_.imports.push_back({import.path_range, *file});
  if (!import.is_file) library_.insert(*file);
  if (!paths_.insert(*path).second || files_.size() >= ast::kMaxBlocks) return nullptr;
  return parse(*file, false);
}

void IndexBuilder::declare_callables(const ast::Module& module) {
  for (const ast::StmtPtr& s : module.statements) {
    if (const auto* found = std::get_if<ast::Import>(&s->node)) {
      const ast::Module* added = import(*found, s->range.file);
      imported_[found] = added;
      if (added != nullptr) declare_callables(*added);
    }
    if (const auto* f = std::get_if<ast::Function>(&s->node)) {
      const auto* value = std::get_if<ast::ExprPtr>(&f->body);
      const SourceRange inner = value != nullptr ? (*value)->range : std::get<ast::Block>(f->body).range;
      declare_function(f->name, IndexKind::kFunction, s->range, signature_of(s->range, inner));
      add_parameters(f->parameters);
    }
    if (const auto* m = std::get_if<ast::Monoid>(&s->node)) {
      const std::string text = text_in(sources_, s->range);
      declare_function(m->name, IndexKind::kMonoid, s->range, text.substr(0, text.find('{')));
      add_parameters(m->parameters);
    }
    if (const auto* e = std::get_if<ast::Extern>(&s->node)) {
      for (const auto& item : e->items) {
        std::visit(
            [&](const auto& f) { declare_function(f.name, IndexKind::kForeign, f.range, text_in(sources_, f.range)); },
            item);
        if (const auto* f = std::get_if<ast::ExternFunction>(&item)) add_parameters(f->parameters);
      }
    }
    if (const auto* storage = std::get_if<ast::Storage>(&s->node)) {
      storages_.emplace(storage->name.name, add(storage->name, IndexKind::kStorage, s->range));
      index_.declarations.back().global = true;
    }
  }
}

std::int32_t IndexBuilder::add(const ast::Identifier& name, IndexKind kind, const SourceRange& whole) {
  const auto known = at_.find(name.range);
  if (known != at_.end() && index_.declarations[static_cast<std::size_t>(known->second)].name == name.name)
    return known->second;  // visited again, as an element of a tuple
  const auto id = static_cast<std::int32_t>(index_.declarations.size());
  IndexDeclaration d;
  d.name = name.name;
  d.kind = kind;
  d.range = name.range;
  d.target = name.range;
  d.whole = whole;
  d.visible = whole;
  d.function = frame_ == nullptr ? -1 : frame_->function;
  d.text = on_one_line(text_in(sources_, whole).substr(0, 200));
  index_.declarations.push_back(std::move(d));
  at_.emplace(name.range, id);
  index_.uses.push_back({name.range, id, true, true});
  return id;
}

std::int32_t IndexBuilder::declare(const ast::Identifier& name, IndexKind kind, const SourceRange& whole) {
  const std::int32_t id = add(name, kind, whole);
  IndexDeclaration& d = index_.declarations[static_cast<std::size_t>(id)];
  d.visible = scope_->range;
  if (!scope_->is_index && !scope_->is_function) {  // behind the statement, to the end of the block
    d.visible.line = whole.end_line;
    d.visible.column = whole.end_column;
  }
  d.visible.file = name.range.file;
  d.global = scope_->outer == nullptr;
  if (kind != IndexKind::kIndexVariable && kind != IndexKind::kParameter) d.doc = doc_of(whole);
  scope_->names[name.name] = id;
  return id;
}

void IndexBuilder::declare_function(const ast::Identifier& name, IndexKind kind, const SourceRange& whole,
                                    std::string signature) {
  const std::int32_t id = add(name, kind, whole);
  IndexDeclaration& d = index_.declarations[static_cast<std::size_t>(id)];
  d.text = on_one_line(signature);
  d.doc = doc_of(whole);
  d.global = true;
  callables_.emplace(name.name, id);
}

void IndexBuilder::add_parameters(const std::vector<ast::FunctionParameter>& parameters) {
  const auto owner = static_cast<std::int32_t>(index_.declarations.size()) - 1;
  std::vector<std::int32_t> ids;
  for (const ast::FunctionParameter& p : parameters) {
    SourceRange whole = p.name.range;
    if (p.type) whole = whole.to(p.type->range);
    if (p.function) whole = whole.to(p.function->range);
    if (p.default_value) whole = whole.to(p.default_value->range);
    ids.push_back(add(p.name, IndexKind::kParameter, whole));
    IndexDeclaration& d = index_.declarations[static_cast<std::size_t>(ids.back())];
    d.function = owner;
    d.visible = index_.declarations[static_cast<std::size_t>(owner)].whole;
    d.written_type = p.type || p.function;
    if (p.function) functions_as_values_.insert(ids.back());
    if (p.type && !p.type->dimensions.empty()) tensors_.insert(ids.back());
  }
  index_.declarations[static_cast<std::size_t>(owner)].parameters = std::move(ids);
}

std::string IndexBuilder::signature_of(const SourceRange& from, const SourceRange& body) const {
  return text_in(sources_, {from.file, from.line, from.column, body.line, body.column});
}

std::string IndexBuilder::doc_of(const SourceRange& whole) const {
  const auto found = files_.find(whole.file);
  if (found == files_.end()) return {};
  std::string above, behind;
  std::uint32_t next = whole.line;
  const auto& comments = found->second->tokens.comments;
  auto comment = std::ranges::upper_bound(comments, whole.end_line, {}, [](const auto& c) { return c.range.line; });
  while (comment != comments.begin()) {
    --comment;
    const SourceRange& range = comment->range;
    if (range.end_line + 1 < next && range.end_line < whole.line) break;
    const std::string_view line = sources_.line(range.file, range.line);
    const bool alone = line.find_first_not_of(" \t") == byte_in(line, range.column);
    if (range.line == whole.end_line && range.column >= whole.end_column) behind = without_delimiters(comment->text);
    if (!alone || range.end_line + 1 != next) continue;
    next = range.line;
    const std::string text = without_delimiters(comment->text);
    if (!text.starts_with("allow(")) above = text + (above.empty() ? "" : "\n") + above;
  }
  return above.empty() ? behind : above;
}

std::int32_t IndexBuilder::find(const std::string& name) const {
  bool params_only = false;
  for (const IndexScope* scope = scope_; scope != nullptr; scope = scope->outer) {
    const auto found = scope->names.find(name);
    if (found != scope->names.end() &&
        (!params_only || index_.declarations[static_cast<std::size_t>(found->second)].kind == IndexKind::kParam))
      return found->second;
    // Functions see params, those of the library nothing.
    if (scope->is_function && library_.contains(scope->range.file)) return -1;
    params_only = params_only || scope->is_function;
  }
  return -1;
}

std::int32_t IndexBuilder::dimension_named(const std::string& name) const {
  const auto found = frame_->dimensions.find(name);
  return found == frame_->dimensions.end() ? -1 : found->second;
}

std::int32_t IndexBuilder::callable(const std::string& name, std::uint32_t file) const {
  const auto found = callables_.find(name);
  if (found == callables_.end()) return -1;
  const std::uint32_t home = index_.declarations[static_cast<std::size_t>(found->second)].range.file;
  // A file of the library means the built-in function, unless the library has one of that name.
  const bool means_built_in = library_.contains(file) && is_built_in(name) && !library_.contains(home);
  return means_built_in ? -1 : found->second;
}

SourceRange IndexBuilder::word_in(const SourceRange& range, const std::string& word) const {
  const auto file = files_.find(range.file);
  if (file == files_.end()) return range;
  const auto& tokens = file->second->tokens.tokens;
  auto token = std::lower_bound(tokens.begin(), tokens.end(), range, begins_before);
  for (; token != tokens.end() && covers(range, token->range.line, token->range.column); ++token) {
    if (token->text == word) return token->range;
    if (token->text != "real(" + word + ")") continue;
    SourceRange inner = token->range;  // `real(T)` is one token
    inner.end_column -= 1;
    inner.column = inner.end_column - utf8_length(word);
    return inner;
  }
  return range;
}

void IndexBuilder::use(std::int32_t declaration, const SourceRange& range, bool writes) {
  index_.uses.push_back({range, declaration, false, writes});
}

void IndexBuilder::other(const std::string& name, const SourceRange& range, bool called) {
  index_.others.push_back({name, range, called, is_built_in(name) || is_contextual_word(name)});
}

}  // namespace tdsl::frontend
