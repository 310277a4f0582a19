/** Cells as text: what the tooltip, the search, the table and the clipboard show. */

import type { Column, Data } from "./payload";

export const MISSING = "missing";

/** Return a number as text: whole numbers in full, others with six digits. */
export function numberText(value: number): string {
  if (Number.isNaN(value)) return MISSING;
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : String(Number(value.toPrecision(6)));
}

/** Return a cell as text. */
export function cellText(column: Column, point: number): string {
  if (column.kind === "number") return numberText(column.values[point] ?? Number.NaN);
  if (column.kind === "category") return column.labels[column.codes[point] ?? -1] ?? MISSING;
  return column.values[point] ?? MISSING;
}

/** Return the number of a point's row in the data, counted from 0. */
export function rowOf(data: Data, point: number): number {
  return data.rows?.[point] ?? point;
}

/** Return the id of a point: the cell of the id column, else the row number, counted from 1. */
export function idOf(data: Data, point: number): string {
  const column = data.id === null ? undefined : data.columns[data.id];
  return column ? cellText(column, point) : String(rowOf(data, point) + 1);
}

/** Return the ids of points, one a line, in the order of the data. */
export function idsOf(data: Data, points: Iterable<number>): string {
  return [...points]
    .sort((a, b) => a - b)
    .map((point) => idOf(data, point))
    .join("\n");
}

/** Return the ends of a scale with the digits that tell them apart: about three of their difference. */
export function scaleEnds(low: number, high: number): [string, string] {
  const digits = high > low ? Math.max(0, 2 - Math.floor(Math.log10(high - low))) : -1;
  if (digits < 0 || digits > 12) return [numberText(low), numberText(high)];
  const rounded = (value: number): string => String(Number(value.toFixed(digits)) + 0);
  return [rounded(low), rounded(high)];
}
