/**
 * Functions from source text, for regl, which writes the code of its draw commands itself.
 *
 * A page with a strict Content-Security-Policy forbids `eval` and `Function`. There, the text becomes a script element
 * with the nonce of the page's own script. The text never contains data: only names of shader variables and constants.
 */

type Made = (...values: unknown[]) => unknown;

const SLOT = "__lowlandCompiled";
let nonce: string | null = null;

/** Compile by script elements with this nonce from now on. */
export function useNonce(value: string): void {
  nonce = value;
}

/** Return the function of these parameters with this body. */
export function compile(names: string[], body: string): Made {
  if (nonce === null) return Function(...names, body) as Made;
  const place = globalThis as unknown as Record<string, Made | undefined>;
  const script = document.createElement("script");
  script.nonce = nonce;
  script.textContent = `window.${SLOT}=function(${names.join(",")}){${body}}`;
  document.head.append(script);
  script.remove();
  const made = place[SLOT];
  delete place[SLOT];
  if (!made) throw new Error("the page's Content-Security-Policy does not allow the map's scripts");
  return made;
}

// regl's own call of `Function` is replaced by this name when the bundle is built.
(globalThis as unknown as { __lowlandCompile: typeof compile }).__lowlandCompile = compile;
