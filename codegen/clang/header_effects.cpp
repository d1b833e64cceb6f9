#include "codegen/clang/header_effects.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>

#include <set>
#include <string_view>

namespace tdsl::codegen {

namespace {

/// Functions without a visible body that only compute. `f`, `l` and `__builtin_` are stripped before.
bool is_pure_library_name(std::string_view name) {
  static const std::set<std::string_view> names = {"abs",
                                                   "acos",
                                                   "acosh",
                                                   "asin",
                                                   "asinh",
                                                   "atan",
                                                   "atan2",
                                                   "atanh",
                                                   "cabs",
                                                   "cacos",
                                                   "cacosh",
                                                   "carg",
                                                   "casin",
                                                   "casinh",
                                                   "catan",
                                                   "catanh",
                                                   "ccos",
                                                   "ccosh",
                                                   "cexp",
                                                   "clog",
                                                   "cpow",
                                                   "csin",
                                                   "csinh",
                                                   "csqrt",
                                                   "ctan",
                                                   "ctanh",
                                                   "cbrt",
                                                   "ceil",
                                                   "copysign",
                                                   "cos",
                                                   "cosh",
                                                   "erf",
                                                   "erfc",
                                                   "exp",
                                                   "exp2",
                                                   "expm1",
                                                   "fabs",
                                                   "fdim",
                                                   "floor",
                                                   "fma",
                                                   "fmax",
                                                   "fmin",
                                                   "fmod",
                                                   "frexp",
                                                   "hypot",
                                                   "ilogb",
                                                   "labs",
                                                   "ldexp",
                                                   "llabs",
                                                   "llrint",
                                                   "llround",
                                                   "log",
                                                   "log10",
                                                   "log1p",
                                                   "log2",
                                                   "logb",
                                                   "lrint",
                                                   "lround",
                                                   "memcmp",
                                                   "memcpy",
                                                   "memmove",
                                                   "memset",
                                                   "modf",
                                                   "nearbyint",
                                                   "nextafter",
                                                   "pow",
                                                   "remainder",
                                                   "rint",
                                                   "round",
                                                   "scalbln",
                                                   "scalbn",
                                                   "signbit",
                                                   "sin",
                                                   "sinh",
                                                   "sqrt",
                                                   "tan",
                                                   "tanh",
                                                   "tgamma",
                                                   "trunc",
                                                   "isnan",
                                                   "isinf",
                                                   "isfinite",
                                                   "isnormal",
                                                   "isinf_sign",
                                                   "fpclassify",
                                                   "isless",
                                                   "isgreater",
                                                   "isunordered",
                                                   "isgreaterequal",
                                                   "islessequal",
                                                   "islessgreater",
                                                   "huge_val",
                                                   "huge_va",
                                                   "inf",
                                                   "nan",
                                                   "nans",
                                                   "expect",
                                                   "unreachable",
                                                   "assume_aligned",
                                                   "is_constant_evaluated",
                                                   "addressof",
                                                   "popcount",
                                                   "popcountll",
                                                   "parity",
                                                   "parityll",
                                                   "clz",
                                                   "clzll",
                                                   "ctz",
                                                   "ctzll",
                                                   "ffs",
                                                   "ffsll",
                                                   "bswap16",
                                                   "bswap32",
                                                   "bswap64",
                                                   "shufflevector",
                                                   "convertvector",
                                                   "prefetch",
                                                   "constant_p",
                                                   "move",
                                                   "forward",
                                                   "launder",
                                                   "strlen"};
  constexpr std::string_view kBuiltin = "__builtin_";
  if (name.starts_with(kBuiltin)) name.remove_prefix(kBuiltin.size());
  if (name.starts_with("ia32_")) {
    const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    return !has("rdtsc") && !has("rdrand") && !has("rdseed") && !has("rdpmc") && !has("mxcsr");
  }
  if (names.contains(name)) return true;
  if (!name.ends_with('f') && !name.ends_with('l')) return false;
  name.remove_suffix(1);
  return names.contains(name);
}

/// std::vector's memory is local to the call. Constructors and copies of class elements are checked. std::complex only
/// computes.
bool is_trusted_class(const clang::ASTContext& context, const clang::FunctionDecl& f) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&f);
  const auto* made =
      method == nullptr ? nullptr : llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(method->getParent());
  if (made == nullptr || !made->isInStdNamespace() ||
      made->getTemplateArgs()[0].getKind() != clang::TemplateArgument::Type)
    return false;
  if (!made->getTemplateArgs()[0].getAsType().isTrivialType(context)) return false;
  const auto name = made->getName();
  if (name == "complex") return true;
  return (name == "vector" || name == "_Vector_base") &&
         (method->getIdentifier() == nullptr || (method->getName() != "at" && method->getName() != "_M_range_check"));
}

