/** Small data for the tests. */

import type { Data, Packed, Palette, Payload } from "../src/payload";
import type { Theme } from "../src/colors";

export const MARKUP = '<img src=x onerror="alert(1)">';
export const palette: Palette = { groups: ["#3f90da", "#ffa90e", "#bd1f01"], scale: ["#440154", "#21918c", "#fde725"] };
export const light: Theme = { dark: false, background: "#ffffff", ink: "#1f2328", faint: "#8c959f", accent: "#3f6fd8" };
export const dark: Theme = { dark: true, background: "#14181d", ink: "#e6edf3", faint: "#7d8590", accent: "#79a8ff" };

export function pack(type: Packed["type"], values: ArrayBufferView): Packed {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { type, data: btoa(String.fromCharCode(...bytes)) };
}

export function samplePayload(): Payload {
  return {
    format: 1,
    total: 9,
    count: 4,
    rows: pack("i32", Int32Array.of(1, 3, 5, 8)),
    axes: [
      { name: "PCA 1", values: pack("f32", Float32Array.of(0, 1, 2, 4)) },
      { name: "PCA 2", values: pack("f32", Float32Array.of(1, 0, 1, 0)) },
      { name: "PCA 3", values: pack("f32", Float32Array.of(5, 6, 7, 8)) },
    ],
    columns: [
      { name: "name", kind: "text", values: ["ada", "Bo", MARKUP, null] },
      { name: "species", kind: "category", codes: pack("i8", Int8Array.of(0, 1, 0, -1)), labels: ["cat", "dog"] },
      { name: "age", kind: "number", values: pack("f32", Float32Array.of(1.5, 20, Number.NaN, 3)) },
    ],
    id: 0,
    color: 1,
    trust: { name: "share of neighbours kept", values: pack("f32", Float32Array.of(0.1, 0.5, 1, Number.NaN)) },
    images: ["data:image/png;base64,AAAA", null, "javascript:alert(1)", null],
    palette,
  };
}

export function withoutIds(data: Data): Data {
  return { ...data, id: null };
}
