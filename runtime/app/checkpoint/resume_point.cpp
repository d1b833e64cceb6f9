#include "runtime/app/checkpoint/resume_point.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/app/run/launch_check.h"
#include "runtime/app/session/together.h"
#include "runtime/base/number_format.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/text.h"
#include "runtime/io/checksum.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/open_file.h"
#include "runtime/io/text_file.h"
#include "runtime/message_id.h"
#include "runtime/plan/schedules/schedule.h"

namespace tdsl::rt {

using checkpoint::Facts;
using checkpoint::Folder;
using checkpoint::Manifest;

namespace {

constexpr Index kSamples = 16, kSampleBytes = Index{64} << 10;

std::string hexadecimal(std::uint64_t bits) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(bits));
  return text.data();
}

/// Size and hash of 16 pieces of 64 KiB, including the first and the last.
std::string file_fact(const std::string& path) {
  const OpenFile file(path);
  Checksum sum;
  std::vector<std::byte> piece;
  const Index last = std::max<Index>(0, file.bytes() - kSampleBytes);
  for (Index k = 0; k < kSamples; ++k) {
    const Index from = last / (kSamples - 1) * k;
    piece.resize(static_cast<std::size_t>(std::min(kSampleBytes, file.bytes() - from)));
    read_at(file.fd(), piece, k + 1 == kSamples ? last : from, path);
    sum.add(piece);
  }
  return std::to_string(file.bytes()) + " bytes, hash " + hexadecimal(sum.value());
}

/// The same for a directory of tiles: all sizes, and the contents of 16 of its files.
std::string directory_fact(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->is_regular_file(error)) files.push_back(at->path().string());
  }
  if (error) throw RunError("cannot read `" + path + "`: " + error.message() + " [cannot-read]");
  std::ranges::sort(files);
  Index bytes = 0;
  Checksum sum;
  for (std::size_t k = 0; k < files.size(); ++k) {
    const auto size = static_cast<Index>(std::filesystem::file_size(files[k], error));
    const bool sampled = files[k].ends_with("/.zarray") || k % (files.size() / kSamples + 1) == 0;
    const std::string fact =
        files[k].substr(path.size()) + " " + (sampled ? file_fact(files[k]) : std::to_string(size)) + "\n";
    sum.add(std::as_bytes(std::span(fact)));
    bytes += size;
  }
  return std::to_string(bytes) + " bytes in " + std::to_string(files.size()) + " files, hash " +
         hexadecimal(sum.value());
}

std::string input_fact(const std::string& path) {
  if (const std::string file = file_behind(path); file != path) return file_fact(file) + " " + path.substr(file.size());
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? directory_fact(path) : file_fact(path);
}

std::string text_of(const ScalarValue& value) {
  return std::visit([](auto x) { return format_scalar(x); }, value);
}

/// The default, as if it had been given on the command line.
std::string default_of(const ParamDeclaration& param) {
  if (!param.default_text) return "none";
  try {
    return text_of(parse_scalar(param.type, *param.default_text, param.name));
  } catch (const RunError&) { return *param.default_text; }
}

template <class T>
std::string joined(const std::vector<T>& list) {
  std::string text;
  for (const T& item : list) {
    if constexpr (std::is_same_v<T, std::string>)
      text += item + " ";
    else
      text += std::to_string(item) + " ";
  }
  return text;
}

}  // namespace

Facts identity_of(const ProgramInfo& info, const AppOptions& options) {
  const LaunchFacts here = launch_facts("");
  Facts facts{{"program", info.declaration().name + " " + hexadecimal(here.content)}};
  for (const ParamDeclaration& param : info.declaration().params) {
    const auto given = options.params.find(param.name);
    facts.emplace_back("param " + param.name,
                       given == options.params.end() ? default_of(param) : text_of(given->second));
  }
  for (const auto& [name, path] : options.inputs) facts.emplace_back("input " + name, input_fact(path));
  for (const auto& [name, extent] : options.dimensions) facts.emplace_back("dimension " + name, std::to_string(extent));
  for (const auto& [name, path] : options.outputs) facts.emplace_back("output " + name, "a file");
  facts.emplace_back("--seed", std::to_string(options.seed));
  facts.emplace_back("--factorise", std::to_string(static_cast<int>(options.factorise)));
  facts.emplace_back("--reproducible", options.reproducible ? "given" : "not given");
  return facts;
}

