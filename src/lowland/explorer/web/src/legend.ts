/** The legend under the map. */

import type { Legend } from "./colors";
import { element } from "./dom";

/** Return the legend of a colouring; a click on a group calls `choose` with its code; `absent` names grey points of a scale. */
export function legendElements(
  legend: Legend,
  name: string,
  choose: (code: number, label: string) => void,
  absent = "missing",
): Node[] {
  if (legend.kind === "none") return [];
  const title = element("span", { class: "ll-legend-title" }, name);
  if (legend.kind === "scale") {
    const bar = element("span", { class: "ll-scale" });
    bar.style.background = `linear-gradient(to right, ${legend.colors.join(", ")})`;
    const parts: Node[] = [title, element("span", {}, legend.low), bar, element("span", {}, legend.high)];
    if (legend.missing > 0) parts.push(element("span", {}, `grey: ${legend.missing.toLocaleString("en")} ${absent}`));
    return parts;
  }
  const list = element("ul", { "aria-label": `Groups of ${name}` });
  for (const entry of legend.entries) {
    const swatch = element("span", { class: "ll-swatch", "aria-hidden": "true" });
    swatch.style.background = entry.color;
    const count = element("span", { class: "ll-count" }, entry.count.toLocaleString("en"));
    const button = element("button", { type: "button", title: "Select this group" }, swatch, `${entry.label} `, count);
    button.addEventListener("click", () => choose(entry.code, entry.label));
    list.append(element("li", {}, button));
  }
  return [title, list];
}
