// Which neighbouring nodes fold into one box. A group is a range of the order in which the plan runs, so that folding
// never makes a cycle.

const LARGEST_GROUP = 60;
const UNFOLDED_AT_FIRST = 160;  // Nodes; more begin folded.

function findGroups(view) {
  const nodes = view.boxes.filter((box) => box.kind === "node");
  let ranges = byScope(nodes, atoms(view, nodes));
  ranges = ranges.flatMap((range) => pieces(range));
  return ranges.filter((range) => range.end - range.begin > 1).map((range, id) => {
    const members = nodes.slice(range.begin, range.end).map((box) => box.id);
    return { id, members, name: range.name || "", title: operatorsText(nodes.slice(range.begin, range.end)) };
  });
}

// Between two atoms there is one tensor only: what lies inside are branches that part and meet again.
function atoms(view, nodes) {
  const change = new Array(nodes.length + 1).fill(0);
  for (const box of nodes) {
    if (box.node.shape_program) continue;
    for (const tensor of box.makes) {
      const readers = (view.users.get(tensor) || []).filter((id) => id < nodes.length);
      if (!readers.length) continue;
      change[box.id] += 1;
      change[Math.max(...readers)] -= 1;
    }
  }
  const ranges = [];
  let crossing = 0;
  let begin = 0;
  for (let i = 0; i < nodes.length; ++i) {
    crossing += change[i];
    if (crossing > 1 && i + 1 < nodes.length) continue;
    ranges.push({ begin, end: i + 1 });
    begin = i + 1;
  }
  return ranges;
}

const scopeOf = (box, depth) => {
  const parts = box.name.split("/").filter(Boolean);
  return parts.length > depth ? parts.slice(0, depth).join("/") : parts.slice(0, -1).join("/");
};

// Neighbours whose names share a scope belong together, at the first depth that makes enough groups to tell parts
// apart.
function byScope(nodes, ranges) {
  const enough = Math.min(10, nodes.length / 6);
  for (let depth = 1; depth <= 6; ++depth) {
    const merged = [];
    for (const range of ranges) {
      const name = scopeOf(nodes[range.begin], depth);
      const last = merged[merged.length - 1];
      if (last && name && last.name === name) last.end = range.end;
      else merged.push({ ...range, name });
    }
    const groups = merged.filter((range) => range.end - range.begin > 1 && range.name);
    if (groups.length >= enough && groups.length > 1) return merged;
  }
  return ranges;
}

function pieces(range) {
  const length = range.end - range.begin;
  if (length <= LARGEST_GROUP) return [range];
  const count = Math.ceil(length / (LARGEST_GROUP / 2));
  return Array.from({ length: count }, (_, i) => ({
    begin: range.begin + Math.floor((length * i) / count), end: range.begin + Math.floor((length * (i + 1)) / count),
    name: `${range.name || "part"} ${i + 1} of ${count}`,
  }));
}

function operatorsText(boxes) {
  const counts = new Map();
  for (const box of boxes) counts.set(box.title, (counts.get(box.title) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([op, count]) => (count > 1 ? `${count} ${op}` : op)).join(", ");
}
