import { describe, expect, it, vi } from "vitest";
import { cellText, idsOf, numberText, rowOf, scaleEnds } from "../src/cells";
import { decode } from "../src/payload";
import { SelectionPanel, selectionText } from "../src/selection";
import { MARKUP, samplePayload, withoutIds } from "./sample";

const data = decode(samplePayload());

describe("a lasso's points", () => {
  it("become ids, one a line, in the order of the data", () => {
    expect(idsOf(data, [2, 0, 1])).toBe(`ada\nBo\n${MARKUP}`);
  });

  it("become row numbers of the data, counted from 1, if there are no ids", () => {
    expect(idsOf(withoutIds(data), [3, 0])).toBe("2\n9");
    expect(rowOf(data, 3)).toBe(8);
  });

  it("are described", () => {
    expect(selectionText(data, [0, 1], "")).toBe("2 of 4 rows selected.");
    expect(selectionText(data, [], "contain “x”")).toBe("No rows contain “x”.");
    expect(selectionText(data, [1], "contain “Bo”")).toBe("1 of 4 rows selected: they contain “Bo”.");
  });
});

describe("the panel", () => {
  it("lists cells as text and copies ids", async () => {
    const writeText = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    const panel = new SelectionPanel(data, () => undefined);
    const details = panel.root.querySelector("details") as HTMLDetailsElement;
    details.open = true;
    panel.show([2, 1], "");
    expect(details.querySelectorAll("tbody tr").length).toBe(2);
    expect(details.querySelector("tbody")?.textContent).toContain(MARKUP);
    expect(details.querySelector("img")).toBeNull();
    (panel.root.querySelector("button") as HTMLButtonElement).click();
    await vi.waitFor(() => expect(panel.root.querySelector("[role=status]")?.textContent).toBe("2 ids copied."));
    expect(writeText).toHaveBeenCalledWith(`Bo\n${MARKUP}`);
    vi.unstubAllGlobals();
  });

  it("has nothing to copy without a selection", () => {
    const panel = new SelectionPanel(data, () => undefined);
    expect([...panel.root.querySelectorAll("button")].every((button) => button.disabled)).toBe(true);
  });
});

describe("cells", () => {
  it("are texts", () => {
    const texts = data.columns.map((column) => cellText(column, 3));
    expect(texts).toEqual(["missing", "missing", "3"]);
    expect(numberText(0.1 + 0.2)).toBe("0.3");
    expect(numberText(123456789)).toBe("123456789");
    expect(numberText(1e-7)).toBe("1e-7");
  });

  it("have ends of a scale with the digits that differ", () => {
    expect(scaleEnds(0.123456, 9.87654)).toEqual(["0.12", "9.88"]);
    expect(scaleEnds(1000.12345, 1000.12399)).toEqual(["1000.12345", "1000.12399"]);
    expect(scaleEnds(-0.0001, 1500)).toEqual(["0", "1500"]);
    expect(scaleEnds(3.25, 3.25)).toEqual(["3.25", "3.25"]);
  });
});
