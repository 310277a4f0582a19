/** The controls above the map: colour, axes, trust, search, lasso, zoom. */

import { element, labelledSelect } from "./dom";
import type { Data } from "./payload";

export interface Choices {
  /** Position in the columns, or -1 for one colour. */
  color: number;
  trust: boolean;
  x: number;
  y: number;
}

export interface Actions {
  choose(choices: Choices, axesChanged: boolean): void;
  search(text: string): void;
  lasso(on: boolean): void;
  zoom(factor: number): void;
  reset(): void;
}

const SEARCH_DELAY = 150; // milliseconds after the last key

/** Return the controls, and what they choose at first. */
export function controls(data: Data, actions: Actions): { parts: HTMLElement[]; choices: Choices } {
  const choices: Choices = { color: data.color ?? -1, trust: false, x: 0, y: Math.min(1, data.axes.length - 1) };
  const fields = element("div", { class: "ll-fields" });
  const change = (axesChanged = false): void => actions.choose({ ...choices }, axesChanged);
  if (data.columns.length > 0) {
    const names = ["one colour", ...data.columns.map((column) => column.name)];
    const [field, select] = labelledSelect("Colour", names, choices.color + 1);
    select.addEventListener("change", () => {
      choices.color = Number(select.value) - 1;
      change();
    });
    fields.append(field);
  }
  if (data.axes.length > 2) fields.append(...axisFields(data, choices, () => change(true)));
  if (data.trust) {
    const box = element("input", { type: "checkbox" });
    box.addEventListener("change", () => {
      choices.trust = box.checked;
      change();
    });
    fields.append(element("label", { class: "ll-check" }, box, "Colour by trust"));
  }
  fields.append(searchField(actions));
  return { parts: [fields, tools(actions)], choices };
}

function axisFields(data: Data, choices: Choices, changed: () => void): HTMLElement[] {
  const names = data.axes.map((axis) => axis.name);
  return (["x", "y"] as const).map((side) => {
    const [field, select] = labelledSelect(side === "x" ? "Horizontal" : "Vertical", names, choices[side]);
    select.addEventListener("change", () => {
      choices[side] = Number(select.value);
      changed();
    });
    return field;
  });
}

function searchField(actions: Actions): HTMLElement {
  const input = element("input", { type: "search", placeholder: "text or id", autocomplete: "off" });
  let waiting = 0;
  input.addEventListener("input", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => actions.search(input.value), SEARCH_DELAY);
  });
  return element("label", { class: "ll-field" }, element("span", {}, "Search"), input);
}

function tools(actions: Actions): HTMLElement {
  const lasso = element("button", { type: "button", "aria-pressed": "false" }, "Lasso");
  lasso.addEventListener("click", () => {
    const on = lasso.getAttribute("aria-pressed") !== "true";
    lasso.setAttribute("aria-pressed", String(on));
    actions.lasso(on);
  });
  const bar = element("div", { class: "ll-tools", role: "group", "aria-label": "Map" }, lasso);
  const others: [string, string, () => void][] = [
    ["+", "Zoom in", () => actions.zoom(1.5)],
    ["−", "Zoom out", () => actions.zoom(1 / 1.5)],
    ["Reset", "Reset the view", () => actions.reset()],
  ];
  for (const [text, label, run] of others) {
    const button = element("button", { type: "button", "aria-label": label, title: label }, text);
    button.addEventListener("click", run);
    bar.append(button);
  }
  return bar;
}
