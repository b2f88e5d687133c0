#!/usr/bin/env python3
"""Trains the sample character decoder on this project's own prose, and exports one step of it to ONNX.

usage: python3 train.py [--text CHECKOUT] [--out DIR] [--steps N]

Needs PyTorch 2 with onnx and onnxscript. What the net is, how it is exported and what came out is in README.md.
"""
import argparse
import math
import pathlib
import sys
import time

try:
    import onnx
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as missing:  # --help does without.
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else f"{missing}; --help says what is needed")

SEED = 20240617
CHARACTERS = "\n" + "".join(chr(code) for code in range(32, 127))
WIDTH = 96
LAYERS = 4
HEADS = 4
HEAD = WIDTH // HEADS
INNER = 2 * WIDTH
CONTEXT = 256
BATCH = 16
PROMPT = "The converter "
GENERATED = 500  # Characters behind the prompt: more than the ring has places.


def read_text(checkout):
    """Prose of the documentation: no tables, no code, ASCII."""
    files = sorted((checkout / "docs").glob("*.md"))
    files += [checkout / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    kept = []
    for file in files:
        code = False
        for line in file.read_text().splitlines():
            code ^= line.startswith("```")
            if not code and not line.startswith(("```", "|", "    ")):
                kept.append(line.encode("ascii", "ignore").decode())
    return "\n".join(kept)


def rotated(x, cos, sin):
    """Turns each pair (i, i + HEAD / 2) of a head by its angle."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.mix = nn.Linear(WIDTH, WIDTH, bias=False)
        self.before_inner = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def heads(self, x, cos, sin):
        """Queries, keys and values [batch, HEADS, length, HEAD] of rows x [batch, length, WIDTH]."""
        parts = self.query_key_value(self.before_attention(x)).reshape(x.shape[0], x.shape[1], 3, HEADS, HEAD)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        return rotated(query, cos, sin), rotated(key, cos, sin), value

    def rest(self, x, attended):
        x = x + self.mix(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.before_inner(x)), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(len(CHARACTERS), WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        self.register_buffer("speeds", 1000.0 ** (-torch.arange(HEAD // 2) / (HEAD // 2)), persistent=False)
        nn.init.normal_(self.table.weight, std=0.05)
        for layer in self.layers:
            for weights in (layer.mix.weight, layer.down.weight):
                nn.init.normal_(weights, std=0.1 / math.sqrt(2 * LAYERS * WIDTH))

    def turns(self, positions):
        angles = positions[:, None].to(torch.float32) * self.speeds
        return angles.cos(), angles.sin()

    def scores(self, x):
        return self.last(x) @ self.table.weight.t()

    def forward(self, ids):
        """Scores of the next character behind each of [batch, length]."""
        x = self.table(ids)
        cos, sin = self.turns(torch.arange(ids.shape[1]))
        for layer in self.layers:
            query, key, value = layer.heads(x, cos, sin)
            x = layer.rest(x, functional.scaled_dot_product_attention(query, key, value, is_causal=True))
        return self.scores(x)


class Step(nn.Module):
    """One character in, the scores of the next one out. The caches are rings: position p is at place p mod CONTEXT, so
    that the newest CONTEXT positions are there. Turned keys know only how far apart two positions are."""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, token, position, *caches):
        x = self.decoder.table(token)[None]
        cos, sin = self.decoder.turns(position)
        place = (position % CONTEXT).expand(1, HEADS, 1, HEAD)
        empty = torch.arange(CONTEXT) > position
        kept = []
        for layer, (keys, values) in zip(self.decoder.layers, zip(caches[::2], caches[1::2])):
            query, key, value = layer.heads(x, cos, sin)
            keys = keys.scatter(2, place, key)
            values = values.scatter(2, place, value)
            likeness = (query @ keys.transpose(2, 3)) * HEAD**-0.5
            share = likeness.masked_fill(empty, -1e9).softmax(dim=-1)
            x = layer.rest(x, share @ values)
            kept += [keys, values]
        return self.decoder.scores(x)[0, 0], *kept


def empty_caches():
    return [torch.zeros(1, HEADS, CONTEXT, HEAD) for _ in range(2 * LAYERS)]


def train(decoder, text, steps):
    ids = torch.tensor([CHARACTERS.index(character) for character in text])
    held_out = len(ids) // 20
    training, rest = ids[:-held_out], ids[-held_out:]
    print(f"{len(text)} characters, {sum(p.numel() for p in decoder.parameters())} parameters", flush=True)
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=4e-3, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps, pct_start=0.1)
    window = torch.arange(CONTEXT + 1)
    begin = time.time()
    for step in range(steps):
        batch = training[torch.randint(len(training) - CONTEXT, (BATCH, 1)) + window]
        loss = functional.cross_entropy(decoder(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 49:
            print(f"step {step + 1}: loss {loss.item():.3f}, {time.time() - begin:.0f} s", flush=True)
    with torch.no_grad():
        windows = rest[: len(rest) // (CONTEXT + 1) * (CONTEXT + 1)].view(-1, CONTEXT + 1)
        loss = functional.cross_entropy(decoder(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
    print(f"held out: loss {loss.item():.3f}, {loss.item() / math.log(2):.2f} bits per character")


def generate(step):
    """The text that greedy choice makes, and the smallest lead that a chosen character had."""
    caches, text, least = empty_caches(), "", math.inf
    with torch.no_grad():
        for position in range(len(PROMPT) + GENERATED - 1):
            character = (PROMPT + text)[position]
            scores, *caches = step(torch.tensor([CHARACTERS.index(character)]), torch.tensor([position]), *caches)
            if position < len(PROMPT) - 1:
                continue
            best = scores.topk(2)
            least = min(least, (best.values[0] - best.values[1]).item())
            text += CHARACTERS[best.indices[0]]
    return text, least


def store_halves(model):
    """Weights that are halves in f32 become halves with a Cast behind them: half the file, the same numbers."""
    for tensor in list(model.graph.initializer):
        numbers = onnx.numpy_helper.to_array(tensor)
        if numbers.dtype != "float32" or numbers.size < 1024:
            continue
        name = tensor.name
        tensor.CopyFrom(onnx.numpy_helper.from_array(numbers.astype("float16"), name + ".half"))
        model.graph.node.insert(0, onnx.helper.make_node("Cast", [name + ".half"], [name], to=onnx.TensorProto.FLOAT))


def export(step, path):
    caches = [f"{kind}_{layer}" for layer in range(LAYERS) for kind in ("keys", "values")]
    program = torch.onnx.export(
        step,
        (torch.tensor([0]), torch.tensor([0]), *empty_caches()),
        dynamo=True,
        input_names=["token", "position", *caches],
        output_names=["scores", *(f"next_{name}" for name in caches)],
        opset_version=18,
        verbose=False,
    )
    model = program.model_proto
    store_halves(model)
    model.ClearField("metadata_props")
    for node in model.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    model.graph.ClearField("value_info")
    model.graph.ClearField("metadata_props")
    onnx.checker.check_model(model)
    onnx.save(model, path)
    print(f"{path}: {path.stat().st_size} bytes, {len(model.graph.node)} nodes")


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=pathlib.Path, default=here.parent.parent, help="a checkout of the project")
    parser.add_argument("--out", type=pathlib.Path, default=here)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--weights", type=pathlib.Path, help="skips the training: what an earlier one has kept")
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    decoder = Decoder()
    if arguments.weights:
        decoder.load_state_dict(torch.load(arguments.weights))
    else:
        train(decoder, read_text(arguments.text), arguments.steps)
        torch.save(decoder.state_dict(), arguments.out / "weights.pt")
    with torch.no_grad():
        for weights in decoder.parameters():
            weights.copy_(weights.half().float())
    step = Step(decoder).eval()
    text, least = generate(step)
    print(f"{PROMPT}{text}\n\nthe smallest lead of a chosen character: {least:.4f}")
    (arguments.out / "expected.txt").write_text(PROMPT + text)
    (arguments.out / "characters.txt").write_text(
        "".join(("\\n" if character == "\n" else character) + "\n" for character in CHARACTERS)
    )
    export(step, arguments.out / "decoder.onnx")


main()
