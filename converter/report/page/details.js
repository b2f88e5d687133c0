// What is known of one node, or of a folded group.

class DetailsPanel {
  // goTo(box id), openBody(node, body), showPlace(tensor)
  constructor(actions) {
    this.actions = actions;
    this.element = html("aside", { class: "details", id: "details", "aria-live": "polite" });
    this.show(null, null);
  }

  show(view, item) {
    this.element.classList.toggle("open", Boolean(item));
    if (!item) {
      this.element.replaceChildren(html("p", { class: "hint" }, "Click a box to see what it is, what it costs and what became part of it."));
      return;
    }
    const close = html("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => this.actions.close() }, "×");
    this.element.replaceChildren(close, ...(item.group ? this.ofGroup(view, item) : this.ofBox(view, item.box)).flat(Infinity).filter(Boolean));
    this.element.scrollTop = 0;
  }

  ofGroup(view, item) {
    const members = item.group.members.map((id) => view.boxes[id]);
    return [
      html("h3", {}, item.title), html("p", { class: "name" }, plural(members.length, "node")),
      this.costs(view, item),
      html("p", {}, html("button", { type: "button", id: "unfold", onclick: () => this.actions.toggle(item.group) }, "Unfold")),
      html("ul", { class: "list" }, members.map((box) => html("li", {}, this.link(box), " ", html("small", {}, box.ns ? timeText(box.ns) : "")))),
    ];
  }

  link(box) {
    return html("button", { type: "button", class: "text", onclick: () => this.actions.goTo(box.id) }, box.node ? `${box.title} ${shortened(box.name, 44)}` : `${box.kind} ${box.name}`);
  }

  costs(view, box) {
    const facts = [];
    const add = (title, value, share) => facts.push(html("dt", {}, title), html("dd", {}, value, share === undefined ? null : bar(share)));
    if (view.top && box.ns) add("Time", `${timeText(box.ns)} · ${shareText(box.share)}`, box.share);
    if (box.flops) add("Work", `${workText(box.flops)} · ${rateText(box.flops, box.ns)} GFLOP/s`);
    if (box.bytes) add("Moved", `${bytesText(box.bytes)} · ${rateText(box.bytes, box.ns)} GB/s`);
    return facts.length ? html("dl", { class: "facts" }, facts) : null;
  }

  ofBox(view, box) {
    const node = box.node;
    return [
      html("h3", {}, box.title), box.kind === "node" ? html("p", { class: "name" }, box.name) : null,
      html("p", {}, badge(box.delegateText, "of-" + box.delegate),
        box.errors.length ? [" ", badge(box.errors.every((row) => row.ok) ? "agrees with eager" : "differs from eager",
          box.errors.every((row) => row.ok) ? "good" : "bad")] : null),
      this.costs(view, box),
      node && node.attributes ? html("p", { class: "code" }, node.attributes) : null,
      this.others(view, box), this.bodies(node), this.foldButton(box),
      this.tensors(view, "Reads", node ? node.inputs : box.reads, (t) => (view.producer.has(t) ? [view.producer.get(t)] : [])),
      this.tensors(view, "Writes", node ? node.outputs : box.makes, (t) => view.users.get(t) || []),
      this.sources(box), this.errors(box),
    ];
  }

  // The node of the same name on the other sides.
  others(view, box) {
    if (!view.top || box.kind !== "node") return null;
    const rows = this.actions.counterparts(view, box);
    if (!rows.length) return null;
    return [html("h4", {}, "Elsewhere"), html("dl", { class: "facts" }, rows.map(({ label, other }) => [
      html("dt", {}, label), html("dd", {}, `${timeText(other.ns)} · ${other.delegateText}`)]))];
  }

  foldButton(box) {
    const group = this.actions.groupOf(box);
    return group ? html("p", {}, html("button", { type: "button", onclick: () => this.actions.toggle(group) }, `Fold with its ${plural(group.members.length - 1, "neighbour")}`)) : null;
  }

  bodies(node) {
    if (!node || !node.bodies) return null;
    return [html("h4", {}, "Bodies"), node.bodies.map((body) => html("p", {}, html("button", {
      type: "button", onclick: () => this.actions.openBody(node, body),
    }, `Show ${body.name}: ${plural(body.graph.nodes.length, "node")}`)))];
  }

  tensors(view, title, indices, ends) {
    if (!indices.length) return null;
    return [html("h4", {}, title), html("ul", { class: "tensors" }, indices.map((index) => {
      if (index < 0) return html("li", { class: "muted" }, "left out");
      const tensor = view.tensors[index];
      const notes = [];
      if (tensor.constant) notes.push("constant");
      if (tensor.quantization) notes.push(tensor.quantization);
      if (tensor.stored) notes.push(`${tensor.stored.dtype} in the file, ${bytesText(tensor.stored.bytes)}`);
      if (tensor.view_of !== undefined) notes.push(`part of ${view.tensors[tensor.view_of].name}`);
      return html("li", {},
        html("b", {}, typeText(tensor)), " ", html("small", {}, bytesText(tensor.bytes)), html("br"),
        html("span", { class: "name" }, tensor.name),
        notes.length ? [html("br"), html("small", {}, notes.join(" · "))] : null,
        tensor.place && view.top ? [html("br"), html("button", { type: "button", class: "text", onclick: () => this.actions.showPlace(index) },
          `arena ${countText(tensor.place.offset)} to ${countText(tensor.place.offset + tensor.place.bytes)}`)] : null,
        ends(index).map((id) => [html("br"), title === "Reads" ? "from " : "to ", this.link(view.boxes[id])]));
    }))];
  }

  sources(box) {
    if (!box.sources.length) return null;
    return [html("h4", {}, "Stands for"), html("ul", { class: "tensors" }, box.sources.map((source) => html("li", {},
      html("b", {}, source.operator), " ", html("span", { class: "name" }, source.name),
      source.notes.map((note) => [html("br"), html("small", {}, note)]))))];
  }

  errors(box) {
    if (!box.errors.length) return null;
    return [html("h4", {}, "Against eager mode"), html("ul", { class: "tensors" }, box.errors.map((row) => html("li", {},
      html("b", {}, errorText(row.relative)), " of the largest element ", badge(row.ok ? "ok" : "differs", row.ok ? "good" : "bad"), html("br"),
      html("small", {}, row.problem || `at most ${row.allowed}`), html("br"), html("span", { class: "name" }, row.name))))];
  }
}
