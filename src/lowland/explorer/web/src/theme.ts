/** Colours of the page: light or dark, as the reader's system asks. */

import type { Theme } from "./colors";

const LIGHT: Theme = { dark: false, background: "#ffffff", ink: "#1f2328", faint: "#8c959f", accent: "#3f6fd8" };
const DARK: Theme = { dark: true, background: "#14181d", ink: "#e6edf3", faint: "#7d8590", accent: "#79a8ff" };

const query = (): MediaQueryList => window.matchMedia("(prefers-color-scheme: dark)");

export function currentTheme(): Theme {
  return query().matches ? DARK : LIGHT;
}

/** Call a function whenever the theme changes; returns the function that ends this. */
export function onThemeChange(changed: (theme: Theme) => void): () => void {
  const media = query();
  const listener = (): void => changed(media.matches ? DARK : LIGHT);
  media.addEventListener("change", listener);
  return () => media.removeEventListener("change", listener);
}
