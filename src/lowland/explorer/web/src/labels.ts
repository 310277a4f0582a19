/** Names beside the points of a small map; a name that would cover another one goes to another side or is left out. */

import { idOf } from "./cells";
import { element } from "./dom";
import type { Data } from "./payload";

export const MAX_LABELS = 40;
const GAP = 6; // pixels between a point and its name

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Return for each list of places the first that overlaps none taken before, in order; null if there is none. */
export function withoutOverlap(choices: Box[][]): (Box | null)[] {
  const taken: Box[] = [];
  return choices.map((places) => {
    const free = places.find((box) => !taken.some((other) => overlap(box, other)));
    if (free) taken.push(free);
    return free ?? null;
  });
}

function overlap(a: Box, b: Box): boolean {
  const apart =
    a.left >= b.left + b.width || b.left >= a.left + a.width || a.top >= b.top + b.height || b.top >= a.top + a.height;
  return !apart;
}

/** Return whether a box lies inside a frame of this size. */
export function isInside(box: Box, width: number, height: number): boolean {
  return box.left >= 0 && box.top >= 0 && box.left + box.width <= width && box.top + box.height <= height;
}

/** Names of all points in an element over the canvas; empty if there are too many points or no ids. */
export class Labels {
  readonly root = element("div", { class: "ll-labels", "aria-hidden": "true" });
  private readonly names: HTMLElement[] = [];

  constructor(data: Data) {
    if (data.id === null || data.count > MAX_LABELS) return;
    for (let point = 0; point < data.count; point++) this.names.push(element("span", {}, idOf(data, point)));
    this.root.append(...this.names);
  }

  /** Put the names beside their points, inside the map. */
  update(place: (point: number) => [number, number] | undefined): void {
    const [wide, high] = [this.root.clientWidth, this.root.clientHeight];
    const choices = this.names.map((name, point): Box[] => {
      const at = place(point);
      if (!at) return [];
      const [x, y] = at;
      const [width, height] = [name.offsetWidth, name.offsetHeight];
      const [middle, across] = [y - height / 2, x - width / 2];
      const corners = [
        [x + GAP, middle],
        [x - GAP - width, middle],
        [across, y - GAP - height],
        [across, y + GAP],
      ] as const;
      return corners
        .map(([left, top]) => ({ left, top, width, height }))
        .filter((box) => isInside(box, wide, high));
    });
    withoutOverlap(choices).forEach((box, point) => {
      const name = this.names[point];
      if (!name) return;
      name.style.visibility = box ? "visible" : "hidden";
      if (box) name.style.transform = `translate(${box.left}px, ${box.top}px)`;
    });
  }
}
