import { describe, expect, it } from "vitest";
import { decode } from "../src/payload";
import { search } from "../src/search";
import { samplePayload, withoutIds } from "./sample";

const data = decode(samplePayload());

describe("search", () => {
  it("finds texts, categories and numbers, upper or lower case", () => {
    expect(search(data, "ADA")).toEqual([0]);
    expect(search(data, "cat")).toEqual([0, 2]);
    expect(search(data, "20")).toEqual([1]);
    expect(search(data, "onerror")).toEqual([2]);
  });

  it("finds nothing for an empty text, and no missing values", () => {
    expect(search(data, "  ")).toEqual([]);
    expect(search(data, "missing")).toEqual([]);
  });

  it("finds whole row numbers if there are no ids", () => {
    const plain = { ...withoutIds(data), columns: [] };
    expect(search(plain, "9")).toEqual([3]);
    expect(search(plain, "6")).toEqual([2]);
    expect(search(plain, "1")).toEqual([]);
  });
});
