/** Colours of points: groups in distinct colours, numbers on a scale, and the legend of both. */

import { scaleEnds } from "./cells";
import type { CategoryColumn, Column, NumberColumn, Palette, TextColumn } from "./payload";

export interface Theme {
  dark: boolean;
  background: string;
  ink: string;
  faint: string;
  accent: string;
}

export interface LegendEntry {
  label: string;
  color: string;
  count: number;
  /** Value of `codes` of the points of this entry. */
  code: number;
}

export type Legend =
  | { kind: "none" }
  | { kind: "groups"; entries: LegendEntry[] }
  | { kind: "scale"; low: string; high: string; colors: string[]; missing: number };

export interface Coloring {
  /** Position in `colors` for each point. */
  codes: Float32Array;
  colors: string[];
  legend: Legend;
}

const STEPS = 255; // of a scale; one more colour is for missing values
const MIN_CONTRAST = 2; // of a group's colour and the background
const SCALE_CONTRAST = 3; // of the colours of a scale and a dark background

/** Return all points in one colour. */
export function plainColoring(count: number, theme: Theme): Coloring {
  return { codes: new Float32Array(count), colors: [theme.accent], legend: { kind: "none" } };
}

/** Return the colours of a column; `range` fixes the ends of a scale. */
export function coloring(column: Column, palette: Palette, theme: Theme, range?: [number, number]): Coloring {
  if (column.kind === "number") return scaleColoring(column, palette, theme, range);
  return groupColoring(column.kind === "text" ? asCategories(column) : column, palette, theme);
}

/** Return a text column as categories, in order of their labels. */
export function asCategories(column: TextColumn): CategoryColumn {
  const labels = [...new Set(column.values.filter((value) => value !== null))].sort();
  const positions = new Map(labels.map((label, code) => [label, code]));
  const codes = Int32Array.from(column.values, (value) => (value === null ? -1 : (positions.get(value) ?? -1)));
  return { name: column.name, kind: "category", codes, labels };
}

function groupColoring(column: CategoryColumn, palette: Palette, theme: Theme): Coloring {
  const most = palette.groups.length;
  const counts = new Int32Array(column.labels.length);
  let missing = 0;
  for (const code of column.codes) {
    if (code < 0) missing++;
    else counts[code] = (counts[code] ?? 0) + 1;
  }
  const present = column.labels.map((_, code) => code).filter((code) => counts[code]);
  const largest = [...present].sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0)); // ties stay in order of label
  const shown = new Set(present.length > most ? largest.slice(0, most - 1) : largest);
  const entries: LegendEntry[] = [];
  const target = new Int32Array(column.labels.length).fill(-1);
  for (const code of present) {
    if (!shown.has(code)) continue;
    target[code] = entries.length;
    const color = readable(palette.groups[entries.length] ?? theme.faint, theme);
    entries.push({ label: column.labels[code] ?? "", color, count: counts[code] ?? 0, code: entries.length });
  }
  const further = present.length - shown.size;
  const other = entries.length;
  if (further > 0) {
    const count = largest.slice(most - 1).reduce((sum, code) => sum + (counts[code] ?? 0), 0);
    entries.push({ label: `other (${further} smaller groups)`, color: theme.faint, count, code: other });
  }
  const absent = entries.length;
  if (missing > 0) entries.push({ label: "missing", color: theme.faint, count: missing, code: absent });
  const codes = Float32Array.from(column.codes, (code) => {
    if (code < 0) return absent;
    const place = target[code] ?? -1;
    return place < 0 ? other : place;
  });
  return { codes, colors: entries.map((entry) => entry.color), legend: { kind: "groups", entries } };
}

function scaleColoring(column: NumberColumn, palette: Palette, theme: Theme, range?: [number, number]): Coloring {
  let [low, high] = range ?? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  if (!range) {
    for (const value of column.values) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  const scale = scaleColors(palette.scale, theme);
  let missing = 0;
  const codes = Float32Array.from(column.values, (value) => {
    if (!Number.isFinite(value)) {
      missing++;
      return STEPS;
    }
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
  });
  const colors = Array.from({ length: STEPS }, (_, i) => mixed(scale, i / (STEPS - 1)));
  const known = missing < column.values.length;
  const ends = known ? scaleEnds(low, high) : ["", ""];
  return {
    codes,
    colors: [...colors, theme.faint],
    legend: { kind: "scale", low: ends[0] ?? "", high: ends[1] ?? "", colors: scale, missing },
  };
}

/** Return the colours of a scale; on a dark page without its part that hardly stands out from the background. */
function scaleColors(scale: string[], theme: Theme): string[] {
  if (!theme.dark) return scale;
  let start = 0;
  while (start < 0.6 && contrast(mixed(scale, start), theme.background) < SCALE_CONTRAST) start += 0.02;
  return scale.map((_, i) => mixed(scale, start + ((1 - start) * i) / (scale.length - 1)));
}

/** Return the colour at a share of the way along a list of colours. */
export function mixed(colors: string[], share: number): string {
  const place = share * (colors.length - 1);
  const before = Math.min(Math.floor(place), colors.length - 2);
  const [a, b] = [rgb(colors[before] ?? "#000000"), rgb(colors[before + 1] ?? "#000000")];
  return hex(a.map((value, i) => value + (place - before) * ((b[i] ?? 0) - value)));
}

/** Return a colour, moved towards the ink of the page until it stands out from the background. */
export function readable(color: string, theme: Theme): string {
  let made = color;
  for (let step = 1; contrast(made, theme.background) < MIN_CONTRAST && step <= 10; step++) {
    made = mixed([color, theme.ink], step / 10);
  }
  return made;
}

/** Return the contrast of two colours as WCAG 2 defines it: 1 (none) to 21. */
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = rgb(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function rgb(color: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
}

function hex(parts: number[]): string {
  return `#${parts.map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;
}
