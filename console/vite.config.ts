import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const OUT = fileURLToPath(new URL('dist', import.meta.url));
const GATEWAY = process.env.FAREGATE_URL ?? 'http://127.0.0.1:8080';
const COMPRESSED = /\.(?:js|css|svg)$/;

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  plugins: [react(), compressFiles()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The first load is measured by a test, compressed.
    chunkSizeWarningLimit: 1000,
  },
  // `npx vite console` shows changes at once; the gateway behind it is a real one.
  server: { proxy: { '^/(?!console)': { target: GATEWAY } } },
});

/** Writes each file in the encodings that browsers take, so that the gateway compresses nothing. */
function compressFiles(): Plugin {
  return {
    name: 'compress-files',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(OUT, { recursive: true, encoding: 'utf8' }).filter((each) =>
        COMPRESSED.test(each),
      )) {
        const path = join(OUT, name);
        const bytes = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
      }
    },
  };
}
