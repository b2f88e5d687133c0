// The parts of the report that are figures and tables.

const card = (title, value, ...rows) => html("section", { class: "card" }, html("h3", {}, title), html("p", { class: "figure" }, value),
  html("dl", {}, rows.filter(Boolean).map(([key, text]) => [html("dt", {}, key), html("dd", {}, text)])));

const baseName = (path) => path.split("/").pop();

function sizesText(sizes) {
  return Object.entries(sizes).map(([name, size]) => `${name}=${size}`).join(", ");
}

function delegatesText(nodes) {
  const counts = new Map();
  for (const node of nodes) {
    if (node.shape_program) continue;
    const name = node.delegate + (node.fell_back ? " (fell back)" : "");
    counts.set(name, (counts.get(name) || 0) + 1);
  }
  return [...counts].map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}

function cards(side) {
  const { file, run, graph } = side;
  const flops = graph.nodes.reduce((sum, node) => sum + 2 * (node.multiply_adds || 0), 0);
  const memory = run.memory;
  const packed = memory.packed_weights + memory.mapped_packed_weights;
  return html("div", { class: "cards" },
    card("Run", timeText(run.median_ns), ["fastest", timeText(run.min_ns)], ["p90", timeText(run.p90_ns)],
      ["on", `${run.backend}, ${plural(run.threads, "thread")}`], Object.keys(side.sizes).length && ["at", sizesText(side.sizes)],
      flops && ["work", `${workText(flops)}, ${rateText(flops, run.median_ns)} GFLOP/s`], ["runs", countText(run.runs)],
      !run.noise.enough_runs ? ["noise", "too few runs to tell"] : run.noise.noisy && ["noise", `p10 to p90 are ${shareText(run.noise.spread)} apart: small differences mean nothing`]),
    card("Arena", bytesText(memory.arena), ["workspace", bytesText(memory.workspace)],
      ["packed weights", bytesText(packed)], memory.mapped_weights && ["mapped weights", bytesText(memory.mapped_weights)],
      memory.widened_weights && ["widened weights", bytesText(memory.widened_weights)], memory.inputs && ["inputs", bytesText(memory.inputs)]),
    card("File", bytesText(file.file_bytes), ["weights", bytesText(file.weights_bytes)], ["format", String(file.format_version)],
      ["by", file.producer], ["opening", timeText(run.load_ns)], ["session", timeText(run.session_ns)], ["first run", timeText(run.first_run_ns)]),
    card("Plan", plural(graph.nodes.length, "node"), ["delegates", delegatesText(graph.nodes)], ["signature", side.signature],
      ["plan", String(side.plan)], side.sources && ["source", plural(side.sources.length, "node")]),
    parityCard(side));
}

const worstRow = (rows) => rows.reduce((worst, row) => (worst === null || (row.relative ?? Infinity) > (worst.relative ?? Infinity) ? row : worst), null);

function parityCard(side) {
  if (!side.parity) return null;
  const backend = side.parity.backends[0];
  const output = backend && worstRow(backend.against_eager);
  const layer = backend && worstRow(backend.layers);
  return card("Parity", badge(side.parity.ok ? "holds" : "fails", side.parity.ok ? "good" : "bad"),
    output && ["worst output", `${errorText(output.relative)} of the largest`], layer && ["worst layer", errorText(layer.relative)],
    backend && ["layers compared", countText(backend.layers.length)], backend && ["fused away", countText(backend.fused_away)]);
}

function worstError(side) {
  const backend = side.parity && side.parity.backends[0];
  const row = backend && worstRow(backend.against_eager);
  return row ? row.relative : undefined;
}

