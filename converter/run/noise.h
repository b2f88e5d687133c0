/// What else the machine did while something was measured, by the counters of the operating system (Linux:
/// the first line of /proc/stat, getrusage(2), and cpufreq below /sys/devices/system/cpu).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skiff {

/// Between two readings.
struct Noise {
  int cpus = 0;            ///< 0: the system does not tell, nor how busy they were.
  double others = 0;       ///< CPUs that other programs kept busy, on average.
  double stolen = 0;       ///< The share of all CPU time that the host of a virtual machine gave to others.
  uint64_t preempted = 0;  ///< How often the system took a CPU from this program.
  double mhz_before = 0;   ///< Of the fastest CPU; 0: the system does not tell.
  double mhz_after = 0;
};

/// Since boot, in clock ticks of all CPUs together.
struct CpuTicks {
  uint64_t busy = 0;  ///< Stolen ones are not among them.
  uint64_t stolen = 0;
  uint64_t all = 0;
};

/// Of the text of /proc/stat (proc(5)); nothing where its first line is not that.
std::optional<CpuTicks> ParseCpuTicks(std::string_view stat);

/// What others did between two readings, in which this program used `own` ticks. Nothing where they lie too
/// close together to tell.
Noise NoiseBetween(const CpuTicks& begin, const CpuTicks& end, double own, int cpus);

/// Begins when it is made.
class NoiseMeter {
 public:
  NoiseMeter();
  Noise Read() const;

 private:
  struct Reading {
    std::optional<CpuTicks> ticks;
    double own_seconds = 0;
    uint64_t preempted = 0;
    double mhz = 0;
  };
  static Reading Take();
  Reading begin_;
};

/// From so many runs on it shows how far they are apart.
inline constexpr size_t kRunsToTell = 10;

/// One line: "quiet", or what disturbed the measurement, or that there are too few runs to tell. `spread`:
/// from the tenth to the ninetieth percentile of the runs, as a share of their median.
std::string NoiseText(const Noise& noise, double spread, size_t runs);

/// What the line says is noise.
bool IsNoisy(const Noise& noise, double spread, size_t runs);

}  // namespace skiff
