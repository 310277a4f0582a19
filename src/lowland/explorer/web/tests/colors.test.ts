import { describe, expect, it } from "vitest";
import { asCategories, coloring, contrast, mixed, plainColoring, readable } from "../src/colors";
import type { CategoryColumn, NumberColumn } from "../src/payload";
import { dark, light, palette } from "./sample";

const category = (codes: number[], labels: string[]): CategoryColumn => ({
  name: "group",
  kind: "category",
  codes: Int32Array.from(codes),
  labels,
});
const numbers = (...values: number[]): NumberColumn => ({ name: "v", kind: "number", values: Float64Array.from(values) });

describe("groups", () => {
  it("get the colours of the palette in order, with counts", () => {
    const { codes, legend, colors } = coloring(category([1, 0, 1], ["a", "b"]), palette, light);
    expect([...codes]).toEqual([1, 0, 1]);
    expect(colors[0]).toBe("#3f90da");
    expect(colors.length).toBe(2);
    expect(legend.kind === "groups" && legend.entries.map((e) => [e.label, e.count])).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
  });

  it("beyond the palette share one entry, the largest stay", () => {
    const { codes, legend } = coloring(category([0, 1, 1, 2, 2, 3], ["a", "b", "c", "d"]), palette, light);
    const entries = legend.kind === "groups" ? legend.entries : [];
    expect(entries.map(({ label }) => label)).toEqual(["b", "c", "other (2 smaller groups)"]);
    expect([...codes]).toEqual([2, 0, 0, 1, 1, 2]);
    expect(entries.at(-1)).toMatchObject({ color: light.faint, count: 2 });
  });

  it("show missing values in grey", () => {
    const { codes, legend } = coloring(category([0, -1], ["a"]), palette, light);
    expect([...codes]).toEqual([0, 1]);
    expect(legend.kind === "groups" && legend.entries[1]).toMatchObject({ label: "missing", color: light.faint });
  });

  it("leave out labels without points", () => {
    const { legend } = coloring(category([1, 1], ["absent", "here"]), palette, light);
    expect(legend.kind === "groups" && legend.entries.map(({ label }) => label)).toEqual(["here"]);
  });

  it("are made from texts", () => {
    const made = asCategories({ name: "t", kind: "text", values: ["b", null, "a", "b"] });
    expect(made.labels).toEqual(["a", "b"]);
    expect([...made.codes]).toEqual([1, -1, 0, 1]);
  });
});

describe("numbers", () => {
  it("lie on the scale between their ends", () => {
    const { codes, colors, legend } = coloring(numbers(10, 20, 15), palette, light);
    expect([...codes]).toEqual([0, 254, 127]);
    expect(colors[0]).toBe("#440154");
    expect(colors[254]).toBe("#fde725");
    expect(legend).toMatchObject({ kind: "scale", low: "10", high: "20", missing: 0 });
  });

  it("that are missing are grey, and counted", () => {
    const { codes, colors, legend } = coloring(numbers(1, Number.NaN), palette, light);
    expect(colors[codes[1] ?? 0]).toBe(light.faint);
    expect(legend).toMatchObject({ missing: 1 });
  });

  it("of a fixed range do not stretch to the data", () => {
    const { codes, legend } = coloring(numbers(0.5, 0.5), palette, light, [0, 1]);
    expect([...codes]).toEqual([127, 127]);
    expect(legend).toMatchObject({ low: "0", high: "1" });
  });
});

describe("colours on a page", () => {
  it("of a scale stand out from a dark background", () => {
    const { colors } = coloring(numbers(0, 1), palette, dark);
    for (const color of colors.slice(0, 255)) {
      expect(contrast(color, dark.background)).toBeGreaterThanOrEqual(3);
    }
    expect(colors[254]).toBe("#fde725");
  });

  it("stand out from the background", () => {
    for (const theme of [light, dark]) {
      for (const color of ["#003c5a", "#690f00", "#92dadd", "#00f087"]) {
        expect(contrast(readable(color, theme), theme.background)).toBeGreaterThanOrEqual(2);
      }
    }
    expect(readable("#3f90da", light)).toBe("#3f90da");
  });

  it("have the contrast that WCAG defines", () => {
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
    expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
  });

  it("mix along a list", () => {
    expect(mixed(["#000000", "#ff0000"], 0.5)).toBe("#800000");
    expect(mixed(["#000000", "#ff0000"], 1)).toBe("#ff0000");
  });

  it("without a column are one", () => {
    expect(plainColoring(2, light)).toMatchObject({ colors: [light.accent], legend: { kind: "none" } });
  });
});
