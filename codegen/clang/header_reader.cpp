#include "codegen/clang/header_reader.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Frontend/ASTUnit.h>
#include <clang/Frontend/TextDiagnostic.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/Tooling.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "codegen/clang/header_effects.h"
#include "codegen/clang/header_operands.h"
#include "codegen/clang/header_start.h"

namespace tdsl::codegen {

namespace {

using ir::ForeignDeclaration;
using ir::ForeignFunction;
using ir::HeaderFacts;
using ir::HeaderProblem;
using ir::Scalar;
using Kind = ir::HeaderProblem::Kind;

constexpr const char* kMainFile = "tdsl_extern.cpp";
/// Limit of reported errors for a header that is not C++: later ones are mostly consequences.
constexpr std::size_t kMostErrors = 3;

/// Clang names a file in the main file's folder "./kernels.hpp".
std::string normal(llvm::StringRef path) { return std::filesystem::path(path.str()).lexically_normal().string(); }

HeaderProblem problem_at(const clang::SourceManager& sources, clang::SourceLocation place, Kind kind,
                         std::string message, std::uint32_t length = 1) {
  HeaderProblem p;
  p.kind = kind;
  p.message = std::move(message);
  const clang::PresumedLoc at = sources.getPresumedLoc(sources.getExpansionLoc(place));
  if (at.isInvalid()) return p;
  p.file = normal(at.getFilename());
  p.line = at.getLine();
  p.column = at.getColumn();
  p.end_column = p.column + length;
  return p;
}

/// Collects Clang's errors about the text.
class ErrorCollector : public clang::DiagnosticConsumer {
 public:
  explicit ErrorCollector(std::vector<HeaderProblem>& problems) : problems_(problems) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& diagnostic) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
    if (level < clang::DiagnosticsEngine::Error || problems_.size() >= kMostErrors) return;
    llvm::SmallString<200> text;
    diagnostic.FormatDiagnostic(text);
    const std::string message(text.str());
    if (!diagnostic.hasSourceManager() || diagnostic.getLocation().isInvalid()) {
      problems_.push_back({Kind::kUnreadable, "", 0, 0, 0, message, -1});
    } else {
      problems_.push_back(
          problem_at(diagnostic.getSourceManager(), diagnostic.getLocation(), Kind::kUnreadable, message));
    }
  }

 private:
  std::vector<HeaderProblem>& problems_;
};

/// The type in the header's translation unit; null for complex numbers.
clang::QualType cpp_type(const clang::ASTContext& context, Scalar s) {
  const auto bits = static_cast<unsigned>(8 * ir::size_of(s));
  if (s == Scalar::kBool) return context.BoolTy;
  if (ir::is_integer(s)) return context.getIntTypeForBitwidth(bits, ir::is_unsigned(s) ? 0U : 1U);
  if (s == Scalar::kF32) return context.FloatTy;
  if (s == Scalar::kF64) return context.DoubleTy;
  return {};
}

/// The type as users write it.
std::string users_type(Scalar s) {
  if (ir::is_complex(s)) return "std::complex<" + std::string(ir::cpp_type_of(ir::part_type(s))) + ">";
  return std::string(ir::cpp_type_of(s));
}

std::string parameter_text(const ir::Foreign::Parameter& p) {
  const std::string element = users_type(p.type);
  if (p.rank == 0) return p.is_output ? element + "&" : element;
  return std::string("tdsl::Tile<") + (p.is_output ? "" : "const ") + element + ", " + std::to_string(p.rank) + ">";
}

/// `double gelu(double)`
std::string wanted_text(const ForeignDeclaration& d) {
  std::string parameters;
  for (const ir::Foreign::Parameter& p : d.parameters)
    parameters += (parameters.empty() ? "" : ", ") + parameter_text(p);
  return (d.is_kernel ? "void" : users_type(d.result)) + " " + d.name + "(" + parameters + ")";
}

/// Finds functions of that name in namespaces, which are not searched.
class InnerFinder : public clang::RecursiveASTVisitor<InnerFinder> {
 public:
  explicit InnerFinder(std::string name) : name_(std::move(name)) {}
  bool VisitFunctionDecl(clang::FunctionDecl* f) {
    if (found == nullptr && f->getIdentifier() != nullptr && f->getName() == name_ &&
        is_users(f->getASTContext(), f->getLocation()))
      found = f;
    return true;
  }
  const clang::FunctionDecl* found = nullptr;

