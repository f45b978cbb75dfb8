// What readers take away: numbers of graphs as CSV, drawings as SVG or PNG.

const KEPT_SECONDS = 20;

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000 * KEPT_SECONDS);
}

// A cell that a spreadsheet would take for a formula gets an apostrophe, which makes it text.
function cell(text) {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvOf(collection, graphs) {
  const columns = collection.columns;
  const head = ["graph", ...(collection.names ? ["name"] : []), ...columns.map((column) => column.name)];
  const lines = [head.map(cell).join(",")];
  for (const graph of graphs) {
    const names = collection.names ? [collection.name(graph)] : [];
    const values = columns.map((column) => (column.kind === "number" ? String(column.values[graph]) : collection.text(column, graph)));
    lines.push([String(graph), ...names, ...values].map(cell).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

export function saveCsv(collection, graphs) {
  save(new Blob([csvOf(collection, graphs)], { type: "text/csv" }), "selection.csv");
}

export function svgText(svg) {
  // characters that XML cannot hold, which names may, would make the file unreadable
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}

export function saveSvg(svg, name) {
  save(new Blob([svgText(svg)], { type: "image/svg+xml" }), `${name}.svg`);
}

export async function savePng(svg, name, scale = 3) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = scale * Number(svg.getAttribute("width"));
  canvas.height = scale * Number(svg.getAttribute("height"));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  save(blob, `${name}.png`);
}
