// SPDX-License-Identifier: Apache-2.0
// For work on the pages: `cuco serve --port 8765`, then `npm run dev` here.
import { defineConfig } from "vite";

export default defineConfig({
  // The server's policy allows no inline scripts, styles or data: every asset is a file.
  build: { outDir: "dist", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 900 },
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
});
