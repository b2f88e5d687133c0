# Sourced by the scripts beside it: answers --help, goes to the checkout's root, and defines how they build.
source "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build
# Checkouts in different folders share compiler results.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true

build() {  # preset [target...: only these]
  local preset=$1
  shift
  cmake --preset "$preset" >"build/$preset.configure.log" || { tail -n 40 "build/$preset.configure.log" >&2; return 1; }
  cmake --build --preset "$preset" ${1:+--target "$@"} -- --quiet
}
