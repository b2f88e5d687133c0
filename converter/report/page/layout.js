// Layers from top to bottom: ranks by the longest path, an order within each layer that crosses few arrows, and
// places that keep arrows straight.

const GAP_X = 22;
const GAP_Y = 34;
const MOST_BENDS = 20000;  // Beyond these, long arrows go straight.

// items: {w, h} in an order in which producers come first; links: [from, to]. Returns {boxes: [{x, y}], bends, width, height,
// rows}: where a layer begins, and where bends[i] are the points between the ends of links[i].
function layout(items, links) {
  const ranks = rankOf(items.length, links);
  const cells = items.map((item, id) => ({ rank: ranks[id], w: item.w, h: item.h, up: [], down: [], x: 0 }));
  const chains = [];
  let bends = links.reduce((sum, [from, to]) => sum + Math.max(0, ranks[to] - ranks[from] - 1), 0);
  for (const [from, to] of links) {
    const chain = [];
    let last = from;
    for (let rank = ranks[from] + 1; rank < ranks[to] && bends <= MOST_BENDS; ++rank) {
      const cell = { rank, w: 10, h: 0, up: [last], down: [], x: 0, bend: true };
      cells[last].down.push(cells.length);
      last = cells.length;
      chain.push(last);
      cells.push(cell);
    }
    cells[last].down.push(to);
    cells[to].up.push(last);
    chains.push(chain);
  }
  const layers = [];
  cells.forEach((cell, id) => (layers[cell.rank] = layers[cell.rank] || []).push(id));
  for (let i = 0; i < layers.length; ++i) layers[i] = layers[i] || [];
  orderLayers(cells, layers);
  placeLayers(cells, layers);
  let y = 0;
  const tops = layers.map((layer) => {
    const height = Math.max(...layer.map((id) => cells[id].h), 10);
    const top = y;
    y += height + GAP_Y;
    return { top, height };
  });
  const left = Math.min(...cells.map((cell) => cell.x - cell.w / 2), 0);
  const right = Math.max(...cells.map((cell) => cell.x + cell.w / 2), 0);
  const yOf = (cell) => tops[cell.rank].top + (tops[cell.rank].height - cell.h) / 2;
  return {
    boxes: items.map((item, id) => ({ x: cells[id].x - left - item.w / 2, y: yOf(cells[id]) })),
    bends: chains.map((chain) => chain.map((id) => ({ x: cells[id].x - left, y: yOf(cells[id]) }))),
    width: right - left, height: Math.max(0, y - GAP_Y), rows: tops.map((row) => row.top),
  };
}

function rankOf(count, links) {
  const ranks = new Array(count).fill(0);
  const sorted = [...links].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  // Producers come first but for inputs, whose numbers are large; a few rounds settle those.
  for (let round = 0, changed = true; changed && round < count + 1; ++round) {
    changed = false;
    for (const [from, to] of sorted) {
      if (ranks[to] <= ranks[from]) {
        ranks[to] = ranks[from] + 1;
        changed = true;
      }
    }
  }
  // What nothing goes into stands right above its first reader.
  const fed = new Set(links.map(([, to]) => to));
  const nearest = new Map();
  for (const [from, to] of links) nearest.set(from, Math.min(nearest.get(from) ?? Infinity, ranks[to]));
  for (const [from, rank] of nearest) if (!fed.has(from)) ranks[from] = rank - 1;
  return ranks;
}

function orderLayers(cells, layers) {
  const place = new Array(cells.length).fill(0);
  const number = (layer) => layer.forEach((id, i) => (place[id] = i));
  layers.forEach(number);
  const mean = (ids, fallback) => (ids.length ? ids.reduce((sum, id) => sum + place[id], 0) / ids.length : fallback);
  const sweeps = cells.length > 5000 ? 4 : 12;
  let best = null;
  let least = Infinity;
  for (let sweep = 0; sweep < sweeps && least > 0; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wanted = new Map(layer.map((id) => [id, mean(down ? cells[id].up : cells[id].down, place[id])]));
      layer.sort((a, b) => wanted.get(a) - wanted.get(b) || place[a] - place[b]);
      number(layer);
    }
    const crossed = crossings(cells, layers, place);
    if (crossed < least) {
      least = crossed;
      best = layers.map((layer) => [...layer]);
    }
  }
  if (best) best.forEach((layer, i) => (layers[i] = layer));
}

function crossings(cells, layers, place) {
  let count = 0;
  for (const layer of layers) {
    const ends = [];
    for (const id of layer) for (const below of cells[id].down) ends.push([place[id], place[below]]);
    if (ends.length > 400) continue;  // Counting them all would take longer than it is worth.
    for (let i = 0; i < ends.length; ++i) {
      for (let k = 0; k < i; ++k) count += (ends[i][0] - ends[k][0]) * (ends[i][1] - ends[k][1]) < 0 ? 1 : 0;
    }
  }
  return count;
}

function placeLayers(cells, layers) {
  for (const layer of layers) spread(cells, layer, layer.map(() => 0));
  const sweeps = 18;
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    // The last ones put everything right below what is above it.
    const last = sweep + 2 >= sweeps;
    const down = sweep % 2 === 0 || last;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wanted = layer.map((id) => {
        const near = sweep < 4 || last ? (down ? cells[id].up : cells[id].down) : [...cells[id].up, ...cells[id].down];
        return near.length ? pulled(cells, id, near) : cells[id].x;
      });
      spread(cells, layer, wanted);
    }
  }
}

// Between its neighbours. A box and a long arrow hardly pull at each other, so that chains of boxes stay straight, and so
// do long arrows beside them.
function pulled(cells, id, near) {
  let sum = 0;
  let weights = 0;
  for (const other of near) {
    const weight = Boolean(cells[id].bend) === Boolean(cells[other].bend) ? 1 : 1e-6;
    sum += weight * cells[other].x;
    weights += weight;
  }
  return sum / weights;
}

// The places nearest to the wanted ones at which neighbours keep their order and distance: pools of cells that touch
// share the mean of what they want.
function spread(cells, layer, wanted) {
  const pools = [];
  let offset = 0;
  layer.forEach((id, i) => {
    if (i > 0) offset += (cells[layer[i - 1]].w + cells[id].w) / 2 + GAP_X;
    const weight = cells[id].bend ? 1 : 1000;
    let pool = { sum: (wanted[i] - offset) * weight, weight, members: [[id, offset]] };
    while (pools.length && pools[pools.length - 1].sum / pools[pools.length - 1].weight > pool.sum / pool.weight) {
      const before = pools.pop();
      pool = { sum: before.sum + pool.sum, weight: before.weight + pool.weight, members: before.members.concat(pool.members) };
    }
    pools.push(pool);
  });
  for (const pool of pools) for (const [id, at] of pool.members) cells[id].x = pool.sum / pool.weight + at;
}