 private:
  std::string name_;
};

class HeaderReaderRun {
 public:
  HeaderReaderRun(clang::ASTUnit& unit, const std::string& path, const std::vector<ForeignDeclaration>& declarations,
                  HeaderFacts& facts, HeaderNames& names)
      : context_(unit.getASTContext()),
        sources_(unit.getSourceManager()),
        preprocessor_(unit.getPreprocessor()),
        path_(path),
        declarations_(declarations),
        facts_(facts),
        names_(names) {}

  void run() {
    note_files();
    note_macros();
    note_words();
    find_start_effects(context_,
                       [&](clang::SourceRange place, const std::string& what) { problem(Kind::kEffect, place, what); });
    refuse_macros();
    if (!facts_.problems.empty()) return;
    for (std::size_t k = 0; k < declarations_.size(); ++k) {
      number_ = static_cast<int>(k);
      if (const clang::FunctionDecl* f = find(declarations_[k])) facts_.functions.push_back(read(*f, declarations_[k]));
    }
  }

 private:
  void note_files() {
    std::set<std::string> files;
    for (unsigned k = 0; k < sources_.local_sloc_entry_size(); ++k) {
      const clang::SrcMgr::SLocEntry& entry = sources_.getLocalSLocEntry(k);
      if (!entry.isFile() || entry.getFile().getFileCharacteristic() != clang::SrcMgr::C_User) continue;
      const auto name = entry.getFile().getName();
      if (!name.empty() && name != kMainFile && name.front() != '<' && !name.endswith(kMainFile))
        files.insert(normal(name));
    }
    facts_.files.assign(files.begin(), files.end());
  }

  void note_macros() {
    for (const auto& [identifier, unused] : preprocessor_.macros()) {
      const clang::MacroInfo* macro = preprocessor_.getMacroInfo(identifier);
      if (macro == nullptr || macro->isBuiltinMacro() || macro->isUsedForHeaderGuard() ||
          !is_users(context_, macro->getDefinitionLoc()))
        continue;
      const std::string name = identifier->getName().str();
      const HeaderProblem place =
          problem_at(sources_, macro->getDefinitionLoc(), Kind::kEffect, "", static_cast<std::uint32_t>(name.size()));
      if (std::ranges::binary_search(facts_.files, place.file)) names_.macros[name] = place;
    }
  }

  /// Records all identifiers of the user's files.
  void note_words() {
    for (unsigned k = 0; k < sources_.local_sloc_entry_size(); ++k) {
      const clang::SrcMgr::SLocEntry& entry = sources_.getLocalSLocEntry(k);
      if (!entry.isFile() || entry.getFile().getFileCharacteristic() != clang::SrcMgr::C_User) continue;
      const std::string name = normal(entry.getFile().getName());
      if (!std::ranges::binary_search(facts_.files, name)) continue;
      const clang::FileID file = sources_.getFileID(clang::SourceLocation::getFromRawEncoding(entry.getOffset()));
      const auto text = sources_.getBufferOrNone(file);
      if (!text) continue;
      clang::Lexer lexer(file, *text, sources_, context_.getLangOpts());
      std::set<std::string>& words = names_.words[name];
      clang::Token token;
      for (bool last = false; !last;) {
        last = lexer.LexFromRawLexer(token);
        if (token.is(clang::tok::raw_identifier)) words.insert(token.getRawIdentifier().str());
      }
    }
  }

  /// Refuses macros that would change calls of the functions after the header.
  void refuse_macros() {
    static const std::set<std::string> kWords = {
        "bool",    "const",    "double",   "emitted",  "float",     "fn",     "int8_t", "int16_t", "int32_t", "int64_t",
        "uint8_t", "uint16_t", "uint32_t", "uint64_t", "namespace", "return", "std",    "tdsl",    "Tile",    "void"};
    for (const auto& [name, place] : names_.macros) {
      const bool function =
          std::ranges::any_of(declarations_, [&](const ForeignDeclaration& d) { return d.name == name; });
      if (!function && !kWords.contains(name) && !name.starts_with("tdsl_")) continue;
      facts_.problems.push_back(place);
      facts_.problems.back().message = "the macro `" + name + "` is left defined and rewrites calls of " +
                                       (function ? "the function" : "the functions") +
                                       ": #undef it at the end of the header";
    }
  }

