#include "runtime/app/run/program_info.h"

#include <algorithm>
#include <set>

#include "runtime/io/file_kind.h"

namespace tdsl::rt {

ProgramInfo::ProgramInfo() = default;
ProgramInfo::ProgramInfo(const char* name, const char* source_file, const char* version) {
  declaration_.name = name;
  declaration_.source_file = source_file;
  declaration_.version = version;
}
ProgramInfo::ProgramInfo(ProgramInfo&&) noexcept = default;
ProgramInfo& ProgramInfo::operator=(ProgramInfo&&) noexcept = default;
ProgramInfo::~ProgramInfo() = default;

void ProgramInfo::file(const char* name) { files_.push_back(name); }

void ProgramInfo::param(const char* name, ElementType type, const char* default_text) {
  ParamDeclaration& declared = declaration_.params.emplace_back();
  declared.name = name;
  declared.type = type;
  if (default_text != nullptr) declared.default_text = default_text;
}

void ProgramInfo::input(const char* name, const char* type_text, ElementType type,
                        std::initializer_list<const char*> binds, int line, std::initializer_list<bool> sparse) {
  declaration_.inputs.push_back({name, type_text});
  inputs_.push_back({name, type, {binds.begin(), binds.end()}, line, sparse});
}

bool ProgramInfo::is_sparse(std::string_view input) const {
  const auto found = std::ranges::find_if(inputs_, [&](const InputDeclaration& i) { return i.name == input; });
  return found != inputs_.end() && std::ranges::count(found->sparse, true) > 0;
}

void ProgramInfo::output(const char* name, const char* type_text, int line) {
  declaration_.outputs.push_back({name, type_text});
  output_lines_.push_back(line);
}

void ProgramInfo::series(const char* name, const char* type_text, int line) {
  output(name, type_text, line);
  declaration_.outputs.back().series = true;
}

int ProgramInfo::line_of_output(const std::string& name) const {
  for (std::size_t k = 0; k < output_lines_.size(); ++k) {
    if (declaration_.outputs[k].name == name) return output_lines_[k];
  }
  return 0;
}

namespace {

/// Rank of a type text, such as `f64[n, max(n, m)]`.
std::size_t rank_of(const std::string& type_text) {
  std::size_t rank = 0;
  int depth = 0;
  for (const char c : type_text) {
    if (c == '[' || c == '(') rank += ++depth == 1 ? 1 : 0;
    if (c == ']' || c == ')') --depth;
    if (c == ',' && depth == 1) ++rank;
  }
  return rank;
}

}  // namespace

void ProgramInfo::require_writable(const std::string& output, const std::string& path) const {
  const auto found =
      std::ranges::find_if(declaration_.outputs, [&](const TensorDeclaration& o) { return o.name == output; });
  TDSL_CHECK(found != declaration_.outputs.end(), "the program has the output " + output);
  const std::size_t rank = rank_of(found->type_text);
  found->series ? require_series_file(path, rank - 1) : require_writable_rank(path, rank);
}

SourceLine ProgramInfo::at(int place) const {
  return files_.empty() ? SourceLine{declaration_.source_file, line_in(place)} : place_in(files_, place);
}

void ProgramInfo::dimensions(std::initializer_list<const char*> names) {
  declaration_.dimensions.assign(names.begin(), names.end());
}

void ProgramInfo::computes(int place, std::initializer_list<int> inner) {
  inner_places_[place].assign(inner.begin(), inner.end());
}

std::vector<int> ProgramInfo::inner_places(int place) const {
  std::set<int> all;
  for (const auto& [of, inner] : inner_places_) {
    if (place == 0 || place == of) all.insert(inner.begin(), inner.end());
  }
  return {all.begin(), all.end()};
}

void ProgramInfo::chooses() { has_choices_ = true; }

}  // namespace tdsl::rt
