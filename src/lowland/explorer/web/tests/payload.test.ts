import { describe, expect, it } from "vitest";
import { decode, unpack } from "../src/payload";
import { pack, samplePayload } from "./sample";

describe("unpack", () => {
  it("reads each type of number", () => {
    expect([...unpack(pack("u8", Uint8Array.of(0, 255)))]).toEqual([0, 255]);
    expect([...unpack(pack("i8", Int8Array.of(-1, 7)))]).toEqual([-1, 7]);
    expect([...unpack(pack("i16", Int16Array.of(-300, 300)))]).toEqual([-300, 300]);
    expect([...unpack(pack("i32", Int32Array.of(-70000, 2 ** 31 - 1)))]).toEqual([-70000, 2 ** 31 - 1]);
    expect([...unpack(pack("f64", Float64Array.of(Math.PI)))]).toEqual([Math.PI]);
  });

  it("reads little-endian bytes", () => {
    expect([...unpack({ type: "i16", data: "AQA=" })]).toEqual([1]);
  });
});

describe("decode", () => {
  it("returns coordinates, codes, texts and missing values", () => {
    const data = decode(samplePayload());
    expect(data.axes.map(({ name }) => name)).toEqual(["PCA 1", "PCA 2", "PCA 3"]);
    expect([...(data.rows ?? [])]).toEqual([1, 3, 5, 8]);
    const [name, species, age] = data.columns;
    expect(name?.kind === "text" && name.values[3]).toBeNull();
    expect(species?.kind === "category" && [...species.codes]).toEqual([0, 1, 0, -1]);
    expect(age?.kind === "number" && Number.isNaN(age.values[2])).toBe(true);
  });

  it("names a column of the wrong length", () => {
    const payload = samplePayload();
    payload.columns.push({ name: "short", kind: "text", values: ["a"] });
    expect(() => decode(payload)).toThrow("short has 1 values for 4 points");
  });

  it("refuses another format", () => {
    expect(() => decode({ ...samplePayload(), format: 2 })).toThrow("format 2");
  });
});
