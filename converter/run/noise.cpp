#include "run/noise.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "graph/counted.h"

namespace skiff {
namespace {

/// Beyond these a difference of a few percent between two measurements means nothing.
constexpr double kWideSpread = 0.1;
constexpr double kBusyOthers = 0.1;
constexpr double kMuchStolen = 0.01;
constexpr double kOtherFrequency = 0.05;

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

double FastestMhz() {
  double fastest = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu", error)) {
    std::ifstream file(entry.path() / "cpufreq" / "scaling_cur_freq");
    double khz = 0;
    if (file >> khz) fastest = std::max(fastest, khz / 1000);
  }
  return fastest;
}

bool ChangedFrequency(const Noise& noise) {
  return noise.mhz_before > 0 && noise.mhz_after > 0 &&
         std::abs(noise.mhz_after / noise.mhz_before - 1) > kOtherFrequency;
}

bool IsWide(double spread, size_t runs) { return runs >= kRunsToTell && spread > kWideSpread; }

}  // namespace

std::optional<CpuTicks> ParseCpuTicks(std::string_view stat) {
  std::istringstream line{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  line >> name;
  if (name != "cpu") return {};
  enum Column { kUser, kNice, kSystem, kIdle, kWaiting, kInterrupts, kSoftInterrupts, kStolen, kColumns };
  std::array<uint64_t, kColumns> columns{};
  for (uint64_t& column : columns) {
    if (!(line >> column)) return {};
  }
  CpuTicks ticks;
  for (const uint64_t column : columns) ticks.all += column;
  ticks.stolen = columns[kStolen];
  ticks.busy = ticks.all - ticks.stolen - columns[kIdle] - columns[kWaiting];
  return ticks;
}

Noise NoiseBetween(const CpuTicks& begin, const CpuTicks& end, double own, int cpus) {
  Noise noise;
  const auto all = static_cast<double>(end.all - begin.all);
  // What a tick is among too few of them is chance.
  if (cpus < 1 || all < 10.0 * cpus) return noise;
  noise.cpus = cpus;
  noise.others = std::max(static_cast<double>(end.busy - begin.busy) - own, 0.0) / all * cpus;
  noise.stolen = static_cast<double>(end.stolen - begin.stolen) / all;
  return noise;
}

NoiseMeter::Reading NoiseMeter::Take() {
  Reading reading;
  reading.ticks = ParseCpuTicks(ContentOf("/proc/stat"));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  reading.own_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  reading.preempted = static_cast<uint64_t>(usage.ru_nivcsw);
  reading.mhz = FastestMhz();
  return reading;
}

NoiseMeter::NoiseMeter() : begin_(Take()) {}

Noise NoiseMeter::Read() const {
  const Reading end = Take();
  Noise noise;
  if (begin_.ticks && end.ticks) {
    const double own = (end.own_seconds - begin_.own_seconds) * static_cast<double>(sysconf(_SC_CLK_TCK));
    noise = NoiseBetween(*begin_.ticks, *end.ticks, own, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  }
  noise.preempted = end.preempted - begin_.preempted;
  noise.mhz_before = begin_.mhz;
  noise.mhz_after = end.mhz;
  return noise;
}

bool IsNoisy(const Noise& noise, double spread, size_t runs) {
  return IsWide(spread, runs) || noise.others > kBusyOthers || noise.stolen > kMuchStolen ||
         ChangedFrequency(noise);
}

std::string NoiseText(const Noise& noise, double spread, size_t runs) {
  const bool noisy = IsNoisy(noise, spread, runs);
  if (!noisy && runs < kRunsToTell)
    return fmt::format("{} {} too few to tell; {} are enough", Counted(runs, "run"), runs == 1 ? "is" : "are",
                       kRunsToTell);
  if (!noisy) return fmt::format("quiet (p10 to p90 within {:.1f} %)", 100 * spread);
  std::vector<std::string> found;
  if (IsWide(spread, runs)) found.push_back(fmt::format("p10 to p90 are {:.0f} % apart", 100 * spread));
  if (noise.others > kBusyOthers)
    found.push_back(fmt::format("other programs kept {:.1f} of {} CPUs busy", noise.others, noise.cpus));
  if (noise.stolen > kMuchStolen)
    found.push_back(
        fmt::format("{:.1f} % of the CPU time went to other virtual machines", 100 * noise.stolen));
  if (noise.preempted > 0) found.push_back("interrupted " + Counted(noise.preempted, "time"));
  if (ChangedFrequency(noise))
    found.push_back(
        fmt::format("the clock went from {:.0f} to {:.0f} MHz", noise.mhz_before, noise.mhz_after));
  return fmt::format("noisy: {}; compare minima, or measure again", fmt::join(found, ", "));
}

}  // namespace skiff