// Rows of all sides beside each other; less is better in all of them.
function comparison(report) {
  const rows = [
    ["median run", (side) => side.run.median_ns, timeText], ["first run", (side) => side.run.first_run_ns, timeText],
    ["file", (side) => side.file.file_bytes, bytesText], ["weights in the file", (side) => side.file.weights_bytes, bytesText],
    ["arena", (side) => side.run.memory.arena, bytesText], ["workspace", (side) => side.run.memory.workspace, bytesText],
    ["packed weights", (side) => side.run.memory.packed_weights, bytesText],
    ["nodes", (side) => side.graph.nodes.length, countText],
    ["work", (side) => side.graph.nodes.reduce((sum, node) => sum + 2 * (node.multiply_adds || 0), 0), workText],
    ["worst error", worstError, errorText],
  ];
  const first = report.sides[0];
  const columns = [{ title: "", cell: (row) => row[0] }, ...report.sides.map((side, i) => ({
    title: side.label, number: true, cell: ([, value, text]) => {
      const own = value(side);
      if (own === undefined) return "–";
      const base = value(first);
      return [text(own), i > 0 && base ? html("small", { class: own > base * 1.03 ? "worse" : own < base * 0.97 ? "better" : "" },
        ` ×${(own / base).toFixed(2)}`) : null];
    },
  }))];
  return table(columns, rows, { narrow: true });
}

// Nodes of one name beside each other, by how much their times differ.
function nodeComparison(views, onrow) {
  const byName = new Map();
  views.forEach((view, i) => {
    for (const box of view.boxes) {
      if (box.kind !== "node" || box.node.shape_program) continue;
      if (!byName.has(box.name)) byName.set(box.name, []);
      byName.get(box.name)[i] = byName.get(box.name)[i] || box;
    }
  });
  const rows = [...byName].map(([name, boxes]) => ({ name, boxes, at: (i) => (boxes[i] ? boxes[i].ns : 0) }));
  const last = views.length - 1;
  rows.sort((a, b) => Math.abs(b.at(last) - b.at(0)) - Math.abs(a.at(last) - a.at(0)));
  return table([
    { title: "Node", kind: "name", key: (row) => row.name, cell: (row) => shortened(row.name, 56) },
    { title: "Operator", key: (row) => row.boxes.find(Boolean).title, cell: (row) => row.boxes.find(Boolean).title },
    ...views.map((view, i) => ({ title: view.side.label, number: true, key: (row) => row.at(i), cell: (row) => (row.boxes[i] ? timeText(row.at(i)) : "–") })),
    { title: "Difference", number: true, key: (row) => row.at(last) - row.at(0), cell: (row) => {
      const change = row.at(last) - row.at(0);
      return html("span", { class: change > 0 ? "worse" : "better" }, (change > 0 ? "+" : "−") + timeText(Math.abs(change)));
    } },
  ], rows, { limit: 15, onrow: (row) => onrow(row) });
}

function nodeTable(view, onrow) {
  const rows = view.boxes.filter((box) => box.kind === "node" && !box.node.shape_program).sort((a, b) => b.ns - a.ns);
  const most = rows.length ? rows[0].share : 1;
  return table([
    { title: "#", number: true, key: (box) => -box.id, cell: (box) => box.id },
    { title: "Node", kind: "name", key: (box) => box.name, cell: (box) => shortened(box.name, 48) },
    { title: "Operator", key: (box) => box.title, cell: (box) => box.title },
    { title: "Delegate", key: (box) => box.delegateText, cell: (box) => badge(box.delegateText, "of-" + box.delegate) },
    { title: "Time", number: true, key: (box) => box.ns, cell: (box) => timeText(box.ns) },
    { title: "Share", number: true, key: (box) => box.share, cell: (box) => [shareText(box.share), bar(box.share / (most || 1))] },
    { title: "GFLOP/s", number: true, key: (box) => (box.ns ? box.flops / box.ns : 0), cell: (box) => rateText(box.flops, box.ns) },
    { title: "GB/s", number: true, key: (box) => (box.ns ? box.bytes / box.ns : 0), cell: (box) => rateText(box.bytes, box.ns) },
    { title: "Moved", number: true, key: (box) => box.bytes, cell: (box) => bytesText(box.bytes) },
    { title: "Result", key: (box) => box.detail, cell: (box) => box.detail },
  ], rows, { limit: 20, onrow: (box) => onrow(box.id) });
}

