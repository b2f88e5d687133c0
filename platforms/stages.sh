# Sourced by platforms/test: what each stage of the gate does.
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

build_and_test() {  # preset [test...: build and run only these]
  local preset=$1 only=()
  shift
  build "$preset" "$@"
  [[ $# == 0 ]] || only=(-R "^($(IFS='|'; echo "$*"))(\.part[0-9])?\$")
  ctest --preset "$preset" -j "$(nproc)" "${only[@]}"
}

print_size() {  # strip_command program
  local stripped
  stripped=$(mktemp)
  "$1" -o "$stripped" "$2"
  printf '%s: %d bytes stripped\n' "$2" "$(stat -c %s "$stripped")"
  rm -f "$stripped"
}

# First, because it is quick: what it says, it says of the whole tree (format) and of what changed last (clang-tidy).
stage_lint() { platforms/lint; }

# The benchmarks are compiled, so that they stay usable; nothing runs them here.
stage_release() {
  cmake --preset release -DSKIFF_BUILD_BENCHMARKS=ON >build/release.configure.log
  build_and_test release
}
make_and_try_wheels() {  # [architecture: another than this machine's]
  local environment=build/python_env${1:+-$1}
  platforms/python/environment "$@"
  if [[ ! -x $environment/bin/python3 ]]; then
    echo "SKIPPED: the wheels need $environment, which platforms/python/environment could not make"
    return 0
  fi
  rm -f build/wheels/*"_${1:-$(uname -m)}.whl"
  platforms/wheel ${1:+--arch "$1"}
  platforms/python/try_wheels ${1:+--arch "$1"}
}
# The Python wheels as who installs them has them. Behind release, whose objects they are made of.
stage_wheel() { make_and_try_wheels; }
# For 64-bit Arm: all of the converter by the cross compiler, tried under emulation.
stage_wheel_aarch64() { make_and_try_wheels aarch64; }

# The libraries by their own tests. The tool's, which take long to compile, those of Sessions on the GPU and the rest are for
# the night.
stage_asan() {
  build_and_test asan eager_test graph_test import_test onnx_plan_test passes_test trace_test runtime_test hard_conditions_test \
    c_api_static_test start_up_test delegates_unit_test delegates_conformance_test delegates_failure_test \
    delegates_vulkan_conformance_test quantized_test quantize_test mutate_skiff_test mutate_onnx_test open_shapes_fuzz_test random_program_test \
    fuzz_skiff fuzz_c_api fuzz_cache fuzz_onnx fuzz_tflite fuzz_text
}
# The Python package, in a tree of its own: the interpreter loads the sanitizer's library first.
stage_asan_python() {
  cmake --preset asan -B build/asan_python -DSKIFF_PYTHON=ON -DSKIFF_BUILD_SAMPLES=OFF >build/asan_python.configure.log
  cmake --build build/asan_python --target skiff_python -- --quiet
  ctest --test-dir build/asan_python -L python --output-on-failure --no-tests=error -j "$(nproc)"
}
# XNNPACK with both sanitizers in it, which the preset fuzz alone builds: it reads past its operands where it may, and here
# where it may not.
stage_asan_xnnpack() {
  platforms/setup fuzz
  build fuzz delegates_conformance_test delegates_unit_test
  ctest --test-dir build/fuzz -R '^delegates_(conformance|unit)_test(\.part[0-9])?$' --output-on-failure --no-tests=error -j "$(nproc)"
}
# The tests in which threads meet; the others run one thread each.
stage_tsan() {
  build_and_test tsan runtime_test start_up_test delegates_unit_test delegates_conformance_test c_api_static_test
}

skiff=build/release/converter/cli/skiff

# The sample model on emulated Arm, against PyTorch's own outputs.
run_emulated() {  # preset emulator...
  local preset=$1 case backend
  shift
  local work=build/$preset/emulated
  build release skiff
  mkdir -p "$work"
  "$skiff" convert samples/characters/characters.onnx -o "$work/characters.skiff"
  for case in samples/characters/reference/*; do
    for backend in xnnpack reference; do
      "$@" "build/$preset/samples/run_model/skiff-run" "$work/characters.skiff" --backend "$backend" \
        --input "image=$case/input_image.npy" --expect "logits=$case/output_logits.npy"
    done
  done
}

stage_aarch64() {
  build_and_test linux-aarch64
  run_emulated linux-aarch64 qemu-aarch64-static -L /usr/aarch64-linux-gnu
  print_size aarch64-linux-gnu-strip build/linux-aarch64/samples/run_model/skiff-run
}

# The shaders are the same on all CPUs, and are left out.
stage_armv7() {
  build_and_test linux-armv7 eager_test runtime_test hard_conditions_test delegates_unit_test delegates_conformance_test \
    fuzz_skiff fuzz_c_api fuzz_cache
  build linux-armv7 skiff-run
  run_emulated linux-armv7 qemu-arm-static -L /usr/arm-linux-gnueabihf
  print_size arm-linux-gnueabihf-strip build/linux-armv7/samples/run_model/skiff-run
}

# Compiles the converter in large pieces, as nothing else does.
stage_demo() { platforms/demo; }
# Assertions of the standard library, and no inlining that hides two definitions of one name.
stage_debug() { build_and_test debug; }
stage_clang() { build_and_test clang; }
# The links compare the types and functions that these programs' files define; nothing is run.
stage_odr() {
  build odr skiff skiff_shared graph_test import_test passes_test trace_test runtime_test delegates_unit_test \
    delegates_conformance_test
}

# What takes too long for every change: clang-tidy over all sources, other compilers and settings, all that runs with the
# address sanitizer, the kernels of all tiers of Arm CPUs, Python's wheels, Java and shaders on an emulated one.
stage_nightly() {
  platforms/lint --all
  stage_demo
  stage_debug
  stage_clang
  stage_odr
  build_and_test asan
  stage_asan_python
  stage_asan_xnnpack
  build linux-aarch64
  ctest --test-dir build/linux-aarch64 -L nightly --output-on-failure --no-tests=error -j "$(nproc)"
  build release
  ctest --test-dir build/release -L nightly --output-on-failure --no-tests=error -j "$(nproc)"
  stage_wheel_aarch64
  platforms/arm64_java_test
  platforms/arm64_vulkan_test
}

stage_boot() { platforms/boot_test; }
# Takes tools from an older Debian, which not every mirror keeps.
stage_apk() { samples/android/assemble; }

# Not part of a plain run: three builds of the runtime, and their sizes against the limits.
stage_size() {
  build release skiff
  platforms/size --limits
}
