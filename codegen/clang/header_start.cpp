#include "codegen/clang/header_start.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>

#include "codegen/clang/header_effects.h"

namespace tdsl::codegen {

namespace {

using Refuse = std::function<void(clang::SourceRange, const std::string&)>;

std::string quoted(const clang::NamedDecl& d) { return "`" + d.getQualifiedNameAsString() + "`"; }

class StartFinder : public clang::RecursiveASTVisitor<StartFinder> {
 public:
  StartFinder(clang::ASTContext& context, const Refuse& refuse) : context_(context), refuse_(refuse) {}

  [[nodiscard]] static bool shouldVisitTemplateInstantiations() { return true; }

  bool VisitVarDecl(clang::VarDecl* v) {
    if (!v->hasGlobalStorage() || v->isStaticLocal() || v->isTemplated() || !users(*v)) return true;
    const clang::VarDecl* definition = nullptr;
    const clang::Expr* initial = v->getAnyInitializer(definition);
    if (initial == nullptr || definition != v || initial->isValueDependent()) return true;
    if (!v->hasConstantInitialization()) {
      refuse_(
          v->getLocation(),
          quoted(*v) +
              " is initialised by code that runs when the program starts: declare it constexpr, or a local variable");
    } else if (v->needsDestruction(context_) != clang::QualType::DK_none) {
      refuse_(v->getLocation(),
              quoted(*v) + " is destroyed by code that runs when the program ends: make it a local variable");
    }
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* f) {
    if (!users(*f) || !f->isThisDeclarationADefinition()) return true;
    const bool librarys = f->getBuiltinID() != 0 ||
                          std::ranges::any_of(f->redecls(), [&](const clang::FunctionDecl* d) { return !users(*d); });
    if (f->isMain()) {
      refuse_(f->getLocation(), "`main` is the program's: a header does not define it");
    } else if ((f->isExternC() && librarys) || f->isReplaceableGlobalAllocationFunction()) {
      refuse_(f->getLocation(),
              quoted(*f) + " replaces the library's function in the whole program: give it another name");
    }
    return true;
  }

  bool VisitDecl(clang::Decl* d) {
    if (!users(*d)) return true;
    for (const clang::Attr* a : d->attrs()) {
      if (const char* what = refused(*a, *d))
        refuse_(a->getRange().isValid() ? a->getRange() : d->getLocation(),
                "the attribute `" + std::string(a->getSpelling()) + "` " + what);
    }
    return true;
  }

  bool VisitFileScopeAsmDecl(clang::FileScopeAsmDecl* d) {
    if (users(*d)) refuse_(d->getAsmLoc(), "assembler outside of functions may do anything");
    return true;
  }

  bool VisitNamespaceDecl(clang::NamespaceDecl* n) {
    if (users(*n) && n->getParent()->isTranslationUnit() && n->getName() == "tdsl")
      refuse_(n->getLocation(), "the namespace `tdsl` is the runtime's: choose another one");
    return true;
  }

 private:
  [[nodiscard]] bool users(const clang::Decl& d) const { return is_users(context_, d.getLocation()); }

  /// Why the attribute is refused, or null.
  static const char* refused(const clang::Attr& a, const clang::Decl& d) {
    if (a.isImplicit()) return nullptr;
    switch (a.getKind()) {
      case clang::attr::Constructor:
      case clang::attr::InitPriority: return "runs code when the program starts";
      case clang::attr::Destructor: return "runs code when the program ends";
      case clang::attr::IFunc: return "runs code when the program is loaded";
      case clang::attr::Section: return "puts it where the program does not expect it";
      case clang::attr::Alias:
      case clang::attr::WeakRef: return "gives a symbol of the program another meaning";
      case clang::attr::AsmLabel: {
        const auto* v = llvm::dyn_cast<clang::VarDecl>(&d);
        return v != nullptr && !v->hasGlobalStorage() ? nullptr : "gives a symbol of the program another meaning";
      }
      default: return nullptr;
    }
  }

  clang::ASTContext& context_;
  const Refuse& refuse_;
};

}  // namespace

void find_start_effects(clang::ASTContext& context, const Refuse& refuse) {
  StartFinder(context, refuse).TraverseDecl(context.getTranslationUnitDecl());
}

}  // namespace tdsl::codegen
