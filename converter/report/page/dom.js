// Elements and numbers. Texts come out of model files: they become text nodes and attributes, never markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function scaled(value, units, step) {
  let unit = 0;
  while (Math.abs(value) >= step * 0.9995 && unit + 1 < units.length) {
    value /= step;
    ++unit;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits) + " " + units[unit];
}

const bytesText = (bytes) => scaled(bytes, ["B", "kB", "MB", "GB", "TB"], 1000);
const timeText = (ns) => scaled(ns, ["ns", "µs", "ms", "s"], 1000);
const workText = (flops) => (flops ? scaled(flops, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"], 1000) : "–");
const countText = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const shareText = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";
const rateText = (amount, ns) => (amount && ns ? (amount / ns).toFixed(1) : "–");
const errorText = (error) => (error === null ? "∞" : error === 0 ? "0" : error.toExponential(1));
const plural = (count, word) => countText(count) + " " + word + (count === 1 ? "" : "s");
const shapeText = (shape) => (shape.length ? shape.map((size) => (size < 0 ? "?" : size)).join("×") : "scalar");
const typeText = (tensor) => tensor.dtype + " " + shapeText(tensor.shape);

function rangeText(range) {
  const end = range.max === null ? " and more" : range.max === range.min ? "" : ` to ${range.max}`;
  const text = range.min + end;
  return range.multiple > 1 ? `${text}, multiples of ${range.multiple}` : text;
}

// A long text with its middle left out; the ends of names tell them apart.
function shortened(text, length) {
  if (text.length <= length) return text;
  const end = Math.ceil((length - 1) * 0.6);
  return text.slice(0, length - 1 - end) + "…" + text.slice(text.length - end);
}

const cut = (text, length) => (text.length <= length ? text : text.slice(0, length - 1) + "…");

const badge = (text, kind) => html("span", { class: "badge " + (kind || "") }, text);

// columns: {title, number, key, cell}. Without a key a column is not sorted by. options: limit (of rows at first), narrow, onrow.
function table(columns, rows, options = {}) {
  const body = html("tbody");
  const shown = options.limit ? Math.min(options.limit, rows.length) : rows.length;
  let all = shown === rows.length;
  let sorted = rows;
  const fillBody = () => {
    body.replaceChildren(...sorted.map((row, i) => {
      const line = html("tr", { class: !all && i >= shown ? "beyond" : null },
        columns.map((column) => html("td", { class: column.number ? "number" : column.kind || null }, column.cell(row))));
      if (options.onrow) {
        line.classList.add("link");
        line.addEventListener("click", () => options.onrow(row));
      }
      return line;
    }));
  };
  const heads = columns.map((column) => {
    if (!column.key) return html("th", { class: column.number ? "number" : null }, column.title);
    const head = html("th", { class: column.number ? "number" : null, "aria-sort": "none" });
    const sort = () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (a, b) => {
        const [x, y] = [column.key(a), column.key(b)];
        return (x < y ? 1 : x > y ? -1 : 0) * (down ? 1 : -1);
      };
      sorted = [...rows].sort(order);
      fillBody();
    };
    head.append(html("button", { type: "button", onclick: sort }, column.title));
    return head;
  });
  fillBody();
  const whole = html("div", { class: "scroll" }, html("table", { class: options.narrow ? "narrow" : null }, html("thead", {}, html("tr", {}, heads)), body));
  if (all) return whole;
  const more = html("button", {
    type: "button", class: "more",
    onclick: () => {
      all = true;
      fillBody();
      more.remove();
    },
  }, `Show all ${countText(rows.length)}`);
  return [whole, more];
}

// A short bar behind a number.
const bar = (share, kind) => {
  const inner = html("span", { class: "bar-fill " + (kind || "") });
  inner.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
  return html("span", { class: "bar", "aria-hidden": "true" }, inner);
};