/// True if an object of the type contains no pointers or references and cannot change.
bool is_plain_constant(clang::QualType type) {
  type = type.getCanonicalType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) return is_plain_constant(array->getElementType());
  if (type->isArithmeticType() || type->isEnumeralType()) return true;
  const auto* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return false;
  for (const clang::FieldDecl* field : record->fields()) {
    if (field->isMutable() || !is_plain_constant(field->getType())) return false;
  }
  for (const clang::CXXBaseSpecifier& base : record->bases()) {
    if (!is_plain_constant(base.getType())) return false;
  }
  return true;
}

/// `for (int i = a; i < b; ++i)` whose body does not change i, and which therefore terminates.
class CountingLoop : public clang::RecursiveASTVisitor<CountingLoop> {
 public:
  static bool matches(clang::ForStmt& loop) {
    const auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop.getInit());
    const auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop.getCond());
    if (init == nullptr || !init->isSingleDecl() || condition == nullptr || !condition->isRelationalOp() ||
        loop.getInc() == nullptr)
      return false;
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(init->getSingleDecl());
    if (variable == nullptr || !variable->getType()->isIntegerType()) return false;
    const auto* left = llvm::dyn_cast<clang::DeclRefExpr>(condition->getLHS()->IgnoreParenImpCasts());
    if (left == nullptr || left->getDecl() != variable || !steps(*loop.getInc(), *variable, *condition)) return false;
    CountingLoop body(*variable);
    body.TraverseStmt(loop.getBody());
    return body.references_ == body.reads_;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* e) {
    references_ += e->getDecl() == &variable_ ? 1 : 0;
    return true;
  }
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* e) {
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(e->getSubExpr()->IgnoreParens());
    reads_ += e->getCastKind() == clang::CK_LValueToRValue && reference != nullptr && reference->getDecl() == &variable_
                  ? 1
                  : 0;
    return true;
  }

 private:
  explicit CountingLoop(const clang::VarDecl& variable) : variable_(variable) {}

  static bool steps(const clang::Expr& e, const clang::VarDecl& variable, const clang::BinaryOperator& condition) {
    const bool up = condition.getOpcode() == clang::BO_LT || condition.getOpcode() == clang::BO_LE;
    const auto is_variable = [&](const clang::Expr* x) {
      const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(x->IgnoreParens());
      return reference != nullptr && reference->getDecl() == &variable;
    };
    if (const auto* u = llvm::dyn_cast<clang::UnaryOperator>(&e))
      return u->isIncrementDecrementOp() && u->isIncrementOp() == up && is_variable(u->getSubExpr());
    const auto* b = llvm::dyn_cast<clang::BinaryOperator>(&e);
    if (b == nullptr || b->getOpcode() != (up ? clang::BO_AddAssign : clang::BO_SubAssign)) return false;
    const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(b->getRHS()->IgnoreParenImpCasts());
    return literal != nullptr && literal->getValue() != 0 && is_variable(b->getLHS());
  }

  const clang::VarDecl& variable_;
  int references_ = 0;
  int reads_ = 0;
};

class EffectFinder : public clang::RecursiveASTVisitor<EffectFinder> {
 public:
  EffectFinder(clang::ASTContext& context, Effects& effects) : context_(context), effects_(effects) {}

  [[nodiscard]] static bool shouldVisitImplicitCode() { return true; }
  [[nodiscard]] static bool shouldVisitTemplateInstantiations() { return true; }

