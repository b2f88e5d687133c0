"""Converts the sample decoder as its page says, generates as it says, and compares the text with PyTorch's:
generate.py SKIFF SKIFF_GENERATE samples/generate BACKEND"""
import json
import pathlib
import subprocess
import sys
import tempfile

LAYERS = 4


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return done


def main():
    skiff, generate, sample, backend = sys.argv[1:]
    sample = pathlib.Path(sample)
    prompt = "The converter "
    expected = (sample / "expected.txt").read_text()
    states = [f"--state={kind}_{layer}=next_{kind}_{layer}" for layer in range(LAYERS) for kind in ("keys", "values")]
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "decoder.skiff"
        run(skiff, "convert", sample / "decoder.onnx", "-o", model, "--labels", sample / "characters.txt", *states)
        told = run(
            generate, model, "--prompt", prompt, "--tokens", len(expected) - len(prompt), "--backend", backend
        )
        plans = json.loads(run(skiff, "inspect", model, "--json").stdout)["signatures"][0]["plans"]
    if told.stdout != expected + "\n":
        sys.exit(f"the text is\n{told.stdout}\nPyTorch's is\n{expected}")
    caches = LAYERS * 2 * 4 * 256 * 24 * 4
    if plans[0]["arena_bytes"] >= caches:
        sys.exit(f"the arena of {plans[0]['arena_bytes']} bytes has room for copies of the caches")
    print(told.stderr)


main()
