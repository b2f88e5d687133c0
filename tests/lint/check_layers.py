"""Checks who includes whom (docs/architecture.md): usage: check_layers.py SOURCE_ROOT"""
import pathlib
import re
import sys

RUNTIME = {"runtime"}
CONVERTER_CORE = {"runtime", "converter/graph"}

# folder: what it may include, as folders or files relative to the source root. The longest matching folder counts.
ALLOWED = {
    "runtime/include": {"runtime/include", "runtime/ops"},  # ops: forward-declared types of delegate.h only
    "runtime/core": {"runtime/include", "runtime/core"},
    "runtime/ops": {"runtime/include", "runtime/core", "runtime/ops", "runtime/eager/kernels.h"},
    "runtime/plan": {"runtime/include", "runtime/core", "runtime/ops", "runtime/plan"},
    "runtime/eager": {"runtime/include", "runtime/core", "runtime/ops", "runtime/plan", "runtime/eager"},
    "runtime/format": {"runtime/include", "runtime/core", "runtime/ops", "runtime/plan", "runtime/format"},
    "runtime/session": RUNTIME,
    "runtime/image": {"runtime/include", "runtime/core", "runtime/image"},
    "runtime/signature": {"runtime/include", "runtime/core", "runtime/signature"},
    "delegates": {"runtime", "delegates"},
    "delegates/supports.h": {"runtime/include"},
    "delegates/xnnpack": {"runtime", "delegates/xnnpack"},
    "delegates/vulkan": {"runtime", "delegates/vulkan"},
    "delegates/xnnpack/kernels": {"runtime/include", "runtime/ops/ops.def", "delegates/xnnpack/kernels"},
    "delegates/xnnpack/weights": {"runtime", "delegates/xnnpack/weights", "delegates/xnnpack/lower/operator.h"},
    "delegates/xnnpack/lower": {"runtime", "delegates/xnnpack/lower", "delegates/xnnpack/kernels", "delegates/xnnpack/weights",
                                "delegates/xnnpack/build.h", "delegates/xnnpack/memory.h",
                                "delegates/xnnpack/quantized_support.h"},
    "delegates/vulkan/device": {"runtime", "delegates/vulkan/device", "delegates/vulkan/pipelines"},
    "delegates/vulkan/pipelines": {"runtime", "delegates/vulkan/device", "delegates/vulkan/pipelines"},
    "delegates/vulkan/program": {"runtime", "delegates/vulkan/device", "delegates/vulkan/pipelines", "delegates/vulkan/program"},
    "delegates/vulkan/lower": {"runtime", "delegates/vulkan/pipelines", "delegates/vulkan/program", "delegates/vulkan/lower"},
    "delegates/vulkan/segment": {"runtime", "delegates/vulkan"},
    "converter/graph": {"runtime", "converter/graph"},
    "converter/import": CONVERTER_CORE | {"converter/import"},
    "converter/passes": CONVERTER_CORE | {"converter/passes"},
    "converter/emit": CONVERTER_CORE | {"converter/emit"},
    "converter/trace": {"runtime", "converter", "delegates/include"},
    "converter/files": {"runtime", "converter/graph", "converter/import", "converter/emit", "converter/run/sizes.h",
                        "converter/files"},
    "converter/run": {"runtime", "delegates/include", "converter/graph", "converter/files", "converter/run"},
    "converter/parity": {"runtime", "converter/graph", "converter/convert.h", "converter/state.h", "converter/files", "converter/run",
                         "converter/parity"},
    "converter/report": {"runtime", "converter/graph", "converter/convert.h", "converter/run", "converter/report"},
    "converter/quantize": {"runtime", "converter/graph", "converter/passes", "converter/convert.h", "converter/files",
                           "converter/run", "converter/quantize"},
    "converter/tune": {"runtime", "delegates", "converter/graph", "converter/convert.h", "converter/shape_contract.h",
                       "converter/files", "converter/run", "converter/tune"},
    "converter/cli": {"runtime", "delegates", "converter", "platforms/c/custom.h"},
    "converter": {"runtime", "converter/import", "converter/graph", "converter/passes", "converter/emit", "converter/convert.h",
                  "converter/shape_contract.h", "converter/signatures.h", "converter/state.h", "converter/write_options.h",
                  "delegates/supports.h"},
    "platforms": {"runtime"},
    "platforms/c": {"runtime", "delegates/include", "platforms/c"},
    "platforms/python": {"runtime", "delegates", "converter", "platforms/python"},
    "platforms/android": {"runtime/include/skiff/image_c.h", "runtime/include/skiff/skiff.h", "platforms/android"},
    "samples": {"runtime/include", "delegates/include", "samples"},
    "samples/delegate": {"runtime/include", "delegates/include", "runtime/ops", "runtime/core/fixed_array.h", "converter/trace",
                         "converter/graph/error.h", "samples/delegate"},
    "samples/eager_and_graph": {"runtime/include", "converter/trace", "converter/graph/error.h", "samples/eager_and_graph"},
    "tests": {"runtime", "delegates", "converter", "platforms", "samples/eager_and_graph", "tests"},
}
INCLUDE_PATHS = ["runtime/include", "delegates/include", "runtime", "converter", "", "delegates", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def rule_for(path):
    return max((folder for folder in ALLOWED if path == folder or path.startswith(folder + "/")), key=len)


def resolve(root, including, name):
    candidates = [including.parent / name] + [root / base / name for base in INCLUDE_PATHS]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve().relative_to(root).as_posix()
    return None  # generated, or third party


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    wrong = []
    checked = 0
    for top in ("runtime", "delegates", "converter", "platforms", "samples", "tests"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".c", ".cpp", ".inc", ".def"):
                continue
            relative = path.relative_to(root).as_posix()
            rule = rule_for(relative)
            checked += 1
            for name in INCLUDE.findall(path.read_text()):
                target = resolve(root, path, name)
                if target is None:
                    continue
                if not any(target == allowed or target.startswith(allowed + "/") for allowed in ALLOWED[rule]):
                    wrong.append(f"{relative} includes {target}; {rule} may include only {', '.join(sorted(ALLOWED[rule]))}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{checked} files checked, {len(wrong)} includes against the layering")
    return 1 if wrong or checked < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
