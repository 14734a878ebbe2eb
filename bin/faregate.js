#!/usr/bin/env node
// Starts the program with the Node that the project brings, whatever Node the host has.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const executable = process.platform === 'win32' ? 'node.exe' : 'node';
const node = join(dirname(require.resolve('node/package.json')), 'bin', executable);
// A clone has the source, which runs as it is; the package has it compiled.
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const source = join(root, 'src', 'main.ts');
const main = existsSync(source) ? source : join(root, 'dist', 'main.js');

const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  process.exitCode = signal === null ? code : 1;
});
