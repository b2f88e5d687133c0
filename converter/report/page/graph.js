// The drawing of a graph: boxes that open what is known of them, fold, and can be searched.

const BOX_WIDTH = 176;
const BOX_HEIGHT = 46;
const PORT_HEIGHT = 34;
const MARGIN = 24;

class GraphPanel {
  // onselect(view, item): a box or a group, or null.
  constructor(onselect) {
    this.onselect = onselect;
    this.zoom = 1;
    this.metric = "time";
    this.query = "";
    this.canvas = svg("svg", { class: "graph", role: "group", "aria-label": "Graph of the plan" });
    this.scroll = html("div", { class: "graph-scroll", id: "graph-scroll" }, this.canvas);
    this.strips = html("div", { class: "graph-strips", "aria-hidden": "true" });
    this.handlePointers();
    window.addEventListener("beforeprint", () => this.drawStrips());
  }

  show(view) {
    this.view = view;
    this.groups = findGroups(view);
    const nodes = view.boxes.filter((box) => box.kind === "node").length;
    this.folded = new Set(nodes > UNFOLDED_AT_FIRST ? this.groups.map((group) => group.id) : []);
    this.groupOf = new Map(this.groups.flatMap((group) => group.members.map((id) => [id, group])));
    this.selected = null;
    this.draw();
    this.fit();
  }

  foldAll(fold) {
    this.folded = new Set(fold ? this.groups.map((group) => group.id) : []);
    this.draw();
    this.fit();
  }

  toggle(group) {
    if (!this.folded.delete(group.id)) this.folded.add(group.id);
    this.draw();
  }

  // What is drawn: a box for each folded group, and for each node outside of these.
  items() {
    const items = [];
    const itemOf = new Map();
    const seen = new Map();
    for (const box of this.view.boxes) {
      const group = this.groupOf.get(box.id);
      if (group && this.folded.has(group.id)) {
        if (!seen.has(group.id)) {
          seen.set(group.id, items.length);
          items.push(this.groupItem(group));
        }
        itemOf.set(box.id, seen.get(group.id));
      } else {
        itemOf.set(box.id, items.length);
        items.push({ ...box, box, w: this.widthOf(box), h: box.kind === "node" ? BOX_HEIGHT : PORT_HEIGHT });
      }
    }
    return { items, itemOf };
  }

  widthOf(box) {
    return box.kind === "node" ? BOX_WIDTH : Math.min(220, Math.max(110, 24 + 6.6 * Math.max(box.title.length, box.detail.length)));
  }

  groupItem(group) {
    const members = group.members.map((id) => this.view.boxes[id]);
    const sum = (key) => members.reduce((total, box) => total + box[key], 0);
    const delegates = new Set(members.map((box) => box.delegate));
    return {
      group, kind: "group", w: BOX_WIDTH, h: BOX_HEIGHT, name: group.name, title: group.name || group.title,
      detail: plural(members.length, "node") + (group.name ? ": " + group.title : ""), ns: sum("ns"), flops: sum("flops"),
      bytes: sum("bytes"), share: sum("share"), error: Math.max(...members.map((box) => box.error)),
      delegate: delegates.size === 1 ? [...delegates][0] : "mixed", words: members.map((box) => box.words).join("\n"),
    };
  }

  draw() {
    const { items, itemOf } = this.items();
    const links = [];
    const known = new Set();
    for (const edge of this.view.edges) {
      const link = [itemOf.get(edge.from), itemOf.get(edge.to)];
      const key = link.join(" ");
      if (link[0] === link[1] || known.has(key)) continue;
      known.add(key);
      links.push(link);
    }
    this.items_ = items;
    this.links = links;
    this.itemOf = itemOf;
    this.layout = layout(items, links);
    this.heat = heatOf(METRICS[this.metric], items);
    this.width = this.layout.width + 2 * MARGIN;
    this.height = this.layout.height + 2 * MARGIN;
    this.arrows = links.map((link, i) => svg("path", { class: "arrow", d: this.arrowPath(link, i), "marker-end": "url(#head)" }));
    this.shapes = items.map((item, i) => this.drawItem(item, this.layout.boxes[i]));
    this.root = svg("g", { id: "drawing", transform: `translate(${MARGIN} ${MARGIN})` }, this.frames(), this.arrows, this.shapes);
    const head = svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0.5 L8 4 L0 7.5 Z", class: "head" }));
    this.canvas.replaceChildren(svg("defs", {}, head), this.root);
    this.setZoom(this.zoom);
    this.markSelected();
    this.search(this.query);
  }

