#include "codegen/clang/header_operands.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <map>
#include <optional>
#include <set>

namespace tdsl::codegen {

namespace {

using Operands = std::vector<const clang::ParmVarDecl*>;

/// A loop or condition around a statement.
struct Around {
  const clang::Stmt* statement = nullptr;
  bool is_loop = false;
};

/// State of one operand during a traversal in evaluation order.
struct Use {
  bool reads = false;
  bool writes = false;
  bool escapes = false;                       ///< a pointer or a reference to elements was taken
  std::vector<clang::SourceRange> early;      ///< reads before any write in the text
  std::vector<std::vector<Around>> early_at;  ///< the statements enclosing each of them
  const clang::Stmt* whole = nullptr;         ///< the outermost loop of a nest that writes all elements
  bool read_before_whole = false;
  std::set<const clang::ParmVarDecl*>
      copied;             ///< of stores whose value is an element of another operand at the same position
  bool computes = false;  ///< other stores
};

const clang::Expr* plain(const clang::Expr* e) { return e->IgnoreParenImpCasts(); }

/// Finds statements that leave a loop other than by its condition.
class JumpFinder : public clang::RecursiveASTVisitor<JumpFinder> {
 public:
  static bool in(const clang::Stmt* s) {
    JumpFinder finder;
    finder.TraverseStmt(const_cast<clang::Stmt*>(s));
    return finder.found_;
  }
  bool VisitBreakStmt(clang::BreakStmt*) { return !(found_ = true); }
  bool VisitContinueStmt(clang::ContinueStmt*) { return !(found_ = true); }
  bool VisitGotoStmt(clang::GotoStmt*) { return !(found_ = true); }
  bool VisitReturnStmt(clang::ReturnStmt*) { return !(found_ = true); }

 private:
  bool found_ = false;
};

/// Finds assignments of a variable other than by the loop that declares it.
class AssignmentFinder : public clang::RecursiveASTVisitor<AssignmentFinder> {
 public:
  static bool of(const clang::VarDecl& variable, const clang::Stmt* s) {
    AssignmentFinder finder(variable);
    finder.TraverseStmt(const_cast<clang::Stmt*>(s));
    return finder.references_ != finder.reads_;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* e) {
    references_ += e->getDecl() == &variable_ ? 1 : 0;
    return true;
  }
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* e) {
    const auto* r = llvm::dyn_cast<clang::DeclRefExpr>(e->getSubExpr()->IgnoreParens());
    reads_ += e->getCastKind() == clang::CK_LValueToRValue && r != nullptr && r->getDecl() == &variable_ ? 1 : 0;
    return true;
  }

 private:
  explicit AssignmentFinder(const clang::VarDecl& variable) : variable_(variable) {}
  const clang::VarDecl& variable_;
  int references_ = 0;
  int reads_ = 0;
};

class OperandWalk {
 public:
  /// `dimensions`: per operand the names of its extents; empty for a function called by a kernel.
  OperandWalk(clang::ASTContext& context, const clang::FunctionDecl& function,
              std::vector<std::vector<std::string>> dimensions, int depth)
      : context_(context), function_(function), dimensions_(std::move(dimensions)), depth_(depth) {
    for (unsigned k = 0; k < function.getNumParams(); ++k) operands_.push_back(function.getParamDecl(k));
  }

  std::vector<Use> run() {
    use_of_.resize(operands_.size());
    walk(function_.getBody());
    return std::move(use_of_);
  }

 private:
  /// An element of an operand.
  struct Element {
    std::size_t operand = 0;
    std::vector<const clang::Expr*> subscripts;
  };

  [[nodiscard]] std::optional<std::size_t> operand_of(const clang::Expr* e) const {
    const auto* r = llvm::dyn_cast<clang::DeclRefExpr>(plain(e));
    for (std::size_t k = 0; r != nullptr && k < operands_.size(); ++k) {
      if (r->getDecl() == operands_[k] && is_operand(k)) return k;
    }
    return std::nullopt;
  }

  /// Tiles and references are operands; scalars passed by value are locals.
  [[nodiscard]] bool is_operand(std::size_t k) const {
    TileType tile;
    return operands_[k]->getType()->isReferenceType() || is_tile(operands_[k]->getType(), tile);
  }

