/** The style sheet, added once to each page. */

import css from "./style.css?inline";
import { element } from "./dom";

const ID = "lowland-scatter-style";

export function addStyle(near: HTMLElement): void {
  near.classList.add("lowland-scatter");
  if (!document.getElementById(ID)) document.head.append(element("style", { id: ID }, css));
}