function totalsTable(title, totals, all) {
  return table([
    { title, cell: (row) => row.name }, { title: "Nodes", number: true, cell: (row) => row.nodes },
    { title: "Time", number: true, cell: (row) => timeText(row.median_ns) },
    { title: "Share", number: true, cell: (row) => [shareText(all ? row.median_ns / all : 0), bar(all ? row.median_ns / all : 0)] },
    { title: "GFLOP/s", number: true, cell: (row) => rateText(2 * row.multiply_adds, row.median_ns) },
  ], totals);
}

const portShape = (port) => (port.shape.length ? port.shape.join("×") : "scalar");

function portsTable(signature) {
  const rows = [...signature.inputs.map((port) => ["input", port]), ...signature.outputs.map((port) => ["output", port])];
  return table([
    { title: "", cell: ([kind]) => kind }, { title: "Name", kind: "name", cell: ([, port]) => port.name },
    { title: "Type", cell: ([, port]) => port.dtype }, { title: "Shape", cell: ([, port]) => portShape(port) },
    { title: "", cell: ([, port]) => [
      port.quantization ? (port.quantization.scale.length > 1 ? `quantised, ${port.quantization.scale.length} scales` : `quantised, scale ${Number(port.quantization.scale[0].toPrecision(4))}`) : null,
      port.image ? `picture ${port.image.width}×${port.image.height}, ${port.image.order}` : null, port.labels ? plural(port.labels.length, "label") : null] },
  ], rows, { narrow: true });
}

function plansTable(side, signature) {
  const own = signature.name === side.signature;
  return table([
    { title: "Plan", number: true, cell: (row) => row.i }, { title: "Target", cell: (row) => row.plan.target }, { title: "Kind", cell: (row) => row.plan.kind },
    { title: "Sizes", cell: (row) => Object.entries(row.plan.ranges).map(([name, range]) => `${name} ${rangeText(range)}`).join("; ") || "fixed" },
    { title: "Arena", number: true, cell: (row) => (row.plan.kind === "unbounded" ? "at run time" : bytesText(row.plan.arena_bytes)) },
    { title: "Delegates", cell: (row) => Object.entries(row.plan.delegates).map(([name, count]) => `${name} ${count}`).join(", ") },
    { title: "Segments", number: true, cell: (row) => row.plan.segments }, { title: "Transposes", number: true, cell: (row) => row.plan.layout_transposes },
    { title: "Shape program", number: true, cell: (row) => row.plan.shape_program_nodes },
    { title: "", cell: (row) => (own && row.i === side.plan ? badge("in this report", "good") : null) },
  ], signature.plans.map((plan, i) => ({ plan, i })), { narrow: true });
}

function shapesPart(side) {
  const several = side.file.signatures.length > 1;
  return side.file.signatures.map((signature) => [
    several ? html("h3", {}, `Signature ${signature.name}`) : null, portsTable(signature),
    signature.symbols.length ? [html("h3", {}, "Open dimensions"), table([
      { title: "Name", kind: "name", cell: (symbol) => symbol.name }, { title: "Sizes", cell: rangeText },
      { title: "In this report", number: true, cell: (symbol) => (signature.name === side.signature ? side.sizes[symbol.name] ?? "–" : "–") }], signature.symbols, { narrow: true })] : null,
    html("h3", {}, "Plans"), plansTable(side, signature),
  ]).concat(side.file.variables.length ? [html("h3", {}, "State"), table([
    { title: "Variable", kind: "name", cell: (row) => row.name }, { title: "Type", cell: (row) => row.dtype }, { title: "Shape", cell: (row) => shapeText(row.shape) }], side.file.variables, { narrow: true })] : [],
  Object.keys(side.file.metadata).length ? [html("h3", {}, "Metadata"), table([
    { title: "Key", kind: "name", cell: ([key]) => key }, { title: "Value", kind: "code", cell: ([, value]) => shortened(value, 300) }], Object.entries(side.file.metadata))] : []);
}

