/** Elements. Text is always set as text, never as markup. */

type Attributes = Record<string, string | boolean>;

/** Return a new element with attributes and children; strings become text nodes. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Return a select element with its label; options are numbered from 0. */
export function labelledSelect(label: string, options: string[], chosen: number): [HTMLElement, HTMLSelectElement] {
  const select = element("select");
  options.forEach((text, value) => select.append(element("option", { value: String(value) }, text)));
  select.value = String(chosen);
  return [element("label", { class: "ll-field" }, element("span", {}, label), select), select];
}
