#include "runtime/app/report/profile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "runtime/base/number_format.h"

namespace tdsl::rt {

namespace {

struct SiteSums {
  double site = 0;
  double wall = 0, kernel = 0, waiting = 0, disk = 0, flops = 0, bytes = 0, read = 0, written = 0;
};

ProfileLine& line_of(std::vector<ProfileLine>& lines, SourceLine place) {
  const auto found = std::ranges::find(lines, place, &ProfileLine::place);
  if (found != lines.end()) return *found;
  ProfileLine& line = lines.emplace_back();
  line.place = place;
  return line;
}

/// Truncation length of computed names in the table.
constexpr std::size_t kNamesShown = 40;

std::string shown_names(const ProfileLine& line) {
  if (!line.place.known()) return "(no step open: planning, reading, printing)";
  std::string text;
  for (const std::string& name : line.names) {
    if (text.size() + name.size() > kNamesShown) return text + (text.empty() ? name.substr(0, kNamesShown) : "") + " …";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 256> text;
  const int length = std::snprintf(text.data(), text.size(), format, values...);
  return {text.data(), std::min(static_cast<std::size_t>(std::max(length, 0)), text.size() - 1)};
}

}  // namespace

Profile gather_profile(World& world, const std::vector<SiteStatistics>& sites, const Front::Seconds& between,
                       int threads, const std::function<SourceLine(int)>& place) {
  std::vector<SiteSums> mine{{Front::kNowhere, between.wall, 0, between.waiting, between.disk, 0, 0, 0, 0}};
  for (const SiteStatistics& s : sites) {
    mine.push_back({static_cast<double>(s.site), s.front.wall, s.kernel_seconds, s.front.waiting, s.front.disk, s.flops,
                    static_cast<double>(s.bytes_received), static_cast<double>(s.disk_read),
                    static_cast<double>(s.disk_written)});
  }
  const auto gathered = world.access()->all_gather_values<SiteSums>(mine);
  Profile profile;
  profile.ranks = world.size();
  profile.threads = threads;
  std::map<int, std::size_t> lines;  // by site; equal on all ranks
  (void)line_of(profile.lines, {});
  lines[Front::kNowhere] = 0;
  for (const SiteStatistics& s : sites) {
    ProfileLine& line = line_of(profile.lines, place(s.line));
    lines[s.site] = static_cast<std::size_t>(&line - profile.lines.data());
    if (std::ranges::find(line.names, s.name) == line.names.end()) line.names.push_back(s.name);
  }
  const double per_rank = 1.0 / world.size();
  const double per_thread = per_rank / threads;
  for (const std::vector<SiteSums>& theirs : gathered) {
    for (const SiteSums& s : theirs) {
      ProfileLine& line = profile.lines[lines.at(static_cast<int>(s.site))];
      line.wall += s.wall * per_rank;
      line.kernel += s.kernel * per_thread;
      line.waiting += s.waiting * per_thread;
      line.disk += s.disk * per_thread;
      line.flops += s.flops;
      line.bytes += s.bytes;
      line.read += s.read;
      line.written += s.written;
    }
  }
  std::ranges::stable_sort(profile.lines, std::greater<>{}, &ProfileLine::wall);
  return profile;
}

std::string profile_text(const Profile& profile) {
  double all = 0;
  bool several_files = false, disk = false;
  std::string_view file;
  for (const ProfileLine& line : profile.lines) {
    all += line.wall;
    disk = disk || line.read > 0 || line.written > 0;
    if (!line.place.known()) continue;
    several_files = several_files || (!file.empty() && file != line.place.file);
    file = line.place.file;
  }
  std::string text =
      formatted("profile of %s: %.3f s on %d rank%s x %d thread%s; kernel and waiting seconds are per thread\n",
                profile.program.c_str(), all, profile.ranks, profile.ranks == 1 ? "" : "s", profile.threads,
                profile.threads == 1 ? "" : "s");
  text += std::string("    line    wall s     %  kernel s waiting s  GFLOP/s    received") +
          (disk ? "  disk s        read     written" : "") + "  what\n";
  for (const ProfileLine& line : profile.lines) {
    const std::string number = line.place.known() ? std::to_string(line.place.line) : "-";
    text += formatted("%8s %9.3f %5.1f %9.3f %9.3f %8.1f %11s", number.c_str(), line.wall,
                      all > 0 ? 100 * line.wall / all : 0.0, line.kernel, line.waiting,
                      line.kernel > 0 ? line.flops / line.kernel * 1e-9 : 0.0,
                      format_bytes(static_cast<Index>(line.bytes)).c_str());
    if (disk) {
      text += formatted("%8.3f %11s %11s", line.disk, format_bytes(static_cast<Index>(line.read)).c_str(),
                        format_bytes(static_cast<Index>(line.written)).c_str());
    }
    text += "  " + shown_names(line) +
            (several_files && line.place.known() ? " (" + std::string(line.place.file) + ")" : "") + "\n";
  }
  return text;
}

}  // namespace tdsl::rt