  void problem(Kind kind, clang::SourceRange place, const std::string& message) {
    const unsigned length =
        clang::Lexer::MeasureTokenLength(sources_.getExpansionLoc(place.getBegin()), sources_, context_.getLangOpts());
    HeaderProblem p = problem_at(sources_, place.getBegin(), kind, message, std::max(1U, length));
    const clang::PresumedLoc end = sources_.getPresumedLoc(clang::Lexer::getLocForEndOfToken(
        sources_.getExpansionRange(place).getEnd(), 0, sources_, context_.getLangOpts()));
    if (end.isValid() && end.getLine() == p.line && end.getColumn() > p.column) p.end_column = end.getColumn();
    p.declaration = number_;
    // `throw std::runtime_error(…)` is reported once.
    const auto same_line = [&](const HeaderProblem& q) {
      return q.declaration == p.declaration && q.kind == p.kind && q.file == p.file && q.line == p.line;
    };
    if (std::none_of(facts_.problems.begin(), facts_.problems.end(), same_line))
      facts_.problems.push_back(std::move(p));
  }

  void no_place(const std::string& message) {
    HeaderProblem p;
    p.kind = Kind::kSignature;
    p.message = message;
    p.declaration = number_;
    facts_.problems.push_back(std::move(p));
  }

  const clang::FunctionDecl* find(const ForeignDeclaration& d) {
    const clang::DeclarationName name(&context_.Idents.get(d.name));
    const clang::NamedDecl* other = nullptr;
    const clang::FunctionDecl* nearest = nullptr;
    for (const clang::NamedDecl* candidate : context_.getTranslationUnitDecl()->lookup(name)) {
      const clang::NamedDecl* meant = candidate->getUnderlyingDecl();
      const auto* f = llvm::dyn_cast<clang::FunctionDecl>(meant);
      if (f == nullptr) {
        other = meant;
      } else if (fits(*f, d)) {
        return good(*f, d) ? f : nullptr;
      } else {
        nearest = f;
      }
    }
    const std::string wanted = "; the program needs `" + wanted_text(d) + "`";
    if (nearest != nullptr) {
      problem(Kind::kSignature, nearest->getLocation(),
              "`" + d.name + "` has the type `" + nearest->getType().getAsString(policy()) + "`" + wanted);
    } else if (llvm::isa_and_nonnull<clang::FunctionTemplateDecl>(other)) {
      problem(Kind::kSignature, other->getLocation(), "`" + d.name + "` is a template" + wanted);
    } else if (other != nullptr) {
      problem(Kind::kSignature, other->getLocation(), "`" + d.name + "` is no function" + wanted);
    } else {
      missing(d, wanted);
    }
    return nullptr;
  }

  void missing(const ForeignDeclaration& d, const std::string& wanted) {
    InnerFinder inner(d.name);
    inner.TraverseDecl(context_.getTranslationUnitDecl());
    if (inner.found != nullptr)
      return problem(Kind::kSignature, inner.found->getLocation(),
                     "`" + inner.found->getQualifiedNameAsString() +
                         "` is not in the global namespace, where functions of `extern` are looked up");
    no_place("`" + path_ + "` declares no function `" + d.name + "`" + wanted);
  }

  [[nodiscard]] clang::PrintingPolicy policy() const { return clang::PrintingPolicy(context_.getLangOpts()); }

  bool good(const clang::FunctionDecl& f, const ForeignDeclaration& d) {
    if (f.isDeleted()) problem(Kind::kSignature, f.getLocation(), "`" + d.name + "` is deleted");
    if (f.isConsteval())
      problem(Kind::kSignature, f.getLocation(), "`" + d.name + "` is consteval: it cannot be called at run time");
    if (!f.hasBody())
      problem(Kind::kEffect, f.getLocation(), "`" + d.name + "` has no body here: its effects are unknown");
    return !f.isDeleted() && !f.isConsteval() && f.hasBody();
  }

  [[nodiscard]] bool fits(const clang::FunctionDecl& f, const ForeignDeclaration& d) const {
    const bool returns = d.is_kernel ? f.getReturnType()->isVoidType() : same(f.getReturnType(), d.result);
    if (f.isVariadic() || f.getNumParams() != d.parameters.size() || !returns) return false;
    for (unsigned k = 0; k < f.getNumParams(); ++k) {
      if (!fits(f.getParamDecl(k)->getType(), d.parameters[k])) return false;
    }
    return true;
  }

