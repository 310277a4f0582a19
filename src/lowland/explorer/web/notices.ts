/** Licence notices of the packages inside of a bundle. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

interface Package {
  name: string;
  version: string;
  license?: string;
  author?: string | { name?: string };
  dependencies?: Record<string, string>;
}

const read = (folder: string): Package => JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));

/** Return the folder of the package that a module of node_modules belongs to, or null. */
export function packageFolder(module: string): string | null {
  const path = module.replace(/^\0/, "").replace(/\?.*$/, "");
  if (!path.includes("/node_modules/")) return null;
  for (let folder = dirname(path); folder.includes("/node_modules/"); folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json")) && read(folder).name) return folder;
  }
  return null;
}

/** Return packages and all that they depend on: some are published with their dependencies inside. */
function withDependencies(folders: string[]): string[] {
  const found = new Set<string>();
  const visit = (folder: string): void => {
    if (found.has(folder)) return;
    found.add(folder);
    for (const name of Object.keys(read(folder).dependencies ?? {})) {
      for (let above = folder; above !== dirname(above); above = dirname(above)) {
        const place = join(above, "node_modules", name);
        if (existsSync(place)) {
          visit(place);
          break;
        }
      }
    }
  };
  folders.forEach(visit);
  return [...found];
}

/** Return the notices of the packages of these modules; a package without a licence is an error. */
export function notices(modules: string[]): string {
  const folders = modules.map(packageFolder).filter((folder) => folder !== null);
  return [...new Set(withDependencies(folders).map(notice))].sort().join("\n\n");
}

function notice(folder: string): string {
  const { name, version, license, author } = read(folder);
  if (!license) throw new Error(`${name} has no licence in its package.json`);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const by = typeof author === "string" ? author : author?.name;
  const text = file ? readFileSync(join(folder, file), "utf-8").trim() : by ? `Copyright (c) ${by}` : "";
  return `${name} ${version} (${license})\n\n${text}`;
}
