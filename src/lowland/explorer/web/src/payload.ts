/** The data of a scatter: what Python writes as JSON (see README.md), and its decoded form. */

export const FORMAT = 1;

export type NumberType = "u8" | "i8" | "i16" | "i32" | "f32" | "f64";
export type Numbers = Uint8Array | Int8Array | Int16Array | Int32Array | Float32Array | Float64Array;

/** Numbers as base64 of their little-endian bytes. */
export interface Packed {
  type: NumberType;
  data: string;
}

export interface PackedAxis {
  name: string;
  values: Packed;
}

export type PackedColumn =
  | { name: string; kind: "number"; values: Packed }
  | { name: string; kind: "category"; codes: Packed; labels: string[] }
  | { name: string; kind: "text"; values: (string | null)[] };

export interface Palette {
  groups: string[];
  scale: string[];
}

export interface Payload {
  format: number;
  /** Rows of the data; `count` of them are drawn. */
  total: number;
  count: number;
  /** Row numbers of the drawn rows, counted from 0; null if all are drawn. */
  rows: Packed | null;
  axes: PackedAxis[];
  columns: PackedColumn[];
  /** Positions in `columns`. */
  id: number | null;
  color: number | null;
  trust: { name: string; values: Packed } | null;
  images: (string | null)[] | null;
  palette: Palette;
}

export interface NumberColumn {
  name: string;
  kind: "number";
  values: Numbers;
}

export interface CategoryColumn {
  name: string;
  kind: "category";
  /** Position in `labels`, or -1 for a missing value. */
  codes: Numbers;
  labels: string[];
}

export interface TextColumn {
  name: string;
  kind: "text";
  values: (string | null)[];
}

export type Column = NumberColumn | CategoryColumn | TextColumn;

export interface Axis {
  name: string;
  values: Numbers;
}

export interface Data {
  total: number;
  count: number;
  rows: Numbers | null;
  axes: Axis[];
  columns: Column[];
  id: number | null;
  color: number | null;
  trust: NumberColumn | null;
  images: (string | null)[] | null;
  palette: Palette;
}

const ARRAYS = {
  u8: Uint8Array,
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};

/** Return the numbers of a base64 text. */
export function unpack(packed: Packed): Numbers {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[packed.type](bytes.buffer);
}

/** Return the data of a payload; an error names the part that does not fit. */
export function decode(payload: Payload): Data {
  if (payload.format !== FORMAT) throw new Error(`payload: format ${payload.format} is not ${FORMAT}`);
  const { count } = payload;
  const numbers = (what: string, packed: Packed): Numbers => checked(what, unpack(packed), count);
  return {
    total: payload.total,
    count,
    rows: payload.rows && numbers("rows", payload.rows),
    axes: payload.axes.map(({ name, values }) => ({ name, values: numbers(name, values) })),
    columns: payload.columns.map((column): Column => {
      if (column.kind === "number") return { ...column, values: numbers(column.name, column.values) };
      if (column.kind === "category") return { ...column, codes: numbers(column.name, column.codes) };
      return { ...column, values: checked(column.name, column.values, count) };
    }),
    id: payload.id,
    color: payload.color,
    trust: payload.trust && {
      name: payload.trust.name,
      kind: "number",
      values: numbers("trust", payload.trust.values),
    },
    images: payload.images && checked("images", payload.images, count),
    palette: payload.palette,
  };
}

function checked<T extends { length: number }>(what: string, values: T, count: number): T {
  if (values.length !== count) throw new Error(`payload: ${what} has ${values.length} values for ${count} points`);
  return values;
}
