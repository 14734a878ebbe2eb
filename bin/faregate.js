#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The oldest Node that runs the package, which has the hash of passwords; `engines` in package.json says the same to npm. */
const OLDEST_NODE = [24, 7];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const source = join(root, 'src', 'main.ts');
// A clone has the source and a Node of its own; the package has the program compiled, and runs on the Node that it is started with.
if (existsSync(source)) startClone();
else await startPackage();

async function startPackage() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    console.error(`Faregate needs Node ${OLDEST_NODE.join('.')} or later, and this is Node ${process.versions.node}.`);
    process.exit(1);
  }
  await import(pathToFileURL(join(root, 'dist', 'main.js')).href);
}

/** Starts the program with the Node that the project brings, whatever Node the host has. */
function startClone() {
  const require = createRequire(import.meta.url);
  const executable = process.platform === 'win32' ? 'node.exe' : 'node';
  const node = join(dirname(require.resolve('node/package.json')), 'bin', executable);
  if (!existsSync(node)) {
    // A process that is to take the place of this one and is not there would only abort it.
    console.error(
      `The Node of this project is missing: ${node}. Install it with npm ci, which must run install scripts.`,
    );
    process.exit(1);
  }
  const args = [source, ...process.argv.slice(2)];
  // Node knows the cache of compiled code before it loads the first file, so that it loads its compiler of TypeScript (20 MB) for none
  // of the files that the cache has. `src/main.ts` says the same place: this file cannot import it, since the host's Node runs it.
  const env = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'faregate'), ...process.env };

  if (process.execve !== undefined && process.platform !== 'win32' && process.send === undefined) {
    // The program takes the place of this process, which would keep 45 MB only to wait. A listener of Node's
    // would print the warning that execve is experimental.
    process.removeAllListeners('warning');
    process.execve(node, [node, ...args], env);
  }
  const child = spawn(node, args, { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
}
