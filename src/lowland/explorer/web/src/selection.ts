/** The line under the map: how many points are selected, their ids for the clipboard, and their cells. */

import { cellText, idOf, idsOf } from "./cells";
import { element } from "./dom";
import type { Data } from "./payload";

const ROWS_LISTED = 50;

/** Return what the selection is, in words; `reason` says where it comes from. */
export function selectionText(data: Data, points: number[], reason: string): string {
  const count = points.length.toLocaleString("en");
  if (points.length === 0) return reason === "" ? "No rows selected." : `No rows ${reason}.`;
  const some = `${count} of ${data.count.toLocaleString("en")} rows selected`;
  return reason === "" ? `${some}.` : `${some}: they ${reason}.`;
}

export class SelectionPanel {
  readonly root: HTMLElement;
  private readonly status = element("p", { role: "status", class: "ll-status" });
  private readonly copy = element("button", { type: "button" }, "Copy ids");
  private readonly clear = element("button", { type: "button" }, "Clear selection");
  private readonly listing = element("details", { hidden: true });
  private points: number[] = [];

  constructor(
    private readonly data: Data,
    cleared: () => void,
  ) {
    this.copy.addEventListener("click", () => void this.copyIds());
    this.clear.addEventListener("click", cleared);
    this.listing.addEventListener("toggle", () => this.list());
    this.root = element("div", { class: "ll-selection" }, this.status, this.copy, this.clear, this.listing);
    this.show([], "");
  }

  show(points: number[], reason: string): void {
    this.points = [...points].sort((a, b) => a - b);
    this.status.textContent = selectionText(this.data, this.points, reason);
    const none = points.length === 0;
    this.copy.disabled = this.clear.disabled = none;
    this.listing.hidden = none;
    this.list();
  }

  private list(): void {
    const some = this.points.slice(0, ROWS_LISTED);
    const further = this.points.length - some.length;
    this.listing.replaceChildren(element("summary", {}, "Selected rows"));
    if (!this.listing.open || some.length === 0) return;
    const columns = this.data.columns.filter((_, i) => i !== this.data.id);
    const idName = this.data.id === null ? "row" : (this.data.columns[this.data.id]?.name ?? "id");
    const head = element("tr", {}, ...[idName, ...columns.map(({ name }) => name)].map((name) => th(name)));
    const rows = some.map((point) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, idOf(this.data, point)),
        ...columns.map((column) => element("td", {}, cellText(column, point))),
      ),
    );
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
    const box = element("div", { class: "ll-rows", tabindex: "0", role: "region", "aria-label": "Selected rows" }, table);
    this.listing.append(box);
    if (further > 0) this.listing.append(element("p", {}, `and ${further.toLocaleString("en")} more`));
  }

  private async copyIds(): Promise<void> {
    const copied = await toClipboard(idsOf(this.data, this.points), this.root);
    const count = this.points.length.toLocaleString("en");
    const ids = this.points.length === 1 ? "id" : "ids";
    this.status.textContent = copied ? `${count} ${ids} copied.` : "The browser did not allow copying.";
  }
}

function th(text: string): HTMLElement {
  return element("th", { scope: "col" }, text);
}

async function toClipboard(text: string, place: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without a secure origin have no clipboard; the older way needs a text area with the selection.
    const area = element("textarea", { "aria-hidden": "true", class: "ll-copy" });
    area.value = text;
    place.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}
