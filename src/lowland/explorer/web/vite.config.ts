import { defineConfig, type Plugin } from "vite";
import { notices } from "./notices.ts";

const COMPILER = /Function\.apply\(null, ?linkedNames\.concat\(src\)\)/;

/** Let regl compile through src/compile.ts, so that pages need not allow `eval`. */
function compiler(): Plugin {
  return {
    name: "lowland-compiler",
    enforce: "pre",
    transform(code, id) {
      if (!/\/regl\/dist\/regl(\.unchecked)?\.js/.test(id)) return null;
      if (!COMPILER.test(code)) this.error("regl compiles in another way than expected; see src/compile.ts");
      return { code: code.replace(COMPILER, "globalThis.__lowlandCompile(linkedNames, src)"), map: null };
    },
  };
}

/** Write the licence notices into the script and beside it; keep the script safe inside of a script element. */
function finish(): Plugin {
  return {
    name: "lowland-finish",
    enforce: "post",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        const text = notices(chunk.moduleIds);
        const comment = text.replace(/\*\//g, "* /");
        chunk.code = `/*! Contains:\n\n${comment}\n*/\n${chunk.code}`.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
        this.emitFile({ type: "asset", fileName: "LICENSES.txt", source: `${text}\n` });
      }
    },
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [compiler(), finish()],
  resolve: { alias: [{ find: /^regl$/, replacement: "regl/dist/regl.unchecked.js" }] },
  define: { "process.env.NODE_ENV": '"production"' },
  publicDir: false,
  build: {
    outDir: "../static",
    emptyOutDir: false,
    target: "es2022",
    lib: {
      entry: `src/${mode}.ts`,
      name: "LowlandScatter",
      formats: [mode === "page" ? "iife" : "es"],
      fileName: () => `${mode}.js`,
    },
  },
  test: { environment: "happy-dom", include: ["tests/*.test.ts"] },
}));
