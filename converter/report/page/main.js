// Puts the report together.

const report = JSON.parse(document.getElementById("data").textContent);
const views = report.sides.map((side) => makeView(side, side.graph, side.label, true));
let current = views[0];
let trail = [];  // Of bodies that were opened, the outermost first.
let map = null;

const main = document.getElementById("report");
const part = (id, title, ...content) => html("section", { class: "part", id }, html("h2", {}, title), content);

const details = new DetailsPanel({
  close: () => graph.select(null),
  goTo: (id) => graph.selectBox(id),
  toggle: (group) => {
    graph.toggle(group);
    graph.select(null);
  },
  groupOf: (box) => graph.groupOf.get(box.id),
  openBody: (node, body) => {
    trail.push(current);
    showView(makeView(current.side, body.graph, `${node.operator} ${node.name}: ${body.name}`, false));
  },
  showPlace: (tensor) => {
    if (map) map.mark([tensor]);
    document.getElementById("memory").scrollIntoView({ behavior: "instant" });
  },
  counterparts: (view, box) => views.filter((other) => other !== view).flatMap((other) => {
    const same = other.boxes.find((candidate) => candidate.kind === "node" && candidate.name === box.name);
    return same ? [{ label: other.side.label, other: same }] : [];
  }),
});

const isPhone = () => matchMedia("(max-width: 860px)").matches;

const graph = new GraphPanel((view, item) => {
  details.show(view, item);
  if (item && isPhone()) graph.showAboveSheet();
  if (map && view.top) map.mark(item && item.box ? [...item.box.reads, ...item.box.makes] : []);
});

const crumbs = html("p", { class: "crumbs", id: "crumbs" });

function showView(view) {
  current = view;
  graph.show(view);
  graph.select(null);
  crumbs.hidden = trail.length === 0;
  crumbs.replaceChildren(...trail.flatMap((outer, i) => [html("button", {
    type: "button", class: "text", onclick: () => {
      trail = trail.slice(0, i);
      showView(outer);
    },
  }, outer.name), " › "]), view.name);
}

// Shows a node of the side that is on the screen.
function goToNode(id) {
  if (!current.top) {
    current = trail[0];
    trail = [];
    showView(current);
  }
  graph.selectBox(id);
  document.getElementById("graph").scrollIntoView({ behavior: "instant" });
}

function goToTensor(index) {
  const id = current.producer.get(index);
  if (id !== undefined) goToNode(id);
  if (map) map.mark([index]);
}

function searchBox() {
  const found = html("span", { class: "found", id: "found", "aria-live": "polite" });
  let matches = [];
  let at = -1;
  const input = html("input", {
    type: "search", id: "search", placeholder: "Search nodes, operators, tensors", "aria-label": "Search the graph",
    oninput: () => {
      matches = graph.search(input.value);
      at = -1;
      found.textContent = input.value.trim() ? plural(matches.length, "match").replace("matchs", "matches") : "";
    },
    onkeydown: (event) => {
      if (event.key === "Escape") {
        input.value = "";
        input.dispatchEvent(new Event("input"));
      }
      if (event.key !== "Enter" || !matches.length) return;
      at = (at + (event.shiftKey ? matches.length - 1 : 1)) % matches.length;
      graph.selectBox(matches[at].id);
      found.textContent = `${at + 1} of ${matches.length}`;
    },
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT/.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === "Escape" && document.activeElement !== input) graph.select(null);
  });
  return html("span", { class: "search" }, input, found);
}

function toolbar() {
  const button = (id, text, title, onclick) => html("button", { type: "button", id, title, "aria-label": title, onclick }, text);
  const measured = Object.entries(METRICS).filter(([, metric]) => views.some((view) => view.boxes.some((box) => metric.value(box) > 0)));
  const colours = html("select", { id: "colour", "aria-label": "Colour by", onchange: () => graph.colourBy(colours.value) },
    measured.map(([name, metric]) => html("option", { value: name }, metric.title)));
  return html("div", { class: "toolbar" }, searchBox(), html("label", {}, html("span", {}, "Colour "), colours),
    html("span", { class: "buttons" }, button("fold", "Fold", "Fold all groups", () => graph.foldAll(true)),
      button("unfold-all", "Unfold", "Unfold all groups", () => graph.foldAll(false))),
    html("span", { class: "buttons" }, button("zoom-out", "−", "Smaller", () => graph.zoomBy(0.8)), button("zoom-in", "+", "Larger", () => graph.zoomBy(1.25)),
      button("fit", "All", "The whole graph", () => graph.fit(true)), button("width", "1:1", "As large as it is read best", () => graph.fit())));
}