Facts setting_of(const plan::PlanInputs& inputs, const AppOptions& options) {
  std::string pictures;
  for (const PictureRequest& picture : options.pictures) pictures += (pictures.empty() ? "" : " ") + picture.name;
  return {{"ranks", std::to_string(inputs.ranks)},
          {"ranks of a node", std::to_string(inputs.ranks_per_node)},
          {"threads", std::to_string(inputs.threads)},
          {"processors", inputs.alike ? "alike" : "different"},
          {"--tile", joined(inputs.tile)},
          {"--memory", std::to_string(inputs.memory)},
          {"--window", std::to_string(inputs.window)},
          {"--schedule", plan::name_of(options.schedule)},
          {"--place", joined(options.place)},
          {"--picture", pictures},
          {"--use-plan", options.use_plan_file.value_or("")}};
}

namespace {

/// A checkpoint could not be read because of a system error; its contents may be intact.
std::string unreadable(const std::string& reason, const std::string& path) {
  return without_id(reason) + "; `" + path +
         "` may be good, so no older checkpoint is used: start again when it can be read, or remove it [checkpoint]";
}

/// Iterates over the checkpoints on rank 0, newest first.
class Candidates {
 public:
  Candidates(std::string directory, const Facts& identity) : folder_(std::move(directory)), identity_(identity) {
    numbers_ = folder_.numbers();
    found_any_ = !numbers_.empty();
  }

  /// Path and manifest of the next readable checkpoint; empty at the end.
  std::pair<std::string, std::string> next() {
    while (!numbers_.empty()) {
      const std::string path = folder_.checkpoint(numbers_.back());
      numbers_.pop_back();
      if (std::string text = manifest_of(path); !text.empty()) return {path, std::move(text)};
    }
    return {};
  }
  void pass_over(const std::string& reason) const {
    std::fprintf(stderr, "warning: %s; %s [checkpoint]\n", reason.c_str(),
                 numbers_.empty() ? "there is no older checkpoint" : "trying the previous checkpoint");
  }
  [[nodiscard]] bool found_any() const { return found_any_; }

 private:
  /// The manifest's text; empty if it is damaged and skipped.
  [[nodiscard]] std::string manifest_of(const std::string& path) const {
    const std::string file = Folder::manifest(path);
    std::string text;
    try {
      checkpoint::require_file(file);
      text = read_text_file(file);
    } catch (const checkpoint::Damaged& damage) {
      pass_over(damage.what());
      return {};
    } catch (const RunError& error) { throw RunError(unreadable(error.what(), path)); }
    try {
      require_same(path, checkpoint::parse_manifest(text));
    } catch (const checkpoint::OtherVersion& version) {
      throw RunError("`" + path + "` was written by another version of TDSL: " + version.what() + " [checkpoint]",
                     ExitCode::kUsage);
    } catch (const checkpoint::Damaged& damage) {
      pass_over("`" + file + "`: " + damage.what());
      return {};
    }
    return text;
  }
  void require_same(const std::string& path, const Manifest& manifest) const {
    const std::string differs = checkpoint::difference(manifest.identity, identity_);
    if (!differs.empty())
      throw RunError("`" + path + "` was written by a different run: " + differs + " [checkpoint]", ExitCode::kUsage);
  }

