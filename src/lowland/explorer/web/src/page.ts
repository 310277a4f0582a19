/** Entry of the script in a page: draws every scatter whose data stand before it. */

import { useNonce } from "./compile"; // first: regl compiles through it
import { element } from "./dom";
import { decode, type Payload } from "./payload";
import { Scatter } from "./scatter";
import { webglProblem } from "./view";

const SELECTOR = "[data-lowland-scatter]:not([data-lowland-state])";

/** Draw a scatter into its element; the static picture stays if that is not possible. */
async function show(host: HTMLElement): Promise<void> {
  const fallback = document.getElementById(host.dataset["lowlandFallback"] ?? "");
  try {
    const problem = webglProblem();
    if (problem) throw new Error(problem);
    const text = document.getElementById(host.dataset["lowlandScatter"] ?? "")?.textContent ?? "";
    host.hidden = false;
    const scatter = new Scatter(host, decode(JSON.parse(text) as Payload));
    await scatter.ready;
    fallback?.classList.add("lowland-print-only");
    host.dataset["lowlandState"] = "ready";
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    host.replaceChildren(element("p", { class: "ll-failed" }, `The interactive map cannot be shown: ${reason}.`));
    host.hidden = false;
    host.dataset["lowlandState"] = "failed";
  }
}

const own = document.currentScript;
if (own instanceof HTMLScriptElement && own.nonce) useNonce(own.nonce);
for (const host of document.querySelectorAll<HTMLElement>(SELECTOR)) {
  host.dataset["lowlandState"] = "drawing";
  void show(host);
}
