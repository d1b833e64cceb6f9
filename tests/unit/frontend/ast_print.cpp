#include "tests/unit/frontend/ast_print.h"

#include <string_view>

#include "frontend/syntax/token.h"
#include "tests/unit/frontend/ast_printer.h"

namespace tdsl::frontend {

namespace {

std::string assign_text(const ast::AssignOp& op) {
  switch (op.kind) {
    case ast::AssignKind::kSet: return "=";
    case ast::AssignKind::kAdd: return "+=";
    case ast::AssignKind::kSub: return "-=";
    case ast::AssignKind::kMul: return "*=";
    case ast::AssignKind::kDiv: return "/=";
    case ast::AssignKind::kMin: return "min=";
    case ast::AssignKind::kMax: return "max=";
    case ast::AssignKind::kBitAnd: return "&=";
    case ast::AssignKind::kBitOr: return "|=";
    case ast::AssignKind::kBitXor: return "^=";
    case ast::AssignKind::kMonoid: return op.monoid + "=";
  }
  return "";
}

/// Prints statements without the first indentation and the last line end.
class StmtPrinter {
 public:
  StmtPrinter(const PrintOptions& options, std::size_t indentation)
      : exprs_(options), options_(options), indentation_(indentation) {}

  std::string operator()(const ast::Import& node) const {
    return "import " + (node.is_file ? quoted_string(node.path) : node.path) + ";";
  }
  std::string operator()(const ast::Param& node) const {
    return "param " + node.name.name + ": " + exprs_.type(node.type) +
           (node.default_value ? " = " + exprs_.text(node.default_value) : "") + ";";
  }
  std::string operator()(const ast::Input& node) const {
    return "input " + node.name.name + annotations(node.annotations) + ";";
  }
  std::string operator()(const ast::Output& node) const {
    return "output " + target(node.target) + annotations(node.annotations) +
           (node.definition ? definition(*node.definition) : "") +
           (node.every ? " every " + exprs_.text(node.every) : "") + ";";
  }
  std::string operator()(const ast::Let& node) const {
    return let_or_var(node.is_mutable) + target(node.target) + annotations(node.annotations) +
           definition(node.definition) + ";";
  }
  std::string operator()(const ast::TupleLet& node) const {
    std::string list;
    for (std::size_t k = 0; k < node.names.size(); ++k)
      list += (k == 0 ? "" : ", ") + node.names[k].name + (node.types[k] ? ": " + exprs_.type(*node.types[k]) : "");
    return let_or_var(node.is_mutable) + "(" + list + ")" + definition(node.definition) + ";";
  }
  std::string operator()(const ast::Assign& node) const {
    return target(node.target) + definition(node.definition) + ";";
  }
  std::string operator()(const ast::TupleAssign& node) const {
    return "(" + names(node.names) + ")" + definition(node.definition) + ";";
  }
  std::string operator()(const ast::For& node) const { return "for " + ranges(node.ranges) + " " + block(node.body); }
  std::string operator()(const ast::While& node) const {
    return "while " + exprs_.text(node.condition) + " " + block(node.body);
  }
  std::string operator()(const ast::If& node) const {
    std::string result;
    for (const ast::IfArm& arm : node.arms) {
      result += (result.empty() ? "if " : " else if ") + exprs_.text(arm.condition) + " " + block(arm.body);
    }
    return result + (node.else_body ? " else " + block(*node.else_body) : "");
  }
  std::string operator()(const ast::Print& node) const { return "print(" + exprs_.list(node.items) + ");"; }
  std::string operator()(const ast::Assert& node) const {
    return "assert(" + exprs_.text(node.condition) + (node.message ? ", " + quoted_string(*node.message) : "") + ");";
  }
  std::string operator()(const ast::Leave& node) const { return node.ends_loop ? "break;" : "continue;"; }
  std::string operator()(const ast::Return& node) const {
    return "return " + exprs_.text(node.value) + suffixes(node.suffixes) + ";";
  }
  std::string operator()(const ast::Function& node) const {
    std::string head = "fn " + node.name.name + "(" + parameters(node.parameters) + ")" + results(node.results);
    if (const auto* value = std::get_if<ast::ExprPtr>(&node.body)) { return head + " = " + exprs_.text(*value) + ";"; }
    return head + " " + block(std::get<ast::Block>(node.body));
  }
  std::string operator()(const ast::Monoid& node) const {
    return "monoid " + node.name.name + "(" + parameters(node.parameters) + ") {\n" +
           line("identity = " + exprs_.text(node.identity) + ";") +
           line("combine = " + exprs_.text(node.combine) + ";") + indent(0) + "}";
  }
  std::string operator()(const ast::Extern& node) const {
    std::string items;
    for (const auto& item : node.items) { items += line(std::visit(*this, item)); }
    return "extern " + quoted_string(node.header) + " {\n" + items + indent(0) + "}";
  }
  std::string operator()(const ast::ExternFunction& node) const {
    return "fn " + node.name.name + "(" + parameters(node.parameters) + ")" + results(node.results) + ";";
  }
  std::string operator()(const ast::ExternKernel& node) const {
    std::string result;
    for (const ast::KernelParameter& parameter : node.parameters) {
      result += (result.empty() ? "" : ", ") + parameter.name.name + (parameter.is_output ? ": out " : ": in ") +
                exprs_.type(parameter.type);
    }
    return "kernel " + node.name.name + "(" + result + ");";
  }
  std::string operator()(const ast::Storage& node) const {
    return "storage " + node.name.name + "(" + names(node.parameters) + ") {\n" +
           line("stored[" + exprs_.list(node.extents) + "];") + line(index_map("to", node.to)) +
           line(index_map("from", node.from)) + indent(0) + "}";
  }