  [[nodiscard]] bool same(clang::QualType type, Scalar s) const {
    if (!ir::is_complex(s)) return context_.hasSameUnqualifiedType(type, cpp_type(context_, s));
    const auto* record = type.getCanonicalType()->getAsCXXRecordDecl();
    const auto* made = record == nullptr ? nullptr : llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
    return made != nullptr && made->isInStdNamespace() && made->getName() == "complex" &&
           made->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type &&
           context_.hasSameType(made->getTemplateArgs()[0].getAsType(), cpp_type(context_, ir::part_type(s)));
  }

  [[nodiscard]] bool fits(clang::QualType type, const ir::Foreign::Parameter& p) const {
    if (p.rank == 0 && p.is_output)
      return type->isLValueReferenceType() && !type->getPointeeType().hasQualifiers() &&
             same(type->getPointeeType(), p.type);
    // By value, or by an equivalent reference.
    if (type->isLValueReferenceType() && type->getPointeeType().isConstQualified() &&
        !type->getPointeeType().isVolatileQualified())
      type = type->getPointeeType();
    if (p.rank == 0) return same(type, p.type);
    TileType tile;
    return !type->isReferenceType() && is_tile(type, tile) && tile.rank == static_cast<int>(p.rank) &&
           tile.element.isConstQualified() == !p.is_output && !tile.element.isVolatileQualified() &&
           same(tile.element, p.type);
  }

  ForeignFunction read(const clang::FunctionDecl& f, const ForeignDeclaration& d) {
    ForeignFunction result;
    const clang::FunctionDecl* definition = nullptr;
    f.hasBody(definition);
    Effects effects;
    effects.refuse = [&](clang::SourceRange place, const std::string& what) {
      problem(Kind::kEffect, place, "`" + d.name + "` " + what);
    };
    find_effects(context_, *definition, effects);
    result.may_stop = effects.may_stop;
    result.operations = std::max(1.0, effects.operations);
    if (d.is_kernel) {
      result.operands =
          find_operand_uses(context_, *definition, d, [&](clang::SourceRange place, const std::string& what) {
            problem(Kind::kOperand, place, "`" + d.name + "` " + what);
          });
    } else {
      for (const clang::ParmVarDecl* p : definition->parameters())
        result.operands.push_back({p->isReferenced(), false, false, -1});
    }
    const clang::PresumedLoc at = sources_.getPresumedLoc(definition->getLocation());
    result.file = at.isValid() ? normal(at.getFilename()) : "";
    result.line = at.isValid() ? at.getLine() : 0;
    return result;
  }

  clang::ASTContext& context_;
  clang::SourceManager& sources_;
  const clang::Preprocessor& preprocessor_;
  const std::string& path_;
  const std::vector<ForeignDeclaration>& declarations_;
  HeaderFacts& facts_;
  HeaderNames& names_;
  int number_ = -1;
};

std::string quoted_include(const std::string& path) { return "#include \"" + path + "\"\n"; }

}  // namespace

HeaderFacts clang_read_header(const std::string& path, const std::vector<ForeignDeclaration>& declarations,
                              const std::vector<std::string>& flags, HeaderNames* names) {
  HeaderFacts facts;
  HeaderNames found;
  std::vector<std::string> arguments = {"-fsyntax-only", "-w",       "-ferror-limit=20",
                                        "-std=c++20",    "-fopenmp", "-resource-dir=" TDSL_CLANG_RESOURCES};
  for (const std::string& flag : flags) {
    // Headers of the runtime are treated as system headers.
    if (flag.starts_with("-I")) arguments.insert(arguments.end(), {"-isystem", flag.substr(2)});
    if (flag.starts_with("-D")) arguments.push_back(flag);
  }
  ErrorCollector errors(facts.problems);
  const std::unique_ptr<clang::ASTUnit> unit = clang::tooling::buildASTFromCodeWithArgs(
      quoted_include(path), arguments, kMainFile, "tdslc", std::make_shared<clang::PCHContainerOperations>(),
      clang::tooling::getClangStripDependencyFileAdjuster(), clang::tooling::FileContentMappings(), &errors);
  if (!facts.problems.empty()) return facts;
  if (unit == nullptr) {
    facts.problems.push_back({Kind::kUnreadable, "", 0, 0, 0, "Clang cannot read `" + path + "`", -1});
    return facts;
  }
  HeaderReaderRun(*unit, path, declarations, facts, found).run();
  if (names != nullptr) *names = std::move(found);
  if (!facts.problems.empty()) facts.functions.clear();
  return facts;
}

}  // namespace tdsl::codegen
