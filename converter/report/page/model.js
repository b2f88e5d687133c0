// A graph of the data, ready to be drawn: boxes, arrows, and what is known of each node.

const DELEGATES = { xnnpack: "xnnpack", vulkan: "vulkan", reference: "reference", control: "control" };

function errorsBySource(side) {
  const errors = new Map();
  for (const backend of (side.parity && side.parity.backends) || []) {
    for (const row of backend.layers) errors.set(row.name, row);
  }
  return errors;
}

function sourcesByNode(side) {
  const sources = new Map();
  for (const source of side.sources || []) {
    for (const node of source.nodes) {
      if (!sources.has(node)) sources.set(node, []);
      sources.get(node).push(source);
    }
  }
  return sources;
}

const worst = (rows) => rows.reduce((most, row) => Math.max(most, row.relative === null ? Infinity : row.relative), -1);

// `top`: the graph of a side, whose nodes were measured; else one of a body.
function makeView(side, graph, name, top) {
  const tensors = graph.tensors;
  const errors = errorsBySource(side);
  const sources = top ? sourcesByNode(side) : new Map();
  const total = graph.nodes.reduce((sum, node) => sum + (node.shape_program ? 0 : node.median_ns || 0), 0) +
    (top ? side.run.between_nodes_ns : 0);
  const boxes = graph.nodes.map((node, id) => {
    const rows = node.outputs.filter((t) => t >= 0).map((t) => errors.get(tensors[t].source)).filter(Boolean);
    return {
      id, kind: "node", node, name: node.name, title: node.operator,
      ns: node.shape_program ? 0 : node.median_ns || 0,
      flops: 2 * (node.multiply_adds || 0), bytes: node.bytes || 0,
      share: total ? (node.shape_program ? 0 : node.median_ns || 0) / total : 0,
      delegate: node.shape_program ? "shapes" : DELEGATES[node.delegate] || "other",
      delegateText: node.shape_program ? "shape program" : node.delegate + (node.fell_back ? " (fell back)" : ""),
      sources: sources.get(id) || [], errors: rows, error: worst(rows),
      reads: node.inputs.filter((t) => t >= 0), makes: node.outputs.filter((t) => t >= 0),
    };
  });
  const port = (kind) => (tensor) => boxes.push({
    id: boxes.length, kind, name: tensors[tensor].name, title: tensors[tensor].name, ns: 0, flops: 0, bytes: 0, share: 0,
    delegate: "port", delegateText: kind, sources: [], errors: [], error: -1,
    reads: kind === "output" ? [tensor] : [], makes: kind === "input" ? [tensor] : [],
  });
  graph.inputs.forEach(port("input"));
  const producer = new Map();
  for (const box of boxes) for (const tensor of box.makes) producer.set(tensor, box.id);
  graph.outputs.forEach(port("output"));
  const edges = [];
  const users = new Map();
  for (const box of boxes) {
    for (const tensor of new Set(box.reads)) {
      if (!users.has(tensor)) users.set(tensor, []);
      users.get(tensor).push(box.id);
      if (producer.has(tensor)) edges.push({ from: producer.get(tensor), to: box.id, tensor });
    }
  }
  for (const box of boxes) {
    const result = box.kind === "output" ? box.reads[0] : box.makes[0];
    box.detail = result === undefined ? "" : typeText(tensors[result]);
    box.words = [box.name, box.title, box.delegateText, ...box.sources.map((s) => s.name + " " + s.operator),
      ...box.makes.map((t) => tensors[t].name + " " + (tensors[t].source || ""))].join("\n").toLowerCase();
  }
  return { side, graph, name, top, boxes, edges, tensors, producer, users, total };
}

// What boxes can be coloured by; values of 0 and below have no colour.
const METRICS = {
  time: { title: "Time", value: (box) => box.ns, text: timeText },
  work: { title: "Work", value: (box) => box.flops, text: workText },
  traffic: { title: "Bytes moved", value: (box) => box.bytes, text: bytesText },
  error: { title: "Error", value: (box) => box.error, text: errorText, logarithmic: true },
};

function heatOf(metric, boxes) {
  const values = boxes.map(metric.value).filter((value) => value > 0 && isFinite(value));
  const most = Math.max(...values, 0);
  const least = Math.min(...values, most);
  return (box) => {
    const value = metric.value(box);
    if (!(value > 0) || most === 0) return 0;
    if (!isFinite(value)) return 1;
    if (metric.logarithmic) return most === least ? 0.5 : 0.1 + 0.9 * Math.log(value / least) / Math.log(most / least);
    return Math.sqrt(value / most);
  };
}
