import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The compiled engine of the embedded database. Node compiles it once for all threads of a process, but only for as long as
 * one of them has it: a process that opens one database after the other would compile it for each, which is two thirds of
 * what opening takes.
 */
let compiled: object | null = null;

/** The types of Node have none of WebAssembly. */
declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };

export function keepEngineCompiled(): void {
  if (compiled !== null) return;
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  compiled = new WebAssembly.Module(readFileSync(join(dirname(entry), 'pglite.wasm')));
}
