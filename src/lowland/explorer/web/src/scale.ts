/** Positions of points on the canvas. */

import type { Numbers } from "./payload";

/**
 * Return coordinates inside of a box of the given aspect ratio: |x| ≤ aspect, |y| ≤ 1, with one scale for both axes, so
 * that distances can be compared.
 */
export function normalized(x: Numbers, y: Numbers, aspect: number, margin = 0.06): { x: Float32Array; y: Float32Array } {
  const [left, right] = ends(x);
  const [bottom, top] = ends(y);
  const room = 1 - margin;
  const half = Math.max((right - left) / 2 / aspect, (top - bottom) / 2) / room || 1;
  const [cx, cy] = [left / 2 + right / 2, bottom / 2 + top / 2];
  return {
    x: Float32Array.from(x, (value) => (value - cx) / half),
    y: Float32Array.from(y, (value) => (value - cy) / half),
  };
}

function ends(values: Numbers): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 0];
}

/** Return heights for points that have one coordinate only: they separate the points and have no meaning. */
export function strip(x: Numbers): Float32Array {
  const [low, high] = ends(x);
  return Float32Array.from(x, (_, i) => ((i * 0.6180339887498949) % 1) * (high - low) * 0.25);
}
