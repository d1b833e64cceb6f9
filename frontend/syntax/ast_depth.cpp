#include "frontend/syntax/ast_depth.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tdsl::frontend {

namespace {

/// Finds the deepest child; one overload per AST type, so that a missing one is a compile error.
struct Deepest {
  std::uint32_t depth = 0;

  void add(const ast::ExprPtr& expr) { depth = expr ? std::max(depth, expr->depth) : depth; }
  void add(const ast::StmtPtr& stmt) { depth = stmt ? std::max(depth, stmt->depth) : depth; }
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
  void add(const ast::Block& block) { add(block.statements); }
  void add(const ast::FunctionParameter& parameter) { add(parameter.type); }
  void add(const ast::KernelParameter& parameter) { add(parameter.type); }
  void add(const ast::IfArm& arm) { add(arm.condition), add(arm.body); }
  void add(const ast::Target& target) { add(target.subscripts); }
  void add(const ast::Suffixes& suffixes) { add(suffixes.where), add(suffixes.loop); }
  void add(const ast::Definition& definition) { add(definition.value), add(definition.suffixes); }
  void add(const ast::Annotations& notes) { add(notes.type), add(notes.storage), add(notes.tile); }
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
  void operator()(const ast::Reduction& node) { add(node.indices), add(node.guard), add(node.body); }

  void operator()(const ast::Import&) {}
  void operator()(const ast::Param& node) { add(node.type), add(node.default_value); }
  void operator()(const ast::Input& node) { add(node.annotations); }
  void operator()(const ast::Output& node) { add(node.target), add(node.annotations), add(node.definition); }
  void operator()(const ast::Let& node) { add(node.target), add(node.annotations), add(node.definition); }
  void operator()(const ast::TupleLet& node) { add(node.definition); }
  void operator()(const ast::Assign& node) { add(node.target), add(node.definition); }
  void operator()(const ast::TupleAssign& node) { add(node.definition); }
  void operator()(const ast::For& node) { add(node.ranges), add(node.body); }
  void operator()(const ast::While& node) { add(node.condition), add(node.body); }
  void operator()(const ast::If& node) { add(node.arms), add(node.else_body); }
  void operator()(const ast::Print& node) { add(node.items); }
  void operator()(const ast::Assert& node) { add(node.condition); }
  void operator()(const ast::Return& node) { add(node.value), add(node.suffixes); }
  void operator()(const ast::Function& node) {
    add(node.parameters), add(node.results);
    std::visit([this](const auto& body) { add(body); }, node.body);
  }
  void operator()(const ast::Monoid& node) { add(node.parameters), add(node.identity), add(node.combine); }
  void operator()(const ast::Extern& node) {
    for (const auto& item : node.items) {
      std::visit([this](const auto& declared) { add(declared.parameters); }, item);
    }
  }
  void operator()(const ast::Storage& node) { add(node.extents), add(node.to), add(node.from); }
};

}  // namespace

std::uint32_t depth_of(const ast::ExprNode& node) {
  Deepest deepest;
  std::visit([&](const auto& alternative) { deepest(alternative); }, node);
  return deepest.depth + 1;
}

std::uint32_t depth_of(const ast::StmtNode& node) {
  Deepest deepest;
  std::visit([&](const auto& alternative) { deepest(alternative); }, node);
  return deepest.depth + 1;
}

}  // namespace tdsl::frontend