 private:
  [[nodiscard]] std::string indent(std::size_t deeper) const { return std::string(2 * (indentation_ + deeper), ' '); }
  [[nodiscard]] std::string line(const std::string& text) const { return indent(1) + text + "\n"; }

  static std::string let_or_var(bool is_mutable) { return is_mutable ? "var " : "let "; }

  static std::string names(const std::vector<ast::Identifier>& identifiers) {
    std::string result;
    for (const ast::Identifier& identifier : identifiers) { result += (result.empty() ? "" : ", ") + identifier.name; }
    return result;
  }

  [[nodiscard]] std::string target(const ast::Target& target) const {
    return target.name.name + (target.subscripts ? exprs_.subscripts(*target.subscripts) : "");
  }

  [[nodiscard]] std::string annotations(const ast::Annotations& notes) const {
    std::string result = notes.type ? ": " + exprs_.type(*notes.type) : "";
    if (notes.storage) {
      result += " storage " + notes.storage->name.name + "(" + exprs_.list(notes.storage->arguments) + ")";
    }
    return result + (notes.tile ? " tile (" + exprs_.list(notes.tile->sizes) + ")" : "");
  }

  [[nodiscard]] std::string ranges(const std::vector<ast::IndexRange>& ranges) const {
    std::string result;
    for (const ast::IndexRange& range : ranges) { result += (result.empty() ? "" : ", ") + exprs_.range(range); }
    return result;
  }

  [[nodiscard]] std::string suffixes(const ast::Suffixes& suffixes) const {
    const std::string where = suffixes.where ? " where " + exprs_.text(suffixes.where->condition) : "";
    const std::string loop = suffixes.loop ? " for " + ranges(suffixes.loop->ranges) : "";
    return suffixes.for_first ? loop + where : where + loop;
  }

  [[nodiscard]] std::string definition(const ast::Definition& definition) const {
    return " " + assign_text(definition.op) + " " + exprs_.text(definition.value) + suffixes(definition.suffixes);
  }

  [[nodiscard]] std::string parameters(const std::vector<ast::FunctionParameter>& parameters) const {
    std::string result;
    for (const ast::FunctionParameter& parameter : parameters) {
      result += (result.empty() ? "" : ", ") + parameter.name.name +
                (parameter.type ? ": " + exprs_.type(*parameter.type) : "");
    }
    return result;
  }

  [[nodiscard]] std::string results(const std::vector<ast::TypeExpr>& types) const {
    std::string result;
    for (const ast::TypeExpr& type : types) { result += (result.empty() ? "" : ", ") + exprs_.type(type); }
    return types.empty() ? "" : types.size() == 1 ? " -> " + result : " -> (" + result + ")";
  }

  [[nodiscard]] std::string index_map(const std::string& name, const ast::IndexMap& map) const {
    const std::string results =
        map.results.size() == 1 ? exprs_.list(map.results) : "(" + exprs_.list(map.results) + ")";
    return name + "[" + names(map.indices) + "] = " + results + (map.guard ? " where " + exprs_.text(map.guard) : "") +
           ";";
  }

  [[nodiscard]] std::string block(const ast::Block& block) const {
    const StmtPrinter inner(options_, indentation_ + 1);
    std::string result = "{\n";
    for (const ast::StmtPtr& statement : block.statements) { result += line(std::visit(inner, statement->node)); }
    return result + indent(0) + "}";
  }

  ExprPrinter exprs_;
  PrintOptions options_;
  std::size_t indentation_;
};

}  // namespace

std::string print(const ast::Stmt& statement, const PrintOptions& options) {
  return std::visit(StmtPrinter(options, 0), statement.node) + "\n";
}

std::string print(const ast::Module& module, const PrintOptions& options) {
  std::string result;
  for (const ast::StmtPtr& statement : module.statements) { result += print(*statement, options); }
  return result;
}

bool same_structure(const ast::Module& a, const ast::Module& b) { return print(a, {true}) == print(b, {true}); }

}  // namespace tdsl::frontend
