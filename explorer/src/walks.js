// Return probabilities, and how two graphs differ, as retgk.walks and retgk.kernels define them;
// a test compares both. Computed here, they take no room in the page.

// Probability that a walk is back after 1, 2, .., steps: rows of nodes. Every node has a loop of
// the mean weight, which is one. With B = D^-1/2 A D^-1/2, half powers give two steps at a time.
export function returnProbabilities({ n, ends, weights }, steps) {
  const { ptr, others, values } = normalised(n, ends, weights);
  const found = new Float64Array(n * steps);
  let [now, next] = [new Float64Array(n), new Float64Array(n)];
  for (let node = 0; node < n; node++) {
    now.fill(0);
    now[node] = 1;
    for (let step = 0; step < steps; step += 2) {
      let [odd, even] = [0, 0];
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let k = ptr[i]; k < ptr[i + 1]; k++) sum += values[k] * now[others[k]];
        next[i] = sum;
        odd += sum * now[i];
        even += sum * sum;
      }
      found[node * steps + step] = odd;
      if (step + 1 < steps) found[node * steps + step + 1] = even;
      [now, next] = [next, now];
    }
  }
  return found;
}

function normalised(n, ends, weights) {
  const rows = Array.from({ length: n }, (_, node) => new Map([[node, 1]]));
  for (let edge = 0; 2 * edge < ends.length; edge++) {
    const [a, b] = [ends[2 * edge], ends[2 * edge + 1]];
    const weight = weights ? weights[edge] : 1;
    rows[a].set(b, (rows[a].get(b) ?? 0) + weight);
    if (a !== b) rows[b].set(a, (rows[b].get(a) ?? 0) + weight);
  }
  const roots = rows.map((row) => Math.sqrt([...row.values()].reduce((sum, weight) => sum + weight, 0)));
  const ptr = [0];
  const [others, values] = [[], []];
  rows.forEach((row, node) => {
    for (const [other, weight] of row) {
      others.push(other);
      values.push(weight / roots[node] / roots[other]);
    }
    ptr.push(others.length);
  });
  return { ptr, others, values };
}

// What every node of two graphs adds to their squared distance: the mean embeddings differ by
// w(v) = mean over G of k(v, .) - mean over H of k(v, .), and the sum of w(v) / n over the nodes of G,
// less that over H, is the squared distance.
export function differences(first, second, kernel) {
  const within = [meanKernel(first, first, kernel), meanKernel(second, second, kernel)];
  const across = [meanKernel(first, second, kernel), meanKernel(second, first, kernel)];
  const parts = within.map((own, side) => own.map((value, node) => (value - across[side][node]) / own.length));
  const total = parts.flatMap((part) => [...part]).reduce((sum, part) => sum + part, 0);
  return { parts, squared: Math.max(0, total) };
}

function meanKernel(rows, columns, { gamma, attributeGamma }) {
  const [p, q, steps] = [rows.probabilities, columns.probabilities, rows.steps];
  return Float64Array.from({ length: rows.n }, (_, v) => {
    let sum = 0;
    for (let u = 0; u < columns.n; u++) {
      if (rows.labels && rows.labels[v] !== columns.labels[u]) continue;
      let squared = 0;
      for (let k = 0; k < steps; k++) squared += (p[v * steps + k] - q[u * steps + k]) ** 2;
      let exponent = gamma * Math.sqrt(squared);
      if (attributeGamma !== null) {
        let gap = 0;
        rows.attributes.forEach(({ values }, k) => (gap += (values[v] - columns.attributes[k].values[u]) ** 2));
        exponent += attributeGamma * Math.sqrt(gap);
      }
      sum += Math.exp(-exponent);
    }
    return sum / columns.n;
  });
}