  [[nodiscard]] bool is_tile_operand(std::size_t k) const {
    TileType tile;
    return is_tile(operands_[k]->getType().getNonReferenceType(), tile);
  }

  [[nodiscard]] std::optional<Element> element(const clang::Expr* e) const {
    e = e->IgnoreParens();
    if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(e)) {
      const auto operand = call->getOperator() == clang::OO_Call ? operand_of(call->getArg(0)) : std::nullopt;
      if (!operand || !is_tile_operand(*operand)) return std::nullopt;
      Element result{*operand, {}};
      for (unsigned k = 1; k < call->getNumArgs(); ++k) result.subscripts.push_back(call->getArg(k));
      return result;
    }
    const auto operand = llvm::isa<clang::DeclRefExpr>(e) ? operand_of(e) : std::nullopt;
    return operand && !is_tile_operand(*operand) ? std::optional(Element{*operand, {}}) : std::nullopt;
  }

  void walk_all(const Element& e) {
    for (const clang::Expr* s : e.subscripts) walk(s);
  }

  void walk(const clang::Stmt* s) {
    if (s == nullptr) return;
    if (const auto* b = llvm::dyn_cast<clang::BinaryOperator>(s)) return binary(*b);
    if (const auto* u = llvm::dyn_cast<clang::UnaryOperator>(s)) return unary(*u);
    if (const auto* c = llvm::dyn_cast<clang::ImplicitCastExpr>(s);
        c != nullptr && c->getCastKind() == clang::CK_LValueToRValue) {
      if (const auto e = element(c->getSubExpr())) {
        walk_all(*e);
        return read(e->operand, c->getSourceRange());
      }
    }
    if (const auto* x = llvm::dyn_cast<clang::Expr>(s)) {
      if (const auto e = element(x)) {
        walk_all(*e);
        return escape(e->operand);
      }
    }
    if (const auto* call = llvm::dyn_cast<clang::CallExpr>(s)) return this->call(*call);
    if (const auto* r = llvm::dyn_cast<clang::DeclRefExpr>(s)) {
      if (const auto operand = operand_of(r)) escape(*operand);  // copied elsewhere
      return;
    }
    if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(s))
      return within(*s, false, [&] { walk(lambda->getBody()); });
    if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(s)) {
      walk(loop->getInit());
      return within(*s, true, [&] {
        walk(loop->getCond());
        walk(loop->getBody());
        walk(loop->getInc());
      });
    }
    if (const auto* loop = llvm::dyn_cast<clang::CXXForRangeStmt>(s)) {
      walk(loop->getRangeStmt());
      return within(*s, true, [&] { walk(loop->getBody()); });
    }
    if (llvm::isa<clang::WhileStmt>(s) || llvm::isa<clang::DoStmt>(s)) return within(*s, true, [&] { children(*s); });
    if (const auto* i = llvm::dyn_cast<clang::IfStmt>(s)) {
      walk(i->getInit());
      walk(i->getConditionVariableDeclStmt());
      walk(i->getCond());
      within(*s, false, [&] { walk(i->getThen()); });
      return within(*s, false, [&] { walk(i->getElse()); });
    }
    if (const auto* c = llvm::dyn_cast<clang::AbstractConditionalOperator>(s)) {
      walk(c->getCond());
      return within(*s, false, [&] {
        walk(c->getTrueExpr());
        walk(c->getFalseExpr());
      });
    }
    if (llvm::isa<clang::SwitchStmt>(s)) return within(*s, false, [&] { children(*s); });
    children(*s);
  }

  void children(const clang::Stmt& s) {
    if (const auto* d = llvm::dyn_cast<clang::DeclStmt>(&s)) {
      for (const clang::Decl* declaration : d->decls()) {
        if (const auto* v = llvm::dyn_cast<clang::VarDecl>(declaration)) walk(v->getInit());
      }
      return;
    }
    for (const clang::Stmt* child : s.children()) walk(child);
  }

  template <class F>
  void within(const clang::Stmt& s, bool is_loop, const F& f) {
    around_.push_back({&s, is_loop});
    f();
    around_.pop_back();
  }

  void binary(const clang::BinaryOperator& b) {
    if (b.isLogicalOp()) {
      walk(b.getLHS());
      return within(b, false, [&] { walk(b.getRHS()); });
    }
    if (!b.isAssignmentOp()) return children(b);
    walk(b.getRHS());
    const auto e = element(b.getLHS());
    if (!e) return walk(b.getLHS());
    walk_all(*e);
    if (b.isCompoundAssignmentOp()) read(e->operand, b.getLHS()->getSourceRange());
    write(e->operand);
    Use& use = use_of_[e->operand];
    const auto from = b.isCompoundAssignmentOp() ? std::nullopt : element(plain(b.getRHS()));
    if (from && same_place(*e, *from)) {
      use.copied.insert(operands_[from->operand]);
    } else {
      use.computes = true;
    }
    if (!b.isCompoundAssignmentOp()) note_whole(*e);
  }

  void unary(const clang::UnaryOperator& u) {
    const auto e = u.isIncrementDecrementOp() ? element(u.getSubExpr()) : std::nullopt;
    if (!e) return children(u);
    walk_all(*e);
    read(e->operand, u.getSourceRange());
    write(e->operand);
    use_of_[e->operand].computes = true;
  }

  void call(const clang::CallExpr& c) {
    if (const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(&c)) {
      const auto operand = operand_of(method->getImplicitObjectArgument());
      const auto name = method->getMethodDecl() != nullptr && method->getMethodDecl()->getIdentifier() != nullptr
                            ? method->getMethodDecl()->getName()
                            : llvm::StringRef();
      if (operand && name != "extent" && name != "stride") escape(*operand);
      if (!operand) walk(method->getCallee());
      for (const clang::Expr* a : c.arguments()) walk(a);
      return;
    }
    std::vector<std::pair<std::size_t, unsigned>> passed;  // operand and parameter number
    const clang::FunctionDecl* callee = c.getDirectCallee();
    const clang::FunctionDecl* definition = nullptr;
    const bool known =
        callee != nullptr && callee->hasBody(definition) && depth_ < 8 && !llvm::isa<clang::CXXMethodDecl>(callee);
    if (callee == nullptr) walk(c.getCallee());
    for (unsigned k = 0; k < c.getNumArgs(); ++k) {
      const auto operand = passed_operand(c.getArg(k));
      if (operand && known && k < definition->getNumParams()) {
        passed.emplace_back(*operand, k);
      } else {
        walk(c.getArg(k));
      }
    }
    if (passed.empty()) return;
    const std::vector<Use> inner = OperandWalk(context_, *definition, {}, depth_ + 1).run();
    for (const auto& [operand, parameter] : passed) {
      const Use& use = inner[parameter];
      if (use.reads) {
        // Elements that the callee itself wrote before reading them do not count.
        const bool first = !use.early.empty() || !use.writes;
        if (first) read(operand, c.getSourceRange());
        use_of_[operand].reads = true;
      }
      if (use.writes) write(operand), use_of_[operand].computes = true;
      if (use.escapes) escape(operand);
    }
  }

  /// A tile passed unchanged or as one with const elements; a scalar by reference.
  [[nodiscard]] std::optional<std::size_t> passed_operand(const clang::Expr* e) const {
    for (;;) {
      e = e->IgnoreParens();
      if (const auto* construct = llvm::dyn_cast<clang::CXXConstructExpr>(e);
          construct != nullptr && construct->getNumArgs() == 1) {
        e = construct->getArg(0);
      } else if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(e)) {
        e = temporary->getSubExpr();
      } else if (const auto* c = llvm::dyn_cast<clang::ImplicitCastExpr>(e);
                 c != nullptr && c->getCastKind() != clang::CK_LValueToRValue) {
        e = c->getSubExpr();
      } else {
        return llvm::isa<clang::DeclRefExpr>(e) ? operand_of(e) : std::nullopt;
      }
    }
  }

  void read(std::size_t k, clang::SourceRange place) {
    Use& use = use_of_[k];
    use.reads = true;
    use.read_before_whole = use.read_before_whole || use.whole == nullptr || is_around(use.whole);
    if (use.writes || use.escapes) return;
    use.early.push_back(place);
    use.early_at.push_back(around_);
  }

  void write(std::size_t k) {
    Use& use = use_of_[k];
    use.writes = true;
    excuse(use);
  }

  void escape(std::size_t k) {
    Use& use = use_of_[k];
    use.escapes = true;
    excuse(use);
  }

  [[nodiscard]] bool is_around(const clang::Stmt* s) const {
    return std::any_of(around_.begin(), around_.end(), [&](const Around& a) { return a.statement == s; });
  }

  /// A read may follow this write if a loop around both may have completed an iteration before it: a statement inside
  /// that loop keeps the read from being reached in the first iteration.
  void excuse(Use& use) const {
    std::vector<clang::SourceRange> early;
    std::vector<std::vector<Around>> early_at;
    for (std::size_t k = 0; k < use.early.size(); ++k) {
      const std::vector<Around>& at = use.early_at[k];
      std::size_t common = 0;
      std::size_t after_loop = 0;
      while (common < at.size() && common < around_.size() && at[common].statement == around_[common].statement) {
        ++common;
        if (at[common - 1].is_loop) after_loop = common;
      }
      const bool excused = after_loop > 0 && after_loop < at.size();
      if (excused) continue;
      early.push_back(use.early[k]);
      early_at.push_back(at);
    }
    use.early = std::move(early);
    use.early_at = std::move(early_at);
  }

  [[nodiscard]] bool same_place(const Element& a, const Element& b) const {
    if (a.subscripts.size() != b.subscripts.size()) return false;
    for (std::size_t d = 0; d < a.subscripts.size(); ++d) {
      llvm::FoldingSetNodeID x;
      llvm::FoldingSetNodeID y;
      plain(a.subscripts[d])->Profile(x, context_, true);
      plain(b.subscripts[d])->Profile(y, context_, true);
      if (x != y) return false;
    }
    return true;
  }

  /// Records a complete write if the enclosing loops give the subscripts all values.
  void note_whole(const Element& e) {
    Use& use = use_of_[e.operand];
    if (use.whole != nullptr || use.read_before_whole || use.escapes || dimensions_.empty() ||
        around_.size() != e.subscripts.size())
      return;
    std::set<const clang::Stmt*> loops;
    for (std::size_t d = 0; d < e.subscripts.size(); ++d) {
      const auto* variable = llvm::dyn_cast<clang::DeclRefExpr>(plain(e.subscripts[d]));
      const clang::ForStmt* loop =
          variable == nullptr ? nullptr : loop_over(*variable->getDecl(), dimensions_[e.operand][d]);
      if (loop == nullptr || !loops.insert(loop).second) return;
    }
    if (around_.empty() || !JumpFinder::in(around_.front().statement))
      use.whole = around_.empty() ? function_.getBody() : around_.front().statement;
    for (const Around& a : around_) {
      if (!loops.contains(a.statement)) use.whole = nullptr;
    }
    if (returns_early()) use.whole = nullptr;
  }

  [[nodiscard]] bool returns_early() const {
    const auto* body = llvm::dyn_cast<clang::CompoundStmt>(function_.getBody());
    return body == nullptr || JumpFinder::in(body);
  }

  /// The enclosing loop that counts the variable from 0 to the extent; null: none.
  [[nodiscard]] const clang::ForStmt* loop_over(const clang::ValueDecl& variable, const std::string& extent) const {
    for (const Around& a : around_) {
      const auto* loop = llvm::dyn_cast<clang::ForStmt>(a.statement);
      const auto* init = loop == nullptr ? nullptr : llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
      if (init == nullptr || !init->isSingleDecl() || init->getSingleDecl() != &variable) continue;
      const auto& declared = llvm::cast<clang::VarDecl>(*init->getSingleDecl());
      const auto* first =
          declared.getInit() == nullptr ? nullptr : llvm::dyn_cast<clang::IntegerLiteral>(plain(declared.getInit()));
      const auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
      const auto* step = llvm::dyn_cast_or_null<clang::UnaryOperator>(loop->getInc());
      const bool good = first != nullptr && first->getValue() == 0 && condition != nullptr &&
                        condition->getOpcode() == clang::BO_LT && is(condition->getLHS(), variable) &&
                        step != nullptr && step->isIncrementOp() && is(step->getSubExpr(), variable) &&
                        is_extent(condition->getRHS(), extent, 0) && !AssignmentFinder::of(declared, loop->getBody());
      return good ? loop : nullptr;
    }
    return nullptr;
  }

  static bool is(const clang::Expr* e, const clang::ValueDecl& variable) {
    const auto* r = llvm::dyn_cast<clang::DeclRefExpr>(plain(e));
    return r != nullptr && r->getDecl() == &variable;
  }

  /// True for `A.extent(0)` of an operand whose dimension has that name, a constant variable initialised with it, or
  /// that number itself.
  [[nodiscard]] bool is_extent(const clang::Expr* e, const std::string& name, int depth) const {
    e = plain(e);
    if (const auto* number = llvm::dyn_cast<clang::IntegerLiteral>(e))
      return std::to_string(number->getValue().getLimitedValue()) == name;
    if (const auto* r = llvm::dyn_cast<clang::DeclRefExpr>(e)) {
      const auto* v = llvm::dyn_cast<clang::VarDecl>(r->getDecl());
      return depth < 4 && v != nullptr && v->getType().isConstQualified() && v->getType()->isIntegerType() &&
             context_.getTypeSize(v->getType()) == 64 && v->getInit() != nullptr &&
             is_extent(v->getInit(), name, depth + 1);
    }
    const auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(e);
    if (call == nullptr || call->getNumArgs() != 1 || call->getMethodDecl() == nullptr ||
        call->getMethodDecl()->getIdentifier() == nullptr || call->getMethodDecl()->getName() != "extent")
      return false;
    const auto operand = operand_of(call->getImplicitObjectArgument());
    const auto* d = llvm::dyn_cast<clang::IntegerLiteral>(plain(call->getArg(0)));
    if (!operand || d == nullptr || !is_tile_operand(*operand)) return false;
    const auto& names = dimensions_[*operand];
    const std::uint64_t at = d->getValue().getLimitedValue();
    return at < names.size() && names[at] == name;
  }

  clang::ASTContext& context_;
  const clang::FunctionDecl& function_;
  std::vector<std::vector<std::string>> dimensions_;
  int depth_;
  Operands operands_;
  std::vector<Use> use_of_;
  std::vector<Around> around_;
};

}  // namespace

