/** The interactive scatter: controls, canvas, legend, selection. */

import { rowOf } from "./cells";
import { type Coloring, coloring, plainColoring, type Theme } from "./colors";
import { type Choices, controls } from "./controls";
import { element } from "./dom";
import { Labels } from "./labels";
import { legendElements } from "./legend";
import type { Data } from "./payload";
import { normalized, strip } from "./scale";
import { search } from "./search";
import { SelectionPanel } from "./selection";
import { addStyle } from "./style";
import { currentTheme, onThemeChange } from "./theme";
import { placeTooltip, tooltipContents } from "./tooltip";
import { type Positions, View } from "./view";

const ASPECT = 4 / 3; // of a canvas that has no size yet
const HELP = "Drag to move, scroll after a click to zoom. Keys on the map: arrows move, + and − zoom, 0 resets.";

export interface Options {
  /** Called with the numbers of the selected rows in the data, counted from 0. */
  selected?: (rows: number[]) => void;
}

export class Scatter {
  /** Resolves when the points are on the canvas for the first time. */
  readonly ready: Promise<void>;
  private readonly view: View;
  private readonly plot: HTMLElement;
  private readonly tooltip = element("div", { class: "ll-tooltip", hidden: true });
  private readonly legend = element("div", { class: "ll-legend" });
  private readonly labels = { x: element("div", { class: "ll-x" }), y: element("div", { class: "ll-y" }) };
  private readonly panel: SelectionPanel;
  private readonly names: Labels;
  private readonly endTheme: () => void;
  private readonly resized: ResizeObserver;
  private theme: Theme = currentTheme();
  private choices: Choices;
  private colors: Coloring;
  private positions: Positions;
  private aspect = ASPECT;
  private points: number[] = [];
  private hovered: number | null = null;

  constructor(
    readonly root: HTMLElement,
    private readonly data: Data,
    private readonly options: Options = {},
  ) {
    addStyle(root);
    const made = controls(data, {
      choose: (choices, axesChanged) => void this.choose(choices, axesChanged),
      search: (text) => this.select(search(data, text), text.trim() === "" ? "" : `contain “${text.trim()}”`),
      lasso: (on) => void this.view.setLasso(on),
      zoom: (factor) => this.view.zoom(factor),
      reset: () => void this.view.reset(),
    });
    this.choices = made.choices;
    const canvas = element("canvas");
    this.plot = element("div", { class: "ll-plot", tabindex: "0", role: "application" }, canvas, this.tooltip);
    this.names = new Labels(data);
    this.plot.append(this.names.root);
    this.panel = new SelectionPanel(data, () => this.select([], ""));
    const framed = [this.labels.y, this.plot, this.labels.x]; // titles of axes stand outside, where they hide no point
    root.replaceChildren(...made.parts, ...framed, this.legend, this.panel.root, element("p", { class: "ll-note" }, this.note()));
    this.colors = this.coloring();
    this.positions = this.place();
    this.view = new View(canvas, data.count, this.theme, {
      hover: (point) => this.hover(point),
      select: (points) => this.selectionChanged(points, ""),
      move: () => {
        this.hover(null);
        this.placeNames();
      },
    });
    this.listen();
    this.describe();
    this.endTheme = onThemeChange((theme) => void this.retheme(theme));
    this.ready = this.view.draw(this.positions, this.colors).then(() => this.placeNames());
    this.resized = new ResizeObserver(() => requestAnimationFrame(() => this.resize()));
    this.resized.observe(this.plot);
  }

  /** Select points by their position among the drawn ones. */
  select(points: number[], reason: string): void {
    void this.view.select(points);
    this.selectionChanged(points, reason);
  }

  destroy(): void {
    this.endTheme();
    this.resized.disconnect();
    this.view.destroy();
    this.root.replaceChildren();
  }

  private note(): string {
    const { count, total } = this.data;
    if (count === total) return HELP;
    return `A random sample of ${count.toLocaleString("en")} of ${total.toLocaleString("en")} rows is drawn. ${HELP}`;
  }

  private async choose(choices: Choices, axesChanged: boolean): Promise<void> {
    this.choices = choices;
    this.colors = this.coloring();
    if (axesChanged) this.positions = this.place();
    this.hover(null);
    this.describe();
    await this.view.draw(this.positions, this.colors);
    await this.view.select(this.points);
    this.placeNames();
  }

