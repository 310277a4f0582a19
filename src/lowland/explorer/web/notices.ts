/** Licence notices of the packages inside of a bundle. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Return the folder of the package that a module of node_modules belongs to, or null. */
export function packageFolder(module: string): string | null {
  const path = module.replace(/^\0/, "").replace(/\?.*$/, "");
  if (!path.includes("/node_modules/")) return null;
  for (let folder = dirname(path); folder.includes("/node_modules/"); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf-8")).name) return folder;
  }
  return null;
}

/** Return the notices of the packages of these modules; a package without a licence is an error. */
export function notices(modules: string[]): string {
  const folders = [...new Set(modules.map(packageFolder).filter((folder) => folder !== null))].sort();
  return folders.map(notice).join("\n\n");
}

function notice(folder: string): string {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
  if (!license) throw new Error(`${name} has no licence in its package.json`);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const by = typeof author === "string" ? author : author?.name;
  const text = file ? readFileSync(join(folder, file), "utf-8").trim() : by ? `Copyright (c) ${by}` : "";
  return `${name} ${version} (${license})\n\n${text}`;
}