// Errors of the layers in the source's order, on a logarithmic scale; a bar from the floor to each.
function errorChart(rows, onrow) {
  const [width, height, left] = [1000, 180, 64];
  const values = rows.map((row) => row.relative).filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(1e-7, ...values)));
  const high = Math.ceil(Math.log10(Math.max(1e-5, ...values)));
  const y = (value) => height * (1 - (Math.max(low, Math.log10(value)) - low) / (high - low));
  const step = (width - left) / rows.length;
  const ticks = [];
  for (let power = low; power <= high; power += Math.max(1, Math.ceil((high - low) / 6))) {
    ticks.push(svg("line", { class: "grid", x1: left, x2: width, y1: y(10 ** power), y2: y(10 ** power) }),
      svg("text", { class: "tick", x: left - 6, y: Math.min(height, y(10 ** power) + 4) }, "1e" + power));
  }
  const bars = rows.map((row, i) => {
    const top = row.relative === null ? 0 : row.relative > 0 ? y(row.relative) : height - 1;
    return svg("rect", { class: row.ok ? "error-bar" : "error-bar bad", x: left + i * step + step * 0.1, width: Math.max(0.6, step * 0.8), y: top, height: height - top,
      onclick: () => onrow(row) }, svg("title", {}, `${row.name} (${row.operator})\n${errorText(row.relative)} of the largest element\n${row.allowed}`));
  });
  return html("div", { class: "memory-scroll" }, svg("svg", { class: "errors", viewBox: `0 -6 ${width} ${height + 12}`, role: "img", "aria-label": "Errors layer by layer" }, ticks, bars));
}

function parityRows(rows, onrow, limit) {
  return table([
    { title: "Tensor", kind: "name", key: (row) => row.name, cell: (row) => shortened(row.name, 56) }, ...(rows.some((row) => row.operator) ? [{ title: "Operator", cell: (row) => row.operator || "" }] : []),
    { title: "Error", number: true, key: (row) => row.relative ?? Infinity, cell: (row) => errorText(row.relative) },
    { title: "Of allowed", number: true, key: (row) => row.share_of_allowed ?? Infinity, cell: (row) => (row.share_of_allowed === null ? "∞" : shareText(row.share_of_allowed)) },
    { title: "Outside", number: true, key: (row) => row.outside, cell: (row) => countText(row.outside) },
    { title: "", cell: (row) => badge(row.problem || (row.ok ? "ok" : "differs"), row.ok ? "good" : "bad") },
  ], rows, { limit, onrow, narrow: !onrow });
}

function parityPart(side, onrow) {
  const backend = side.parity.backends[0];
  const parts = [html("p", { class: side.parity.ok ? "verdict good" : "verdict bad" }, side.parity.verdict)];
  if (!backend) return parts;
  if (backend.refused) parts.push(html("p", {}, backend.refused));
  parts.push(html("h3", {}, "Outputs"), parityRows(backend.against_eager));
  if (!backend.layers.length) return parts;
  parts.push(html("h3", {}, "Layers, in the source's order"), errorChart(backend.layers, onrow),
    html("p", { class: "caption" }, `The error of each layer, as a share of its largest element. ${plural(backend.fused_away, "tensor")} of the source more were fused away.`,
      backend.amplifier ? ` Rounding grows most at ${backend.amplifier.layer} (${backend.amplifier.operator}): from ${errorText(backend.amplifier.before)} to ${errorText(backend.amplifier.behind)}.` : ""),
    parityRows([...backend.layers].sort((a, b) => (b.relative ?? Infinity) - (a.relative ?? Infinity)), onrow, 12));
  return parts;
}

function sourcesPart(view, onrow) {
  const rows = view.side.sources;
  return table([
    { title: "Node of the source", kind: "name", key: (row) => row.name, cell: (row) => shortened(row.name, 56) }, { title: "Operator", key: (row) => row.operator, cell: (row) => row.operator },
    { title: "Runs as", cell: (row) => row.nodes.map((id) => view.boxes[id].title).join(", ") || "–" },
    { title: "What became of it", cell: (row) => row.notes.join("; ") || (row.nodes.length ? "" : "not in this plan") },
  ], rows, { limit: 25, onrow: (row) => row.nodes.length && onrow(row.nodes[0]) });
}
