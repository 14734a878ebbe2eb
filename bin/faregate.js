#!/usr/bin/env node
// Starts the program with the Node that the project brings, whatever Node the host has.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const node = join(dirname(require.resolve('node/package.json')), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'main.ts');
const { status } = spawnSync(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exitCode = status ?? 1;
