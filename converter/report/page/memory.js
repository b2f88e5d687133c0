// The arena over the run: columns are the nodes as they run, rows are addresses.

const MAP_WIDTH = 1000;
const MAP_HEIGHT = 380;
const MAP_LEFT = 64;

function memoryMap(view, onselect) {
  const graph = view.graph;
  const placed = graph.tensors.map((tensor, index) => ({ tensor, index })).filter(({ tensor }) => tensor.place && tensor.place.bytes > 0);
  if (!placed.length) return { element: html("p", { class: "hint" }, "No tensor lies in the arena."), mark() {} };
  const first = graph.nodes.findIndex((node) => !node.shape_program);
  const steps = graph.nodes.length - Math.max(0, first) + 1;
  const size = Math.max(graph.arena_bytes, ...placed.map(({ tensor }) => tensor.place.offset + tensor.place.bytes));
  const x = (step) => MAP_LEFT + ((step - first) / steps) * (MAP_WIDTH - MAP_LEFT);
  const y = (address) => (address / size) * MAP_HEIGHT;
  const rects = new Map();
  const kinds = new Set();
  // Large ones first: parts are drawn over their whole.
  const drawn = [...placed].sort((a, b) => b.tensor.place.bytes - a.tensor.place.bytes).map(({ tensor, index }) => {
    const place = tensor.place;
    const kind = graph.inputs.includes(index) ? "input" : graph.outputs.includes(index) ? "output" : index % 2 ? "odd" : "even";
    kinds.add(kind === "odd" ? "even" : kind).add(place.strided ? "strided" : kind);
    const rect = svg("rect", {
      class: `place ${kind}${place.strided ? " strided" : ""}`, x: x(place.first), y: y(place.offset),
      width: Math.max(1, x(place.last + 1) - x(place.first)), height: Math.max(0.75, y(place.bytes)), onclick: () => onselect(index),
    }, svg("title", {}, `${tensor.name}\n${typeText(tensor)}, ${bytesText(place.bytes)} at ${countText(place.offset)}` +
      (place.strided ? "\nrows with gaps, in which others lie" : "")));
    rects.set(index, rect);
    return rect;
  });
  const peak = graph.live_bytes.reduce((best, bytes, step) => (bytes > graph.live_bytes[best] ? step : best), Math.max(0, first));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    svg("line", { class: "grid", x1: MAP_LEFT, x2: MAP_WIDTH, y1: share * MAP_HEIGHT, y2: share * MAP_HEIGHT }),
    svg("text", { class: "tick", x: MAP_LEFT - 6, y: share * MAP_HEIGHT + (share === 0 ? 9 : share === 1 ? 0 : 4) }, bytesText(share * size))]);
  const every = Math.max(1, Math.ceil(steps / 12));
  const columns = [];
  for (let step = first; step < graph.nodes.length; step += every)
    columns.push(svg("text", { class: "tick column", x: x(step + 0.5), y: MAP_HEIGHT + 14 }, step));
  const most = graph.live_bytes[peak];
  const top = MAP_HEIGHT + 26;
  const live = graph.live_bytes.slice(first).map((bytes, i) => svg("rect", {
    class: i + first === peak ? "live peak" : "live", x: x(i + first) + 0.5, width: Math.max(0.5, x(1) - x(0) - 1),
    y: top + 60 - (60 * bytes) / size, height: (60 * bytes) / size,
  }, svg("title", {}, `${i + first} ${graph.nodes[i + first].name}: ${bytesText(bytes)} in use`)));
  const picture = svg("svg", { class: "memory", viewBox: `0 0 ${MAP_WIDTH} ${top + 62}`, role: "img", "aria-label": "Map of the arena over the run" },
    svg("rect", { class: "ground", x: MAP_LEFT, y: 0, width: MAP_WIDTH - MAP_LEFT, height: MAP_HEIGHT }), drawn, ticks, columns,
    svg("line", { class: "peak-line", x1: x(peak + 0.5), x2: x(peak + 0.5), y1: 0, y2: MAP_HEIGHT }),
    svg("text", { class: "tick", x: MAP_LEFT - 6, y: top + 10 }, "in use"), live);
  const caption = html("p", { class: "caption" },
    `The arena has ${bytesText(graph.arena_bytes)}. Most is in use while node ${peak} runs (`,
    html("button", { type: "button", class: "text", onclick: () => onselect(graph.nodes[peak].outputs[0]) }, shortened(graph.nodes[peak].name || graph.nodes[peak].operator, 48)),
    `): ${bytesText(most)}, ${shareText(graph.arena_bytes ? most / graph.arena_bytes : 0)} of it. Hatched tensors are rows with gaps inside of another one.`);
  const keys = html("p", { class: "keys" }, [["input", "inputs, which keep their values"], ["output", "outputs"], ["even", "what lies between"], ["strided", "rows with gaps"]]
    .filter(([kind]) => kinds.has(kind)).map(([kind, text]) => html("span", {}, html("i", { class: "key " + kind }), text)));
  const hatch = svg("svg", { width: 0, height: 0, class: "patterns", "aria-hidden": "true" }, svg("defs", {}, svg("pattern", {
    id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
  }, svg("rect", { width: 6, height: 6, class: "hatch-ground" }), svg("rect", { width: 2, height: 6, class: "hatch-line" }))));
  return {
    element: html("div", {}, hatch, html("div", { class: "memory-scroll" }, picture), keys, caption),
    mark(tensors) {
      for (const [index, rect] of rects) rect.classList.toggle("selected", tensors.includes(index));
    },
  };
}
