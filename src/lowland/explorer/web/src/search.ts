/** Search: the points whose cells contain a text. */

import { cellText, idOf } from "./cells";
import type { Column, Data } from "./payload";

/** Return the points with the text in a column or in their id; upper and lower case are the same. */
export function search(data: Data, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const found = new Uint8Array(data.count);
  for (const column of data.columns) markMatches(column, wanted, found);
  if (data.id === null) {
    for (let point = 0; point < data.count; point++) {
      if (idOf(data, point) === wanted) found[point] = 1; // a row number is the whole number or not the row
    }
  }
  const points: number[] = [];
  for (let point = 0; point < data.count; point++) if (found[point]) points.push(point);
  return points;
}

function markMatches(column: Column, wanted: string, found: Uint8Array): void {
  if (column.kind === "category") {
    const matches = column.labels.map((label) => label.toLowerCase().includes(wanted));
    for (let point = 0; point < found.length; point++) if (matches[column.codes[point] ?? -1]) found[point] = 1;
    return;
  }
  for (let point = 0; point < found.length; point++) {
    if (!found[point] && hasValue(column, point) && cellText(column, point).toLowerCase().includes(wanted)) {
      found[point] = 1;
    }
  }
}

function hasValue(column: Exclude<Column, { kind: "category" }>, point: number): boolean {
  return column.kind === "text" ? column.values[point] != null : !Number.isNaN(column.values[point]);
}
