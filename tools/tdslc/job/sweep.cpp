#include "tools/tdslc/job/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "runtime/check.h"
#include "runtime/message_id.h"
#include "tools/tdslc/job/text.h"

namespace tdsl::tools {

namespace {

/// Slurm allows 1001 array elements by default.
constexpr std::size_t kMostElements = 1000;

[[noreturn]] void sweep_error(const std::string& text, std::string_view id = "bad-option") {
  throw rt::RunError(rt::with_id(text, id), rt::ExitCode::kUsage);
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

bool gives(const std::vector<std::string>& arguments, const std::string& option) {
  return std::ranges::any_of(arguments,
                             [&](const std::string& a) { return a == option || a.starts_with(option + "="); });
}

/// A canonical path, equal for equal files as far as names show.
std::string plain_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);  // also for missing files
  return error ? std::filesystem::path(path).lexically_normal().string() : whole.string();
}

/// A file name that is unique to the element, such as `w-0.1.npy` for w.npy.
std::string named_after(const std::string& path, const SweepElement& element) {
  const std::filesystem::path p(path);
  std::string name = p.stem().string();
  for (const auto& [key, value] : element.values) name += "-{" + key + "}";
  return (p.parent_path() / (name + p.extension().string())).string();
}

}  // namespace

Sweep parse_sweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    sweep_error(fmt::format("--sweep {}: NAME=VALUE,VALUE… is expected", text));
  Sweep sweep{text.substr(0, equals), {}};
  for (const std::string_view value : parts_of(std::string_view(text).substr(equals + 1), ',')) {
    if (value.empty()) sweep_error(fmt::format("--sweep {}: an empty value", text));
    if (std::ranges::find(sweep.values, value) != sweep.values.end())
      sweep_error(fmt::format("--sweep {}: {} twice", text, value));
    sweep.values.emplace_back(value);
  }
  return sweep;
}

std::vector<SweepElement> sweep_elements(const std::vector<Sweep>& sweeps, const std::vector<std::string>& arguments) {
  std::vector<SweepElement> elements{{arguments, {}}};
  std::set<std::string> names;
  for (const Sweep& sweep : sweeps) {
    if (!names.insert(sweep.name).second) sweep_error(fmt::format("--sweep {}: twice", sweep.name));
    if (gives(arguments, "--" + sweep.name)) sweep_error(fmt::format("--{} is given, and swept as well", sweep.name));
    if (elements.size() * sweep.values.size() > kMostElements)
      sweep_error(fmt::format("--sweep: more than {} elements", kMostElements));
    std::vector<SweepElement> more;
    for (const SweepElement& element : elements) {
      for (const std::string& value : sweep.values) {
        more.push_back(element);
        for (std::string& argument : more.back().arguments) replace_all(argument, "{" + sweep.name + "}", value);
        more.back().arguments.insert(more.back().arguments.end(), {"--" + sweep.name, value});
        more.back().values.emplace_back(sweep.name, value);
      }
    }
    elements = std::move(more);
  }
  return elements;
}

void check_files(const std::vector<SweepElement>& elements, const std::vector<ElementFiles>& files) {
  std::map<std::string, std::size_t> writers;
  for (std::size_t k = 0; k < files.size(); ++k) {
    for (const auto& [option, path] : files[k].written) {
      const auto [known, first] = writers.emplace(plain_path(path), k);
      if (first || known->second == k) continue;
      sweep_error(fmt::format("--{} {}: elements {} and {} of the sweep write this file: name it {}", option, path,
                              known->second, k, named_after(path, elements[k])),
                  "file-clash");
    }
  }
  for (std::size_t k = 0; k < files.size(); ++k) {
    for (const auto& [option, path] : files[k].read) {
      const auto known = writers.find(plain_path(path));
      if (known == writers.end() || known->second == k) continue;
      sweep_error(fmt::format("--{} {}: element {} of the sweep reads this file, and element {} writes it", option,
                              path, k, known->second),
                  "file-clash");
    }
  }
}

}  // namespace tdsl::tools
