/** The canvas: regl-scatterplot with our colours, sizes and events. */

import createScatterplot from "regl-scatterplot";
import type { Coloring, Theme } from "./colors";

const EXTENSIONS = ["OES_texture_float", "WEBGL_color_buffer_float", "EXT_float_blend"];

export interface Positions {
  x: Float32Array;
  y: Float32Array;
}

export interface Events {
  hover(point: number | null): void;
  select(points: number[]): void;
  move(): void;
}

/** Return why the browser cannot draw the map, or null. */
export function webglProblem(): string | null {
  const gl = document.createElement("canvas").getContext("webgl");
  if (!gl) return "this browser has no WebGL";
  const absent = EXTENSIONS.find((name) => !gl.getExtension(name));
  gl.getExtension("WEBGL_lose_context")?.loseContext(); // browsers allow few contexts on a page
  return absent ? `this browser's WebGL has no ${absent}` : null;
}

/** Return the diameter of points in pixels. */
export function pointSize(count: number): number {
  return Math.min(9, Math.max(2.5, 80 / count ** 0.32));
}

/** A canvas with points. Drawing is queued: regl-scatterplot ignores a call while the last one has not finished. */
export class View {
  readonly canvas: HTMLCanvasElement;
  private readonly plot: ReturnType<typeof createScatterplot>;
  private queue: Promise<unknown> = Promise.resolve();
  private drawn: Positions | null = null;
  private count = 0;

  constructor(canvas: HTMLCanvasElement, count: number, theme: Theme, events: Events) {
    this.canvas = canvas;
    this.count = count;
    const keys = { actionKeyMap: { lasso: "shift", merge: "cmd", remove: "alt" } }; // no rotation: axes have names
    this.plot = createScatterplot({
      ...keys,
      canvas,
      pointSize: pointSize(count),
      pointSizeSelected: 2,
      pointOutlineWidth: 1.5,
      opacityBy: "density" as never, // its types do not list this value
      opacityInactiveMax: 0.35,
      opacityInactiveScale: 0.5,
      lassoLineWidth: 2,
      lassoMinDist: 4,
      spatialIndexUseWorker: false, // a worker would need a blob address, which a strict page forbids
      ...themed(theme),
    });
    this.plot.subscribe("pointOver", (point) => events.hover(point));
    this.plot.subscribe("pointOut", () => events.hover(null));
    this.plot.subscribe("select", ({ points }) => events.select([...points]));
    this.plot.subscribe("deselect", () => events.select([]));
    this.plot.subscribe("view", () => events.move());
  }

  /** Draw the points; resolves when they are on the canvas. */
  draw(positions: Positions, coloring: Coloring): Promise<void> {
    return this.enqueue(async () => {
      const colored = coloring.colors.length > 1;
      await this.plot.set({ colorBy: colored ? "valueA" : null, pointColor: coloring.colors });
      const index = this.drawn === positions ? { spatialIndex: this.plot.get("spatialIndex") } : {};
      await this.plot.draw(
        { x: positions.x, y: positions.y, valueA: coloring.codes },
        { zDataType: "categorical", ...index },
      );
      this.drawn = positions;
    });
  }

  /** Follow the page from light to dark or back. */
  restyle(theme: Theme): Promise<void> {
    return this.enqueue(() => this.plot.set(themed(theme)));
  }

  select(points: number[]): Promise<void> {
    return this.enqueue(async () => {
      if (points.length > 0) this.plot.select(points, { preventEvent: true });
      else this.plot.deselect({ preventEvent: true });
    });
  }

  setLasso(on: boolean): Promise<void> {
    return this.enqueue(() => this.plot.set({ mouseMode: on ? "lasso" : "panZoom" }));
  }

  /** Enlarge the map around the centre of the canvas. */
  zoom(factor: number): void {
    this.moveCamera((view) => {
      for (const i of [0, 1, 4, 5, 12, 13]) view[i] = (view[i] ?? 0) * factor;
    });
  }

  /** Move the map by shares of the canvas's height. */
  pan(right: number, up: number): void {
    this.moveCamera((view) => {
      view[12] = (view[12] ?? 0) + 2 * right;
      view[13] = (view[13] ?? 0) + 2 * up;
    });
  }

  async reset(): Promise<void> {
    await this.enqueue(() => this.plot.reset());
  }

  place(point: number): [number, number] | undefined {
    return point < this.count && this.drawn ? this.plot.getScreenPosition(point) : undefined;
  }

  destroy(): void {
    this.plot.destroy();
  }

  private moveCamera(change: (view: Float32Array) => void): void {
    const view = Float32Array.from(this.plot.get("cameraView"));
    change(view);
    this.plot.view([...view]);
  }

  private enqueue(work: () => Promise<void>): Promise<void> {
    const next = this.queue.then(work);
    this.queue = next.catch(() => undefined); // the caller sees the error; the next drawing starts anyway
    return next;
  }
}

function themed(theme: Theme) {
  return {
    backgroundColor: theme.background,
    pointColorActive: theme.ink,
    pointColorHover: theme.ink,
    lassoColor: theme.accent,
    reticleColor: theme.faint,
  };
}