  /// `called`: location of the call, for messages about code in other files.
  void function(const clang::FunctionDecl& f, clang::SourceRange called) {
    if (open_.contains(f.getCanonicalDecl())) effects_.may_stop = true;  // recursion
    if (!done_.insert(f.getCanonicalDecl()).second) return;
    if (is_trusted_class(context_, f) || is_trivial(f)) return;
    const clang::FunctionDecl* definition = nullptr;
    if (!f.hasBody(definition)) {
      effects_.operations += 10;
      if (f.getIdentifier() != nullptr && is_pure_library_name(f.getName()) && is_librarys(f)) return;
      return refuse(called,
                    "calls `" + f.getQualifiedNameAsString() + "`, which has no body here: its effects are unknown");
    }
    const clang::SourceRange outer = called_;
    if (!is_users(context_, definition->getLocation())) called_ = called_.isValid() ? called_ : called;
    if (is_users(context_, definition->getLocation())) called_ = {};
    open_.insert(f.getCanonicalDecl());
    if (const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(definition)) {
      for (const clang::CXXCtorInitializer* i : constructor->inits()) TraverseStmt(i->getInit());
    }
    TraverseStmt(definition->getBody());
    open_.erase(f.getCanonicalDecl());
    called_ = outer;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* e) {
    variable_use(e->getDecl(), e->getSourceRange());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* e) {
    variable_use(e->getMemberDecl(), e->getSourceRange());
    return true;
  }
  bool VisitExpr(clang::Expr* e) {
    if (e->getType().isVolatileQualified()) refuse(e->getSourceRange(), "accesses a volatile variable");
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* v) {
    if (v->hasGlobalStorage() && !is_constant(*v))
      refuse(v->getLocation(), "keeps the static variable `" + v->getNameAsString() + "` from call to call");
    if (const auto* record = v->getType()->getAsCXXRecordDecl(); record != nullptr && record->hasDefinition())
      destructor(*record, v->getSourceRange());
    if (const auto* cleanup = v->getAttr<clang::CleanupAttr>())
      function(*cleanup->getFunctionDecl(), v->getSourceRange());
    return true;
  }
  bool VisitCXXBindTemporaryExpr(clang::CXXBindTemporaryExpr* e) {
    function(*e->getTemporary()->getDestructor(), e->getSourceRange());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* e) {
    effects_.operations += llvm::isa<clang::CXXOperatorCallExpr>(e) ? 0 : 1;
    if (llvm::isa<clang::CXXPseudoDestructorExpr>(e->getCallee()->IgnoreParens())) return true;
    const clang::FunctionDecl* callee = e->getDirectCallee();
    if (callee == nullptr) {
      refuse(e->getSourceRange(), "calls a function through a pointer: its effects are unknown");
      return true;
    }
    if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(callee); method != nullptr && method->isVirtual())
      refuse(e->getSourceRange(),
             "calls the virtual function `" + callee->getQualifiedNameAsString() + "`: its effects are unknown");
    function(*callee, e->getSourceRange());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* e) {
    function(*e->getConstructor(), e->getSourceRange());
    return true;
  }
  bool VisitCXXDefaultArgExpr(clang::CXXDefaultArgExpr* e) { return TraverseStmt(e->getExpr()); }
  bool VisitCXXDefaultInitExpr(clang::CXXDefaultInitExpr* e) { return TraverseStmt(e->getExpr()); }
  bool VisitCXXThrowExpr(clang::CXXThrowExpr* e) {
    refuse(e->getSourceRange(), "throws");
    return true;
  }
  bool VisitAsmStmt(clang::AsmStmt* s) {
    refuse(s->getSourceRange(), "contains assembler");
    return true;
  }
  bool VisitCXXNewExpr(clang::CXXNewExpr* e) {
    refuse(e->getSourceRange(), "allocates memory with new: take a local array or a std::vector");
    return true;
  }
  bool VisitCXXDeleteExpr(clang::CXXDeleteExpr* e) {
    refuse(e->getSourceRange(), "frees memory with delete: take a local array or a std::vector");
    return true;
  }
  bool VisitOMPExecutableDirective(clang::OMPExecutableDirective* s) {
    if (!llvm::isa<clang::OMPSimdDirective>(s))
      refuse(s->getSourceRange(), "runs on threads of its own: threads are the runtime's");
    return true;
  }
  bool VisitCastExpr(clang::CastExpr* e) {
    if (!is_users(context_, e->getBeginLoc())) return true;
    if (e->getCastKind() == clang::CK_IntegralToPointer) refuse(e->getSourceRange(), "makes a pointer of an integer");
    if (llvm::isa<clang::ExplicitCastExpr>(e) && drops_const(*e)) refuse(e->getSourceRange(), "casts const away");
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* e) {
    effects_.operations += e->isAssignmentOp() && !e->isCompoundAssignmentOp() ? 0 : 1;
    const auto op = e->getOpcode();
    const bool divides =
        op == clang::BO_Div || op == clang::BO_Rem || op == clang::BO_DivAssign || op == clang::BO_RemAssign;
    if (divides && e->getRHS()->getType()->isIntegerType()) {
      const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(e->getRHS()->IgnoreParenImpCasts());
      if (literal == nullptr || literal->getValue() == 0) effects_.may_stop = true;
    }
    return true;
  }
  bool VisitForStmt(clang::ForStmt* s) {
    if (!CountingLoop::matches(*s)) effects_.may_stop = true;
    return true;
  }
  bool VisitWhileStmt(clang::WhileStmt*) { return effects_.may_stop = true; }
  bool VisitDoStmt(clang::DoStmt*) { return effects_.may_stop = true; }
  bool VisitGotoStmt(clang::GotoStmt*) { return effects_.may_stop = true; }

  /// The body of a lambda is evaluated where it is called.
  bool TraverseLambdaExpr(clang::LambdaExpr* e) {
    for (clang::Expr* capture : e->capture_inits()) TraverseStmt(capture);
    return true;
  }
  /// Unevaluated operands.
  bool TraverseUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr*) { return true; }
  bool TraverseCXXNoexceptExpr(clang::CXXNoexceptExpr*) { return true; }

 private:
  void refuse(clang::SourceRange place, const std::string& what) {
    const bool own = is_users(context_, place.getBegin());
    effects_.refuse(own || !called_.isValid() ? place : called_,
                    own || !called_.isValid() ? what : "calls a library function that " + what);
  }

  static bool is_trivial(const clang::FunctionDecl& f) {
    if (const auto* c = llvm::dyn_cast<clang::CXXConstructorDecl>(&f); c != nullptr && c->isTrivial()) return true;
    if (const auto* d = llvm::dyn_cast<clang::CXXDestructorDecl>(&f); d != nullptr && d->isTrivial()) return true;
    return f.isTrivial();
  }

  [[nodiscard]] bool is_librarys(const clang::FunctionDecl& f) const {
    return f.getBuiltinID() != 0 || !is_users(context_, f.getLocation());
  }

  bool is_constant(const clang::VarDecl& v) const {
    if (!v.getType().isConstQualified() && !context_.getBaseElementType(v.getType()).isConstQualified() &&
        !v.isConstexpr())
      return false;
    if (!is_plain_constant(v.getType())) return false;
    const clang::VarDecl* definition = v.getInitializingDeclaration();
    // The initialiser of a template's static member may not have been instantiated. The library's integers are numbers.
    if (definition == nullptr || !definition->hasInit() || definition->getInit() == nullptr ||
        definition->getInit()->isValueDependent())
      return v.isConstexpr() || (v.isStaticDataMember() && v.getType()->isIntegralOrEnumerationType() &&
                                 !is_users(context_, v.getLocation()));
    return definition->evaluateValue() != nullptr;
  }

  void variable_use(const clang::ValueDecl* declaration, clang::SourceRange place) {
    const auto* v = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (v == nullptr || !v->hasGlobalStorage() || v->isStaticLocal() || is_constant(*v)) return;
    refuse(place, "uses the global variable `" + v->getQualifiedNameAsString() + "`, which is no constant");
  }

  void destructor(const clang::CXXRecordDecl& record, clang::SourceRange place) {
    const clang::CXXDestructorDecl* d = record.getDestructor();
    if (d != nullptr && !d->isTrivial()) function(*d, place);
  }

  static bool drops_const(const clang::CastExpr& e) {
    const auto pointee = [](clang::QualType t) {
      return t->isPointerType() || t->isReferenceType() ? t->getPointeeType() : clang::QualType();
    };
    // A cast to a reference has the referenced type.
    const auto& cast = llvm::cast<clang::ExplicitCastExpr>(e);
    const clang::QualType to = pointee(cast.getTypeAsWritten());
    const clang::Expr* from = cast.getSubExprAsWritten();
    const clang::QualType source =
        cast.getTypeAsWritten()->isReferenceType() ? from->getType() : pointee(from->getType());
    return !to.isNull() && !source.isNull() && source.isConstQualified() && !to.isConstQualified();
  }

  clang::ASTContext& context_;
  Effects& effects_;
  clang::SourceRange called_;  ///< the user's call through which library code was reached
  std::set<const clang::FunctionDecl*> done_;
  std::set<const clang::FunctionDecl*> open_;
};

}  // namespace

bool is_users(const clang::ASTContext& context, clang::SourceLocation place) {
  return place.isValid() &&
         !context.getSourceManager().isInSystemHeader(context.getSourceManager().getExpansionLoc(place));
}

void find_effects(clang::ASTContext& context, const clang::FunctionDecl& function, Effects& effects) {
  EffectFinder(context, effects).function(function, function.getLocation());
}

}  // namespace tdsl::codegen