  Folder folder_;
  const Facts& identity_;
  std::vector<std::int64_t> numbers_;
  bool found_any_ = false;
};

/// A rank's result of checking its share of the files.
struct Finding {
  enum Kind : char { kGood = 'g', kDamaged = 'd', kAbsent = 'a', kTrouble = 't' };
  Kind kind = kGood;
  std::string text;  ///< the damage, or the path of a missing file
};

Finding verify_share(const std::string& path, const Manifest& manifest, int rank, int ranks) {
  try {
    std::vector<std::int64_t> places{0};
    for (const checkpoint::Base& base : manifest.bases) places.push_back(base.number);
    const auto name_of = [&manifest](plan::TensorId id) {
      const checkpoint::LiveTensor* const tensor = manifest.find(id);
      return tensor == nullptr ? std::string() : tensor->known.desc.name;
    };
    int turn = 0;
    for (const std::int64_t place : places) {
      const std::vector<checkpoint::FileSeal>& files = manifest.files_of(place);
      for (std::size_t k = 0; k < files.size(); ++k) {
        if (turn++ % ranks != rank) continue;
        const std::string file = Folder::rank_file(Folder::files_of(path, place), k);
        checkpoint::require_file(file);
        checkpoint::RankFileReader(file, files[k]).verify(name_of);
      }
    }
  } catch (const checkpoint::Absent& absent) {
    return {Finding::kAbsent, absent.path()};
  } catch (const checkpoint::Damaged& damage) {
    return {Finding::kDamaged, damage.what()};
  } catch (const std::bad_alloc&) { return {Finding::kTrouble, "out of memory"}; } catch (const std::exception& error) {
    return {Finding::kTrouble, error.what()};
  }
  return {};
}

/// A rank that sees a file missing on this rank, if any.
std::optional<int> seen_by(World& world, const std::string& path) {
  std::error_code error;
  const std::vector<std::string> answers = world.access()->all_gather(std::filesystem::exists(path, error) ? "y" : "n");
  const auto found = std::ranges::find(answers, "y");
  return found == answers.end() ? std::nullopt : std::optional(static_cast<int>(found - answers.begin()));
}

/// Describes the damage found by any rank; empty if none. Throws the same RunError on all ranks if it cannot be
/// determined.
std::string damage_of(World& world, const std::string& path, const Finding& mine) {
  const std::vector<std::string> findings = world.access()->all_gather(std::string(1, mine.kind) + mine.text);
  const auto first = [&findings](Finding::Kind kind) {
    return static_cast<int>(std::ranges::find(findings, static_cast<char>(kind),
                                              [](const std::string& finding) { return finding.front(); }) -
                            findings.begin());
  };
  const auto text = [&findings](int rank) { return findings[static_cast<std::size_t>(rank)].substr(1); };
  if (const int rank = first(Finding::kDamaged); rank < world.size()) return text(rank);
  if (const int rank = first(Finding::kTrouble); rank < world.size()) {
    throw RunError(
        unreadable((world.size() > 1 ? "rank " + std::to_string(rank) + ": " : std::string()) + text(rank), path));
  }
  for (int rank = 0; rank < world.size(); ++rank) {
    if (findings[static_cast<std::size_t>(rank)].front() != Finding::kAbsent) continue;
    const std::optional<int> other = seen_by(world, text(rank));
    if (!other) return checkpoint::Absent(text(rank)).what();
    throw RunError(unreadable("rank " + std::to_string(rank) + " does not find `" + text(rank) + "`, which rank " +
                                  std::to_string(*other) + " sees",
                              path));
  }
  return {};
}

}  // namespace

std::optional<ResumePoint> find_resume_point(World& world, const std::string& directory, const Facts& identity,
                                             const Facts& setting, bool quiet) {
  std::optional<Candidates> candidates;
  while (true) {
    std::string path, text;
    on_first_rank(world, {&path, &text}, [&] {
      if (!candidates) candidates.emplace(directory, identity);
      std::tie(path, text) = candidates->next();
      if (path.empty() && candidates->found_any())
        throw RunError("`" + directory + "`: none of its checkpoints can be used [checkpoint]");
      if (path.empty() && !quiet)
        std::fprintf(stderr, "no checkpoint in `%s` yet: starting from the beginning\n", directory.c_str());
    });
    if (path.empty()) return std::nullopt;
    Manifest manifest = checkpoint::parse_manifest(text);
    const std::string damage = damage_of(world, path, verify_share(path, manifest, world.rank(), world.size()));
    if (damage.empty()) {
      const bool same = checkpoint::difference(manifest.setting, setting).empty();
      return ResumePoint{std::make_shared<const StoredBlocks>(path, std::move(manifest)), same, {}};
    }
    if (world.rank() == 0) candidates->pass_over(damage);
  }
}

}  // namespace tdsl::rt
