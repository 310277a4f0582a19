/** The box beside a point: its id, its columns, its image. */

import { cellText, idOf } from "./cells";
import { element } from "./dom";
import type { Data } from "./payload";

/** Return the contents of the box of a point. */
export function tooltipContents(data: Data, point: number): HTMLElement[] {
  const parts: HTMLElement[] = [];
  const image = data.images?.[point];
  if (image?.startsWith("data:image/")) parts.push(element("img", { src: image, alt: "" }));
  const name = data.id === null ? `row ${idOf(data, point)}` : idOf(data, point);
  parts.push(element("strong", {}, name));
  const list = element("dl");
  data.columns.forEach((column, i) => {
    if (i !== data.id) list.append(element("dt", {}, column.name), element("dd", {}, cellText(column, point)));
  });
  if (data.trust) list.append(element("dt", {}, data.trust.name), element("dd", {}, cellText(data.trust, point)));
  if (list.childElementCount > 0) parts.push(list);
  return parts;
}

/** Put a box beside a place of the plot so that it stays inside of the plot's width. */
export function placeTooltip(box: HTMLElement, x: number, y: number, width: number, height: number): void {
  const left = x + 14 + box.offsetWidth <= width ? x + 14 : x - 14 - box.offsetWidth;
  const top = Math.min(y + 10, height - box.offsetHeight - 4);
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
}