bool is_tile(clang::QualType type, TileType& tile) {
  const auto* record = type.getCanonicalType()->getAsCXXRecordDecl();
  const auto* made = record == nullptr ? nullptr : llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  if (made == nullptr || made->getQualifiedNameAsString() != "tdsl::Tile" || made->getTemplateArgs().size() != 2)
    return false;
  const clang::TemplateArgument& element = made->getTemplateArgs()[0];
  const clang::TemplateArgument& rank = made->getTemplateArgs()[1];
  if (element.getKind() != clang::TemplateArgument::Type || rank.getKind() != clang::TemplateArgument::Integral)
    return false;
  tile = {element.getAsType().getCanonicalType(), static_cast<int>(rank.getAsIntegral().getExtValue())};
  return true;
}

std::vector<ir::ForeignFunction::Operand> find_operand_uses(
    clang::ASTContext& context, const clang::FunctionDecl& kernel, const ir::ForeignDeclaration& declaration,
    const std::function<void(clang::SourceRange, const std::string&)>& refuse) {
  const std::vector<Use> uses = OperandWalk(context, kernel, declaration.dimensions, 0).run();
  std::vector<ir::ForeignFunction::Operand> operands;
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const Use& use = uses[k];
    const clang::ParmVarDecl& parameter = *kernel.getParamDecl(static_cast<unsigned>(k));
    const std::string name = "`" + declaration.parameters[k].name + "`";
    ir::ForeignFunction::Operand operand{use.reads || use.escapes, use.writes || use.escapes, false, -1};
    if (declaration.parameters[k].is_output) {
      operand.reads = use.reads;
      operand.constructs = use.whole != nullptr && !use.read_before_whole && !use.escapes;
      if (!operand.writes) refuse(parameter.getSourceRange(), "never writes its out operand " + name);
      if (!use.early.empty() && !use.escapes)
        refuse(use.early.front(), "reads its out operand " + name + " before it writes it");
      if (use.copied.size() == 1 && !use.computes && !use.escapes) {
        for (unsigned from = 0; from < kernel.getNumParams(); ++from) {
          if (kernel.getParamDecl(from) == *use.copied.begin()) operand.forwards = static_cast<int>(from);
        }
      }
    } else {
      operand.writes = false;
      if (!llvm::isa<clang::ReferenceType>(parameter.getType()) && declaration.parameters[k].rank == 0)
        operand.reads = parameter.isReferenced();
    }
    operands.push_back(operand);
  }
  return operands;
}

}  // namespace tdsl::codegen