  arrowPath([from, to], index) {
    const [a, b] = [this.layout.boxes[from], this.layout.boxes[to]];
    const points = [{ x: a.x + this.items_[from].w / 2, y: a.y + this.items_[from].h }, ...this.layout.bends[index],
      { x: b.x + this.items_[to].w / 2, y: b.y - 1 }];
    let path = `M${points[0].x.toFixed(1)} ${points[0].y.toFixed(1)}`;
    for (let i = 1; i < points.length; ++i) {
      const [p, q] = [points[i - 1], points[i]];
      const middle = ((p.y + q.y) / 2).toFixed(1);
      path += ` C${p.x.toFixed(1)} ${middle} ${q.x.toFixed(1)} ${middle} ${q.x.toFixed(1)} ${q.y.toFixed(1)}`;
    }
    return path;
  }

  drawItem(item, at) {
    const metric = METRICS[this.metric];
    const heat = this.heat(item);
    const value = heat > 0 ? metric.text(metric.value(item)) : "";
    const room = Math.floor((item.w - 22 - value.length * 6.4) / 7.3);
    const port = item.kind === "input" || item.kind === "output";
    const open = () => this.select(item);
    const shape = svg("g", {
      class: `box ${item.kind} of-${item.delegate}`, transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`, tabindex: 0,
      role: "button", "aria-label": `${item.title} ${item.name}, ${item.detail}${value ? ", " + value : ""}`, onclick: open,
      ondblclick: () => item.group && this.toggle(item.group),
      onkeydown: (event) => this.onKey(event, item),
    },
      svg("title", {}, `${item.name || item.title}\n${item.detail}`),
      item.group ? svg("rect", { class: "behind", x: 4, y: 4, width: item.w, height: item.h, rx: 6 }) : null,
      svg("rect", { class: "body", width: item.w, height: item.h, rx: port ? item.h / 2 : 6 }),
      heat > 0 ? svg("rect", { class: "heat", width: item.w, height: item.h, rx: 6, "fill-opacity": (0.07 + 0.5 * heat).toFixed(3) }) : null,
      port ? null : svg("path", { class: "stripe", d: `M6 0 H5 Q0 0 0 6 V${item.h - 6} Q0 ${item.h} 5 ${item.h} H6 Z` }),
      port
        ? [svg("text", { class: "title middle", x: item.w / 2, y: 15 }, shortened(item.title, 26)),
          svg("text", { class: "detail middle", x: item.w / 2, y: 27 }, shortened(item.detail, 32))]
        : [svg("text", { class: "title", x: 14, y: 19 }, (item.group && !item.name ? cut : shortened)(item.title, room)),
          svg("text", { class: "value", x: item.w - 9, y: 19 }, value),
          svg("text", { class: "detail", x: 14, y: 36 }, (item.group ? cut : shortened)(item.detail, 27))]);
    return shape;
  }

  // Around the members of what is unfolded, with the way back.
  frames() {
    return this.groups.filter((group) => !this.folded.has(group.id)).map((group) => {
      const places = group.members.map((id) => ({ at: this.layout.boxes[this.itemOf.get(id)], item: this.items_[this.itemOf.get(id)] }));
      const left = Math.min(...places.map(({ at }) => at.x)) - 12;
      const top = Math.min(...places.map(({ at }) => at.y)) - 14;
      const right = Math.max(...places.map(({ at, item }) => at.x + item.w)) + 12;
      const bottom = Math.max(...places.map(({ at, item }) => at.y + item.h)) + 12;
      const fold = () => this.toggle(group);
      // Ranges of the run's order may lie across each other in the drawing; then only the details fold them again.
      const inside = (item, at) => at.x < right && at.x + item.w > left && at.y < bottom && at.y + item.h > top;
      const own = new Set(group.members.map((id) => this.itemOf.get(id)));
      if (this.items_.some((item, i) => !own.has(i) && inside(item, this.layout.boxes[i]))) return null;
      return svg("g", { class: "frame" },
        svg("rect", { x: left, y: top, width: right - left, height: bottom - top, rx: 10 }),
        svg("g", {
          class: "fold", transform: `translate(${right - 9} ${top + 9})`, role: "button", tabindex: 0,
          "aria-label": "Fold " + (group.name || group.title), onclick: fold,
          onkeydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), fold()),
        },
          svg("title", {}, "Fold: " + (group.name || group.title)), svg("circle", { r: 8 }), svg("path", { d: "M-4 0 H4" })));
    });
  }

  onKey(event, item) {
    const index = this.items_.indexOf(item);
    const next = { ArrowDown: this.links.find((link) => link[0] === index)?.[1], ArrowUp: this.links.find((link) => link[1] === index)?.[0] };
    if (event.key === "Enter" || event.key === " ") this.select(item);
    else if (event.key in next && next[event.key] !== undefined) {
      this.select(this.items_[next[event.key]]);
      this.shapes[next[event.key]].focus();
    } else return;
    event.preventDefault();
  }

  select(item) {
    this.selected = item ? { id: item.box?.id, group: item.group?.id } : null;
    this.markSelected();
    this.onselect(this.view, item);
  }

  selectBox(id, move = true) {
    const group = this.groupOf.get(id);
    if (group && this.folded.has(group.id)) this.toggle(group);
    const index = this.itemOf.get(id);
    this.select(this.items_[index]);
    if (move) this.reveal(index);
  }

  reveal(index) {
    const at = this.layout.boxes[index];
    const item = this.items_[index];
    const x = (at.x + MARGIN + item.w / 2) * this.zoom - this.scroll.clientWidth / 2;
    const y = (at.y + MARGIN + item.h / 2) * this.zoom - this.scroll.clientHeight / 2;
    this.scroll.scrollTo({ left: x, top: y, behavior: "instant" });
  }

  // Of a phone the lower half is taken by what is known of the selected box.
  showAboveSheet() {
    this.scroll.scrollIntoView({ block: "start", behavior: "instant" });
    const index = this.selectedIndex();
    const y = (this.layout.boxes[index].y + MARGIN + this.items_[index].h / 2) * this.zoom;
    this.scroll.scrollTop = y - 0.2 * window.innerHeight;
  }

  selectedIndex() {
    if (!this.selected) return -1;
    const { id, group } = this.selected;
    return this.items_.findIndex((item) => (item.group ? item.group.id === group : item.box.id === id));
  }

  markSelected() {
    const index = this.selectedIndex();
    this.shapes.forEach((shape, i) => shape.classList.toggle("selected", i === index));
    this.arrows.forEach((arrow, i) => arrow.classList.toggle("near", this.links[i].includes(index)));
  }

  // Returns the boxes that match.
  search(text) {
    this.query = text;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (item) => words.every((word) => (item.words || "").includes(word));
    this.canvas.classList.toggle("searching", words.length > 0);
    this.items_.forEach((item, i) => this.shapes[i].classList.toggle("match", words.length > 0 && matches(item)));
    return words.length ? this.view.boxes.filter(matches) : [];
  }

  colourBy(metric) {
    this.metric = metric;
    this.draw();
  }

  setZoom(zoom, centre) {
    const before = this.zoom;
    this.zoom = Math.max(0.08, Math.min(3, zoom));
    this.canvas.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.canvas.setAttribute("width", this.width * this.zoom);
    this.canvas.setAttribute("height", this.height * this.zoom);
    if (!centre) return;
    const ratio = this.zoom / before;
    this.scroll.scrollLeft = (this.scroll.scrollLeft + centre.x) * ratio - centre.x;
    this.scroll.scrollTop = (this.scroll.scrollTop + centre.y) * ratio - centre.y;
  }

  zoomBy(factor) {
    this.setZoom(this.zoom * factor, { x: this.scroll.clientWidth / 2, y: this.scroll.clientHeight / 2 });
  }

  // As wide as the panel where that is legible; the whole of it with `all`.
  fit(all = false) {
    const across = this.scroll.clientWidth / this.width;
    const down = this.scroll.clientHeight / this.height;
    this.setZoom(all ? Math.min(across, down) : Math.max(0.45, Math.min(1, across)));
    this.scroll.scrollLeft = (this.width * this.zoom - this.scroll.clientWidth) / 2;
    this.scroll.scrollTop = 0;
  }

  // A mouse drags; fingers scroll as everywhere, and two of them zoom, as the wheel does with Ctrl.
  handlePointers() {
    const fingers = new Map();
    let drag = null;
    const spread_ = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    let apart = 0;
    const at = (event) => {
      const frame = this.scroll.getBoundingClientRect();
      return { x: event.clientX - frame.left, y: event.clientY - frame.top };
    };
    this.scroll.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0)
        drag = { x: event.clientX, y: event.clientY, left: this.scroll.scrollLeft, top: this.scroll.scrollTop };
      if (event.pointerType === "touch") fingers.set(event.pointerId, at(event));
      if (fingers.size === 2) apart = spread_();
    });
    window.addEventListener("pointermove", (event) => {
      if (drag) {
        this.scroll.scrollLeft = drag.left - (event.clientX - drag.x);
        this.scroll.scrollTop = drag.top - (event.clientY - drag.y);
      }
      if (!fingers.has(event.pointerId)) return;
      fingers.set(event.pointerId, at(event));
      if (fingers.size !== 2) return;
      const [a, b] = [...fingers.values()];
      const now = spread_();
      this.setZoom((this.zoom * now) / apart, { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
      apart = now;
    });
    for (const end of ["pointerup", "pointercancel"]) {
      window.addEventListener(end, (event) => {
        drag = null;
        fingers.delete(event.pointerId);
      });
    }
    this.scroll.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.setZoom(this.zoom * Math.exp(-event.deltaY / 300), at(event));
    }, { passive: false });
  }

  // Paper does not scroll: a long graph stands in columns side by side.
  drawStrips() {
    const width = 1040;  // Of the paper, in which a letter of 12 is one of six points.
    const fits = (scale, height) => Math.floor(width / (this.width * scale)) * (height - BOX_HEIGHT * scale) >= this.height * scale;
    const scales = Array.from({ length: 20 }, (_, i) => 1 - i * 0.02);
    const choices = [[860, scales], [1380, scales]].flatMap(([height, all]) => all.map((scale) => [scale, height]));
    const [scale, paper] = choices.find(([s, height]) => fits(s, height)) || [Math.max(0.25, Math.min(0.7, width / this.width)), 1380];
    const height = paper / scale;
    const strips = [];
    for (let top = 0, end = 0; top < this.height; top = end) {
      const rows = this.layout.rows.map((row) => row + MARGIN - GAP_Y / 2).filter((row) => row > top + height / 2 && row <= top + height);
      end = this.height - top <= height ? this.height : rows.pop() ?? top + height;
      const part = end - top;
      strips.push(svg("svg", {
        viewBox: `0 ${top} ${this.width} ${part}`, class: "strip", style: `width: ${(100 * this.width * scale) / width}%`,
      }, svg("use", { href: "#drawing" })));
    }
    this.strips.replaceChildren(...strips);
  }
}
