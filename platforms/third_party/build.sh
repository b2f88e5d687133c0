#!/usr/bin/env bash
# Builds XNNPACK and cpuinfo once per architecture, uninstrumented, for every preset to share:
#   build/third_party/src/<name>/        the pinned sources (pthreadpool and FXdiv are compiled by each build tree)
#   build/third_party/<arch>/include/    headers of all of them
#   build/third_party/<arch>/lib/        libXNNPACK.a libmicrokernels-prod.a libcpuinfo.a
# ARCH is the folder's name; what CC and CXX name compiles.
# A stamp keyed by the pinned commits and the flags makes a second call instant; a lock lets two configures race.
# usage: build.sh ARCH [CMAKE_ARGUMENT...]      environment: SKIFF_JOBS (default: all cores), SKIFF_SOURCE_CACHE
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../usage.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
[[ $# -ge 1 ]] || misused
arch=$1
shift
base=$root/build/third_party
sources=$base/src
out=$base/$arch

c_flags="-ffunction-sections -fdata-sections"
# GCC 12 leaves one accumulator of the FMA3 products on the stack (36 GFLOP/s on a Zen 3 instead of 96). Scheduling before
# registers are given out, which is off by default on x86, keeps all of them in registers.
if [[ $arch == x86_64* ]] && "${CC:-cc}" --version | grep -q "Free Software Foundation"; then
  c_flags+=" -fschedule-insns -fsched-pressure"
fi
flags=(
  -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  "-DCMAKE_C_FLAGS=$c_flags"
  "-DCMAKE_CXX_FLAGS=-ffunction-sections -fdata-sections"
  -DXNNPACK_LIBRARY_TYPE=static
  -DXNNPACK_BUILD_ALL_MICROKERNELS=OFF
  -DXNNPACK_BUILD_TESTS=OFF
  -DXNNPACK_BUILD_BENCHMARKS=OFF
  -DXNNPACK_ENABLE_KLEIDIAI=OFF
  "-DCMAKE_PROJECT_XNNPACK_INCLUDE=$here/in_xnnpack.cmake"
  "$@"
)
key=$( (grep -hv '^#' "$here/versions.txt" "$here/in_xnnpack.cmake"; printf '%s\n' "${CC:-cc}" "${flags[@]##*/}") | sha256sum | cut -d' ' -f1)

is_current() { [[ -f $out/stamp && $(<"$out/stamp") == "$key" ]]; }
is_current && exit 0

mkdir -p "$base"
exec 9>"$base/lock"
flock 9
is_current && exit 0
echo "building XNNPACK for $arch: once, a few minutes" >&2

bash "$here/fetch.sh" "$sources"
rm -rf "$out"
mkdir -p "$out/include" "$out/lib"

if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$root
  flags+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
# Ninja's lines are [done/all] and what it does.
tell_progress() {
  local line tenths told=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    tenths=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    ((tenths > told)) || continue
    told=$tenths
    echo "XNNPACK for $arch: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} files" >&2
  done
}
if ! {
  cmake -S "$sources/xnnpack" -B "$out/build" -G Ninja "${flags[@]}" \
    -DCPUINFO_SOURCE_DIR="$sources/cpuinfo" -DPTHREADPOOL_SOURCE_DIR="$sources/pthreadpool" \
    -DFXDIV_SOURCE_DIR="$sources/fxdiv" -DFP16_SOURCE_DIR="$sources/fp16" &&
    cmake --build "$out/build" -j "${SKIFF_JOBS:-$(nproc)}" --target XNNPACK microkernels-prod cpuinfo
} 2>&1 | tee "$out/log" | tell_progress; then
  tail -n 30 "$out/log" >&2
  echo "build.sh: building XNNPACK for $arch failed; the whole log is $out/log" >&2
  exit 1
fi

find "$out/build" -name '*.a' \( -name 'libXNNPACK*' -o -name 'libmicrokernels*' -o -name 'libcpuinfo*' \) \
  -exec cp {} "$out/lib/" \;
for name in xnnpack pthreadpool cpuinfo fxdiv fp16; do
  cp -r "$sources/$name/include/." "$out/include/"
done
for library in XNNPACK microkernels-prod cpuinfo; do
  [[ -f $out/lib/lib$library.a ]] || { echo "build.sh: lib$library.a was not built; see $out/log" >&2; exit 1; }
done
rm -rf "$out/build"
echo "$key" >"$out/stamp"
