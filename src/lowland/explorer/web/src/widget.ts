/** Entry of the notebook widget (anywidget). */

import "./compile"; // first: regl compiles through it
import { element } from "./dom";
import { decode, type Payload } from "./payload";
import { Scatter } from "./scatter";
import { webglProblem } from "./view";

interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): (() => void) | undefined {
  const problem = webglProblem();
  if (problem) {
    el.append(element("p", {}, `The interactive map cannot be shown: ${problem}.`));
    return undefined;
  }
  const host = element("div");
  el.append(host);
  // JupyterLab extends its selection of cells from a press with Shift, and keeps the moves that follow for itself
  host.addEventListener("mousedown", (event) => {
    if (event.shiftKey) event.stopPropagation();
  });
  const scatter = new Scatter(host, decode(JSON.parse(String(model.get("data"))) as Payload), {
    selected: (rows) => {
      model.set("selected", rows);
      model.save_changes();
    },
  });
  return () => scatter.destroy();
}

export default { render };