  /** Follow a change of size; a canvas of another shape gets other positions. */
  private resize(): void {
    const aspect = this.plot.clientWidth / this.plot.clientHeight;
    if (Math.abs(aspect / this.aspect - 1) > 0.02) void this.choose(this.choices, true);
    else this.placeNames();
  }

  private placeNames(): void {
    this.names.update((point) => this.view.place(point));
  }

  private async retheme(theme: Theme): Promise<void> {
    this.theme = theme;
    await this.view.restyle(theme);
    await this.choose(this.choices, false);
  }

  private coloring(): Coloring {
    const { data, choices, theme } = this;
    if (choices.trust && data.trust) return coloring(data.trust, data.palette, theme, [0, 1]);
    const column = data.columns[choices.color];
    return column ? coloring(column, data.palette, theme) : plainColoring(data.count, theme);
  }

  private colorName(): string {
    const { data, choices } = this;
    return (choices.trust ? data.trust?.name : data.columns[choices.color]?.name) ?? "";
  }

  private place(): Positions {
    const { axes } = this.data;
    const x = axes[this.choices.x]?.values ?? new Float32Array();
    this.aspect = this.plot.clientWidth / this.plot.clientHeight || ASPECT;
    return normalized(x, axes.length === 1 ? strip(x) : (axes[this.choices.y]?.values ?? x), this.aspect);
  }

  /** Write the names of the axes, the legend and the description for screen readers. */
  private describe(): void {
    const { axes } = this.data;
    const [x, y] = [axes[this.choices.x]?.name ?? "", axes.length === 1 ? "" : (axes[this.choices.y]?.name ?? "")];
    this.labels.x.textContent = x;
    this.labels.y.textContent = y;
    const against = y ? `${y} against ${x}` : x;
    const hue = this.colorName() ? `, coloured by ${this.colorName()}` : "";
    this.plot.setAttribute("aria-label", `Map of ${this.data.count.toLocaleString("en")} rows: ${against}${hue}. ${HELP}`);
    const choose = (code: number, label: string): void => this.select(this.members(code), `are in the group “${label}”`);
    const absent = this.choices.trust ? "not measured" : "missing";
    this.legend.replaceChildren(...legendElements(this.colors.legend, this.colorName(), choose, absent));
  }

  private members(code: number): number[] {
    const points: number[] = [];
    this.colors.codes.forEach((value, point) => {
      if (value === code) points.push(point);
    });
    return points;
  }

  private selectionChanged(points: number[], reason: string): void {
    this.points = points;
    this.panel.show(points, reason);
    this.options.selected?.(points.map((point) => rowOf(this.data, point)).sort((a, b) => a - b));
  }

  private hover(point: number | null): void {
    this.hovered = point;
    const place = point === null ? undefined : this.view.place(point);
    if (point === null || !place) {
      this.tooltip.hidden = true;
      return;
    }
    this.tooltip.replaceChildren(...tooltipContents(this.data, point));
    this.tooltip.hidden = false;
    placeTooltip(this.tooltip, place[0], place[1], this.plot.clientWidth, this.plot.clientHeight);
  }

  private listen(): void {
    // The wheel scrolls the page until the reader has clicked the map.
    this.plot.addEventListener(
      "wheel",
      (event) => {
        if (!this.plot.contains(document.activeElement) && !event.ctrlKey && !event.metaKey) event.stopPropagation();
      },
      { capture: true },
    );
    this.plot.addEventListener("pointerdown", () => this.plot.focus({ preventScroll: true }));
    this.plot.addEventListener("keydown", (event) => {
      const run = this.keys[event.key];
      if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      run();
    });
  }

  private readonly keys: Record<string, () => void> = {
    ArrowLeft: () => this.view.pan(0.1, 0),
    ArrowRight: () => this.view.pan(-0.1, 0),
    ArrowUp: () => this.view.pan(0, -0.1),
    ArrowDown: () => this.view.pan(0, 0.1),
    "+": () => this.view.zoom(1.25),
    "=": () => this.view.zoom(1.25),
    "-": () => this.view.zoom(0.8),
    "0": () => void this.view.reset(),
    Escape: () => (this.hovered === null ? this.select([], "") : this.hover(null)),
  };
}