function legend() {
  const kinds = [["xnnpack", "XNNPACK"], ["vulkan", "Vulkan"], ["reference", "reference kernels"], ["control", "control flow"], ["other", "application"],
    ["shapes", "at a new shape only"]];
  const there = new Set(views.flatMap((view) => view.boxes.map((box) => box.delegate)));
  return html("p", { class: "keys" }, kinds.filter(([kind]) => there.has(kind)).map(([kind, text]) => html("span", {}, html("i", { class: "key stripe-" + kind }), text)),
    html("span", {}, html("i", { class: "key heat-key" }), "more of what Colour names"));
}

function sidePart(view) {
  const side = view.side;
  const all = view.total;
  map = memoryMap(view, goToTensor);
  const onlayer = (row) => {
    const box = view.boxes.find((candidate) => candidate.errors.includes(row));
    if (box) goToNode(box.id);
  };
  return [
    part("nodes", "Nodes by time", nodeTable(view, goToNode), html("div", { class: "two" },
      html("div", {}, totalsTable("By operator", side.run.by_operator, all)), html("div", {}, totalsTable("By delegate", side.run.by_delegate, all))),
      html("p", { class: "caption" }, `Medians of runs with a clock at each node, which took ${timeText(side.run.profiled_run_ns)}; ${timeText(side.run.between_nodes_ns)} of it are no node's.`)),
    part("memory", "Memory", map.element),
    part("shapes", "Shapes and plans", shapesPart(side)),
    side.parity ? part("parity", "Errors against eager mode", parityPart(side, onlayer)) : null,
    side.sources && side.sources.length ? part("sources", "Source", sourcesPart(view, goToNode)) : null,
  ];
}

function links(parts) {
  document.getElementById("parts").replaceChildren(...parts.map((section) => html("a", { href: "#" + section.id }, section.querySelector("h2").textContent)));
}

const sideParts = html("div", { id: "side" });
const sideCards = html("div", { id: "cards" });

function showSide(index) {
  document.querySelectorAll("#sides button").forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
  trail = [];
  sideCards.replaceChildren(cards(report.sides[index]));
  sideParts.replaceChildren(...sidePart(views[index]).filter(Boolean));
  showView(views[index]);
  links([...main.querySelectorAll(".part")]);
}

function themeButton() {
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  return html("button", { type: "button", id: "theme", title: "Light or dark", "aria-label": "Light or dark",
    onclick: () => (document.documentElement.dataset.theme = dark() ? "light" : "dark") }, "◐");
}

function start() {
  const names = [...new Set(report.sides.map((side) => baseName(side.file.file)))];
  document.title = `${names.join(" and ")} – Skiff report`;
  const several = report.sides.length > 1;
  document.getElementById("top").append(html("div", { class: "title" }, html("h1", {}, names.join(" and ")), html("p", {}, "Skiff report")),
    several ? html("div", { id: "sides", class: "buttons", role: "group", "aria-label": "Side" },
      report.sides.map((side, i) => html("button", { type: "button", onclick: () => showSide(i) }, side.label))) : [], themeButton());
  main.replaceChildren(sideCards);
  if (several) {
    const show = (row) => {
      const index = row.boxes[0] ? 0 : row.boxes.findIndex(Boolean);
      if (current.side !== report.sides[index]) showSide(index);
      goToNode(row.boxes[index].id);
    };
    main.append(part("compare", "Side by side", comparison(report), html("h3", {}, "Where the time differs"), nodeComparison(views, show)));
  }
  main.append(part("graph", "Graph", toolbar(), crumbs, html("div", { class: "graph-area" }, graph.scroll, details.element), graph.strips, legend()), sideParts);
  showSide(0);
  document.documentElement.dataset.ready = "yes";
  performance.mark("drawn");
}

start();
