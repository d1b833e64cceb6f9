#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Calls `visit` on the direct subexpressions and statements of a node, in source order; on whole blocks instead of
/// their statements if it takes blocks. One overload per AST type, so that a missing one is a compile error.
template <class Visit>
class SyntaxParts {
 public:
  /// If `every` is false, functions, monoids, externs, storages, the types of params, and the storages and tiles of
  /// declarations are skipped.
  explicit SyntaxParts(Visit visit, bool every = true) : visit_(std::move(visit)), every_(every) {}

  void add(const ast::ExprPtr& expr) {
    if (expr) visit_(*expr);
  }
  void add(const ast::StmtPtr& stmt) {
    if (stmt) visit_(*stmt);
  }
  void add(const ast::Argument& argument) { add(argument.value); }
  void add(const ast::SubscriptItem& item) {
    std::visit([this](const auto& node) { (*this)(node); }, item.node);
  }
  void add(const ast::Dimension& dimension) { add(dimension.extent); }
  void add(const ast::TypeExpr& type) { add(type.dimensions); }
  void add(const ast::TileAnnotation& tile) { add(tile.sizes); }
  void add(const ast::StorageAnnotation& storage) { add(storage.arguments); }
  void add(const ast::WhereSuffix& where) { add(where.condition); }
  void add(const ast::ForSuffix& loop) { add(loop.ranges); }
  void add(const ast::FunctionType& type) { add(type.parameters), add(type.results); }
  void add(const ast::FunctionParameter& parameter) {
    add(parameter.type), add(parameter.function), add(parameter.default_value);
  }
  void add(const ast::KernelParameter& parameter) { add(parameter.type); }
  void add(const ast::IfArm& arm) { add(arm.condition), add(arm.body); }
  void add(const ast::Target& target) { add(target.subscripts); }
  void add(const ast::Suffixes& suffixes) { add(suffixes.where), add(suffixes.loop); }
  void add(const ast::Definition& definition) { add(definition.value), add(definition.suffixes); }
  void add(const ast::Annotations& notes) {
    add(notes.type);
    if (every_) add(notes.storage), add(notes.tile);
  }
  void add(const ast::Block& block) {
    if constexpr (std::is_invocable_v<Visit, const ast::Block&>) {
      visit_(block);
    } else {
      add(block.statements);
    }
  }
  void add(const ast::IndexRange& range) { add(range.lower), add(range.upper), add(range.step); }
  void add(const ast::ReductionIndex& index) { add(index.lower), add(index.upper), add(index.step); }
  void add(const ast::IndexMap& map) { add(map.results), add(map.guard); }
  template <typename Part>
  void add(const std::vector<Part>& parts) {
    for (const Part& part : parts) { add(part); }
  }
  template <typename Part>
  void add(const std::optional<Part>& part) {
    if (part) { add(*part); }
  }

  void operator()(const ast::IndexSubscript& node) { add(node.value); }
  void operator()(const ast::SliceSubscript& node) { add(node.start), add(node.stop), add(node.step); }

  void operator()(const ast::EllipsisSubscript&) {}

  void operator()(const ast::IntegerLiteral&) {}
  void operator()(const ast::FloatLiteral&) {}
  void operator()(const ast::BoolLiteral&) {}
  void operator()(const ast::StringLiteral&) {}
  void operator()(const ast::Name&) {}
  void operator()(const ast::Unary& node) { add(node.operand); }
  void operator()(const ast::Binary& node) { add(node.lhs), add(node.rhs); }
  void operator()(const ast::Transpose& node) { add(node.operand); }
  void operator()(const ast::Conditional& node) { add(node.condition), add(node.then_value), add(node.else_value); }
  void operator()(const ast::Cast& node) { add(node.operand); }
  void operator()(const ast::Call& node) { add(node.arguments); }
  void operator()(const ast::Tuple& node) { add(node.elements); }
  void operator()(const ast::Subscript& node) { add(node.base), add(node.items); }
  void operator()(const ast::ArrayLiteral& node) { add(node.elements); }
  /// The bodies of lambdas belong to the expression around them.
  void operator()(const ast::Lambda& node) {
    add(node.function->parameters);
    std::visit([this](const auto& body) { add(body); }, node.function->body);
  }
  void operator()(const ast::Reduction& node) { add(node.indices), add(node.guard), add(node.body); }

  void operator()(const ast::Import&) {}
  void operator()(const ast::Param& node) {
    if (every_) add(node.type);
    add(node.default_value);
  }
  void operator()(const ast::Input& node) { add(node.annotations); }
  void operator()(const ast::Output& node) {
    add(node.target), add(node.annotations), add(node.definition), add(node.every), add(node.record);
  }
  void operator()(const ast::Let& node) { add(node.target), add(node.annotations), add(node.definition); }
  void operator()(const ast::TupleLet& node) { add(node.types), add(node.definition); }
  void operator()(const ast::Assign& node) { add(node.target), add(node.definition); }
  void operator()(const ast::TupleAssign& node) { add(node.definition); }
  void operator()(const ast::For& node) { add(node.ranges), add(node.body); }
  void operator()(const ast::While& node) { add(node.condition), add(node.body); }
  void operator()(const ast::If& node) { add(node.arms), add(node.else_body); }
  void operator()(const ast::Print& node) { add(node.items); }
  void operator()(const ast::Assert& node) { add(node.condition); }
  void operator()(const ast::Return& node) { add(node.value), add(node.suffixes); }
  void operator()(const ast::Leave&) {}
  void operator()(const ast::Function& node) {
    if (!every_) return;
    add(node.parameters), add(node.results);
    std::visit([this](const auto& body) { add(body); }, node.body);
  }
  void operator()(const ast::Monoid& node) {
    if (every_) add(node.parameters), add(node.identity), add(node.combine);
  }
  void operator()(const ast::Extern& node) {
    if (!every_) return;
    for (const auto& item : node.items) {
      std::visit([this](const auto& declared) { add(declared.parameters); }, item);
    }
  }
  void operator()(const ast::Storage& node) {
    if (every_) add(node.extents), add(node.to), add(node.from);
  }

 private:
  Visit visit_;
  bool every_;
};

/// Depth of an `ast::ExprNode` or `ast::StmtNode`: one more than its deepest child; 1 without children. A statement's
/// children include its expressions, types and blocks.
template <class Node>
[[nodiscard]] std::uint32_t depth_of(const Node& node) {
  std::uint32_t deepest = 0;
  const auto deepen = [&deepest](const auto& child) -> decltype(void(child.depth)) {
    deepest = std::max(deepest, child.depth);
  };
  std::visit(SyntaxParts(deepen), node);
  return deepest + 1;
}

}  // namespace tdsl::frontend
