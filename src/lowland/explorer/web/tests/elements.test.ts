import { describe, expect, it, vi } from "vitest";
import { coloring } from "../src/colors";
import { type Choices, controls } from "../src/controls";
import { isInside, withoutOverlap } from "../src/labels";
import { legendElements } from "../src/legend";
import { decode } from "../src/payload";
import { normalized, strip } from "../src/scale";
import { tooltipContents } from "../src/tooltip";
import { light, MARKUP, palette, samplePayload } from "./sample";

const data = decode(samplePayload());
const inPage = (parts: Node[]): HTMLElement => {
  const root = document.createElement("div");
  root.append(...parts);
  return root;
};

describe("the legend", () => {
  it("has a button for each group that chooses it", () => {
    const choose = vi.fn();
    const species = data.columns[1];
    if (!species) throw new Error("no column");
    const root = inPage(legendElements(coloring(species, palette, light).legend, "species", choose));
    const buttons = [...root.querySelectorAll("button")];
    expect(buttons.map((button) => button.textContent)).toEqual(["cat 2", "dog 1", "missing 1"]);
    buttons[1]?.click();
    expect(choose).toHaveBeenCalledWith(1, "dog");
  });

  it("of numbers shows both ends", () => {
    const age = data.columns[2];
    if (!age) throw new Error("no column");
    const root = inPage(legendElements(coloring(age, palette, light).legend, "age", vi.fn()));
    expect(root.textContent).toBe("age1.520grey: 1 missing");
  });

  it("keeps markup in names as text", () => {
    const column = { name: MARKUP, kind: "category", codes: Int8Array.of(0), labels: [MARKUP] } as const;
    const { legend } = coloring({ ...column, labels: [MARKUP] }, palette, light);
    const root = inPage(legendElements(legend, MARKUP, vi.fn()));
    expect(root.querySelector("img")).toBeNull();
    expect(root.textContent).toContain(MARKUP);
  });
});

describe("the tooltip", () => {
  it("shows id, columns, trust and image", () => {
    const root = inPage(tooltipContents(data, 0));
    expect(root.querySelector("strong")?.textContent).toBe("ada");
    expect([...root.querySelectorAll("dt")].map((dt) => dt.textContent)).toEqual([
      "species",
      "age",
      "share of neighbours kept",
    ]);
    expect(root.querySelector("img")?.getAttribute("src")).toBe("data:image/png;base64,AAAA");
  });

  it("keeps markup as text and takes no other addresses as images", () => {
    const root = inPage(tooltipContents(data, 2));
    expect(root.querySelector("img")).toBeNull();
    expect(root.querySelector("strong")?.textContent).toBe(MARKUP);
  });
});

describe("the controls", () => {
  const make = (values = data) => {
    const choose = vi.fn<(choices: Choices, axesChanged: boolean) => void>();
    const actions = { choose, search: vi.fn(), lasso: vi.fn(), zoom: vi.fn(), reset: vi.fn() };
    return { actions, root: inPage(controls(values, actions).parts) };
  };

  it("offer every column, axes and trust, each with a label", () => {
    const { root } = make();
    const [color, x, y] = [...root.querySelectorAll("select")];
    expect([...(color?.options ?? [])].map((o) => o.text)).toEqual(["one colour", "name", "species", "age"]);
    expect(x?.value).toBe("0");
    expect(y?.value).toBe("1");
    for (const field of root.querySelectorAll("select, input")) expect(field.closest("label")).not.toBeNull();
  });

  it("report choices", () => {
    const { root, actions } = make();
    const [color, , y] = [...root.querySelectorAll("select")];
    if (!color || !y) throw new Error("no fields");
    color.value = "3";
    color.dispatchEvent(new Event("change"));
    expect(actions.choose).toHaveBeenLastCalledWith({ color: 2, trust: false, x: 0, y: 1 }, false);
    y.value = "2";
    y.dispatchEvent(new Event("change"));
    expect(actions.choose).toHaveBeenLastCalledWith({ color: 2, trust: false, x: 0, y: 2 }, true);
  });

  it("toggle the lasso", () => {
    const { root, actions } = make();
    const lasso = root.querySelector<HTMLButtonElement>("[aria-pressed]");
    lasso?.click();
    expect(lasso?.getAttribute("aria-pressed")).toBe("true");
    lasso?.click();
    expect(actions.lasso.mock.calls).toEqual([[true], [false]]);
  });

  it("offer no axes where there are two", () => {
    const { root } = make({ ...data, axes: data.axes.slice(0, 2), columns: [], trust: null });
    expect(root.querySelectorAll("select, [type=checkbox]").length).toBe(0);
  });
});

describe("positions", () => {
  it("have one scale for both axes and fill the box", () => {
    const { x, y } = normalized(Float32Array.of(0, 10), Float32Array.of(0, 1), 4 / 3, 0);
    expect([...x].map((v) => v.toFixed(4))).toEqual(["-1.3333", "1.3333"]);
    expect((y[1] ?? 0) - (y[0] ?? 0)).toBeCloseTo(((x[1] ?? 0) - (x[0] ?? 0)) / 10, 5);
  });

  it("of one point are the middle", () => {
    expect([...normalized(Float32Array.of(5), Float32Array.of(7), 1).x]).toEqual([0]);
  });

  it("of a strip are apart", () => {
    expect(new Set(strip(Float32Array.of(1, 2, 3))).size).toBe(3);
  });
});

describe("names", () => {
  const box = (left: number) => ({ left, top: 0, width: 10, height: 10 });

  it("that would overlap an earlier one are left out", () => {
    expect(withoutOverlap([[box(0)], [box(5)], [box(10)], []])).toEqual([box(0), null, box(10), null]);
  });

  it("go to another side if that is free", () => {
    expect(withoutOverlap([[box(0)], [box(5), box(-20)]])).toEqual([box(0), box(-20)]);
  });

  it("stay inside the map", () => {
    expect([box(-1), box(0), box(10), box(11)].map((one) => isInside(one, 20, 10))).toEqual([false, true, true, false]);
  });
});
