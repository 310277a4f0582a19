/** Names beside the points of a small map; a name that would cover an earlier one is left out. */

import { idOf } from "./cells";
import { element } from "./dom";
import type { Data } from "./payload";

export const MAX_LABELS = 40;

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Return for each box whether it is shown: in order, each that overlaps no earlier one. */
export function withoutOverlap(boxes: Box[]): boolean[] {
  const shown: Box[] = [];
  return boxes.map((box) => {
    const free = shown.every(
      (other) =>
        box.left >= other.left + other.width ||
        other.left >= box.left + box.width ||
        box.top >= other.top + other.height ||
        other.top >= box.top + box.height,
    );
    if (free) shown.push(box);
    return free;
  });
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

  /** Put the names beside their points. */
  update(place: (point: number) => [number, number] | undefined): void {
    const boxes = this.names.map((name, point): Box => {
      const [x, y] = place(point) ?? [-1000, -1000];
      return { left: x + 6, top: y - name.offsetHeight / 2, width: name.offsetWidth, height: name.offsetHeight };
    });
    withoutOverlap(boxes).forEach((shown, point) => {
      const [name, box] = [this.names[point], boxes[point]];
      if (!name || !box) return;
      name.style.visibility = shown ? "visible" : "hidden";
      name.style.transform = `translate(${box.left}px, ${box.top}px)`;
    });
  }
}
