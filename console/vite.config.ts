import { hash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
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
  plugins: [react(), dropUnusedStyles(), compressFiles()],
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

/**
 * The component library has one file with the styles of all its components. Leaves out the rules of those that no script has. A file gets
 * its name anew, because browsers keep it by that: whenever other rules are left, a script differs, and so does the name of the first one.
 */
function dropUnusedStyles(): Plugin {
  return {
    name: 'drop-unused-styles',
    apply: 'build',
    closeBundle() {
      const names = readdirSync(join(OUT, 'assets')).map((name) => join('assets', name));
      const texts = ['index.html', ...names.filter((name) => name.endsWith('.js'))];
      const code = texts.map((name) => readFileSync(join(OUT, name), 'utf8')).join('');
      for (const name of names.filter((each) => each.endsWith('.css'))) {
        const styles = usedStyles(readFileSync(join(OUT, name), 'utf8'), code);
        const before = basename(name);
        const after = before.replace(/-.{8}\.css$/, `-${hash('sha256', styles, 'base64url').slice(0, 8)}.css`);
        rmSync(join(OUT, name));
        writeFileSync(join(OUT, 'assets', after), styles);
        for (const text of texts) {
          const path = join(OUT, text);
          writeFileSync(path, readFileSync(path, 'utf8').replaceAll(before, after));
        }
      }
    },
  };
}

/** The rules without those whose classes of the library are not in the code. */
function usedStyles(css: string, code: string): string {
  const isUsed = (selector: string): boolean =>
    [...selector.matchAll(/\.(m_[0-9a-f]+)/g)].every(([, name]) => code.includes(name!));
  // A head and its block, in which blocks are nested once at most.
  return css.replace(/([^{}]+)\{((?:[^{}]|\{[^{}]*\})*)\}/g, (rule, head: string, body: string) => {
    if (!head.startsWith('@')) return head.split(',').some(isUsed) ? rule : '';
    return body.includes('{') ? `${head}{${usedStyles(body, code)}}` : rule;
  });
}

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
