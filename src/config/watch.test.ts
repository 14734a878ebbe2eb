import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CERTIFICATE } from '../../test/support/certificate.ts';
import type { Logger } from '../lib/logger.ts';
import { type ConfigOverrides, loadConfig } from './load.ts';
import { ConfigLoads, type ConfigStatus } from './loads.ts';
import { NodeConfig } from './node-config.ts';
import { credentialsOf } from './provider-credentials.ts';
import type { Config } from './schema.ts';
import { ConfigWatcher, type ConfigWatcherOptions, changedSettings } from './watch.ts';

type Level = keyof Logger;

/** An action of the watcher: it applied a configuration, or logged a line. */
type Event =
  | { readonly did: 'apply'; readonly config: Config }
  | { readonly did: 'log'; readonly level: Level; readonly details: object; readonly message: string };

type LogEvent = Extract<Event, { did: 'log' }>;

/** Records events in order, and lets a test wait for the next one. */
class Recorder {
  readonly events: Event[] = [];
  #taken = 0;
  #wake: () => void = () => undefined;

  readonly logger: Logger = {
    debug: (details, message) => this.#add({ did: 'log', level: 'debug', details, message }),
    info: (details, message) => this.#add({ did: 'log', level: 'info', details, message }),
    warn: (details, message) => this.#add({ did: 'log', level: 'warn', details, message }),
    error: (details, message) => this.#add({ did: 'log', level: 'error', details, message }),
  };

  readonly apply = (config: Config): void => this.#add({ did: 'apply', config });

  #add(event: Event): void {
    this.events.push(event);
    this.#wake();
  }

  /** Skips events until a configuration is applied. */
  async nextApplied(): Promise<Config> {
    for (;;) {
      const event = await this.#next();
      if (event.did === 'apply') return event.config;
    }
  }

  /** Skips events until a line is logged at this level. */
  async nextLogged(level: Level): Promise<LogEvent> {
    for (;;) {
      const event = await this.#next();
      if (event.did === 'log' && event.level === level) return event;
    }
  }

  async #next(): Promise<Event> {
    while (this.#taken === this.events.length) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.events[this.#taken++]!;
  }

  logged(level: Level): LogEvent[] {
    return this.events.filter((event) => event.did === 'log' && event.level === level) as LogEvent[];
  }

  /** The provider ports applied so far. Each configuration of these tests has a different port. */
  get versions(): number[] {
    return this.events.flatMap((event) => (event.did === 'apply' ? [versionOf(event.config)] : []));
  }
}

/** Lets a test decide when the watcher reads. */
class Readings {
  #due: (() => void) | null = null;
  #onDue: () => void = () => undefined;

  readonly setTimer = (_ms: number, expire: () => void): (() => void) => {
    this.#due = expire;
    this.#onDue();
    return () => {
      this.#due = null;
    };
  };

  get isDue(): boolean {
    return this.#due !== null;
  }

  /** Resolves when a reading is due. */
  async due(): Promise<void> {
    while (!this.isDue) {
      await new Promise<void>((resolve) => {
        this.#onDue = resolve;
      });
    }
  }

  /** Lets the watcher read this many times. Each reading must be due. */
  take(count: number): void {
    for (let i = 0; i < count; i++) {
      const expire = this.#due;
      assert.ok(expire, `reading ${i + 1} of ${count} is not due`);
      this.#due = null;
      expire();
    }
  }
}

const text = (version: number, more = ''): string =>
  `providers: { acme: { protocol: chat, baseUrl: "http://127.0.0.1:${version}", apiKey: key } }\n${more}`;

const versionOf = (config: Config): number => Number(new URL(config.providers.acme!.baseUrl).port);

describe('ConfigWatcher', () => {
  let directory = '';
  let file = '';
  let record: Recorder;
  let watchers: ConfigWatcher[] = [];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'faregate-watch-'));
    file = join(directory, 'faregate.yaml');
    record = new Recorder();
    writeFileSync(file, text(1));
  });

  afterEach(() => {
    for (const watcher of watchers) watcher.close();
    watchers = [];
    rmSync(directory, { recursive: true });
  });

  function start(options: Partial<ConfigWatcherOptions> = {}, overrides: ConfigOverrides = {}): ConfigWatcher {
    const watcher = new ConfigWatcher({
      node: new NodeConfig(file, {}, overrides),
      logger: record.logger,
      apply: record.apply,
      settleMs: 10,
      ...options,
      current: options.current ?? loadConfig(file, {}, overrides),
    });
    watchers.push(watcher);
    return watcher;
  }

  /** Writes a version, and asserts that the watcher applied no other one. */
  async function appliesOnly(version: number): Promise<void> {
    writeFileSync(file, text(version));
    await record.nextApplied();
    assert.deepEqual(record.versions, [version]);
  }

  describe('applies a change', () => {
    it('of the file', async () => {
      start();
      writeFileSync(file, text(2));
      assert.equal(versionOf(await record.nextApplied()), 2);
      writeFileSync(file, text(3));
      assert.equal(versionOf(await record.nextApplied()), 3);
    });

    it('by an editor that replaces the file', async () => {
      start();
      for (const version of [2, 3]) {
        writeFileSync(`${file}.new`, text(version));
        renameSync(`${file}.new`, file);
        assert.equal(versionOf(await record.nextApplied()), version);
      }
    });

    it('by an editor that moves the old file first', async () => {
      start();
      renameSync(file, `${file}~`);
      writeFileSync(file, text(2));
      assert.equal(versionOf(await record.nextApplied()), 2);
    });

    it('by Kubernetes, which replaces a link to the directory of the file', async () => {
      for (const version of [1, 2, 3]) {
        mkdirSync(join(directory, `..v${version}`));
        writeFileSync(join(directory, `..v${version}`, 'faregate.yaml'), text(version));
      }
      unlinkSync(file);
      symlinkSync('..v1', join(directory, '..data'));
      symlinkSync(join('..data', 'faregate.yaml'), file);
      start();
      for (const version of [2, 3]) {
        symlinkSync(`..v${version}`, join(directory, '..data_tmp'));
        renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
        assert.equal(versionOf(await record.nextApplied()), version);
      }
    });

    it('behind a link, which the directory does not report', async () => {
      const elsewhere = join(directory, 'elsewhere');
      mkdirSync(elsewhere);
      renameSync(file, join(elsewhere, 'real.yaml'));
      symlinkSync(join(elsewhere, 'real.yaml'), file);
      start({ pollMs: 10 });
      for (const version of [2, 3]) {
        writeFileSync(join(elsewhere, 'real.yaml'), text(version));
        assert.equal(versionOf(await record.nextApplied()), version);
      }
    });

    it('between the first load and the start of the watcher', async () => {
      const current = loadConfig(file, {});
      writeFileSync(file, text(2));
      start({ current });
      assert.equal(versionOf(await record.nextApplied()), 2);
    });

    it('once, even if saving takes several writes', async () => {
      start();
      for (const part of ['', text(2).slice(0, 10), text(2), text(3)]) writeFileSync(file, part);
      assert.equal(versionOf(await record.nextApplied()), 3);
      writeFileSync(file, text(4));
      await record.nextApplied();
      assert.deepEqual(record.versions, [3, 4]);
      assert.deepEqual(record.logged('error'), []);
    });

    it('of a credential file, written or replaced, without logging a credential', async () => {
      const credentialFile = join(directory, 'key');
      const withKey = (version: number): string =>
        text(version).replace('apiKey: key', `apiKey: { file: ${credentialFile} }`);
      const keyIn = (config: Config): unknown => credentialsOf(config.providers.acme!)[0]!.value;
      writeFileSync(credentialFile, 'canary-1\n');
      writeFileSync(file, withKey(1));
      start();
      writeFileSync(credentialFile, 'canary-2\n');
      assert.equal(keyIn(await record.nextApplied()), 'canary-2');
      assert.deepEqual((await record.nextLogged('info')).details, { file, changed: ['providers.acme.apiKey.value'] });
      writeFileSync(`${credentialFile}.new`, 'canary-3');
      renameSync(`${credentialFile}.new`, credentialFile);
      assert.equal(keyIn(await record.nextApplied()), 'canary-3');
      assert.doesNotMatch(JSON.stringify(record.events.filter(({ did }) => did === 'log')), /canary/);
    });

    it('of a credential file in another directory, once the configuration names it', async () => {
      const elsewhere = mkdtempSync(join(tmpdir(), 'faregate-watch-keys-'));
      try {
        const credentialFile = join(elsewhere, 'key');
        writeFileSync(credentialFile, 'one');
        start();
        writeFileSync(file, text(1).replace('apiKey: key', `apiKeys: [{ file: ${credentialFile} }]`));
        assert.equal(credentialsOf((await record.nextApplied()).providers.acme!)[0]!.value, 'one');
        writeFileSync(credentialFile, 'two');
        assert.equal(credentialsOf((await record.nextApplied()).providers.acme!)[0]!.value, 'two');
      } finally {
        rmSync(elsewhere, { recursive: true });
      }
    });

    it('of a certificate file', async () => {
      const certificateFile = join(directory, 'ca.pem');
      writeFileSync(certificateFile, CERTIFICATE);
      writeFileSync(
        file,
        text(1).replace('http://', 'https://').replace('apiKey: key', `apiKey: key, ca: ${certificateFile}`),
      );
      start();
      // Certificate files are known once the watcher has parsed the configuration.
      await record.nextLogged('debug');
      writeFileSync(certificateFile, CERTIFICATE + CERTIFICATE);
      const { providers } = await record.nextApplied();
      assert.equal(providers.acme!.ca!.split('-----BEGIN').length - 1, 2);
      assert.deepEqual((await record.nextLogged('info')).details, { file, changed: ['providers.acme.ca'] });
      writeFileSync(certificateFile, 'no certificate');
      assert.match((await record.nextLogged('error')).message, /providers\.acme\.ca: Expected PEM certificates/);
    });

    it('and logs the changed settings without values', async () => {
      start();
      writeFileSync(file, text(2, 'billing: { dailySpendCapYuan: 5 }'));
      const { details, message } = await record.nextLogged('info');
      assert.equal(message, 'configuration reloaded');
      assert.deepEqual(details, { file, changed: ['billing.dailySpendCapYuan', 'providers.acme.baseUrl'] });
    });

    it('and flags still override the file', async () => {
      start({}, { port: 4000 });
      writeFileSync(file, text(2, 'server: { port: 5000 }'));
      assert.equal((await record.nextApplied()).server.port, 4000);
      assert.deepEqual(record.logged('warn'), []);
    });
  });

  describe('changes nothing', () => {
    it('if the text is equal', async () => {
      const watcher = start();
      writeFileSync(file, text(1));
      watcher.reload();
      const { message } = await record.nextLogged('info');
      assert.equal(message, 'the configuration is already in force; nothing to reload');
      await appliesOnly(2);
    });

    it('if a credential file is missing, empty or invalid, until it is valid again', async () => {
      const credentialFile = join(directory, 'key');
      writeFileSync(credentialFile, 'canary-1');
      writeFileSync(file, text(1).replace('apiKey: key', `apiKey: { file: ${credentialFile} }`));
      start();
      unlinkSync(credentialFile);
      assert.match((await record.nextLogged('error')).message, /apiKey\.file: There is no such file\./);
      for (const [content, problem] of [
        ['', /apiKey\.file: The file is empty\./],
        ['canary 2', /apiKey\.file: The file must contain one credential/],
      ] as const) {
        writeFileSync(credentialFile, content);
        assert.match((await record.nextLogged('error')).message, problem);
      }
      writeFileSync(credentialFile, 'canary-3');
      assert.equal(credentialsOf((await record.nextApplied()).providers.acme!)[0]!.value, 'canary-3');
      assert.doesNotMatch(JSON.stringify(record.events.filter(({ did }) => did === 'log')), /canary/);
    });

    it('on reload, and calls onUnchanged', async () => {
      const asked = Promise.withResolvers<void>();
      const watcher = start({ onUnchanged: () => asked.resolve() });
      watcher.reload();
      await asked.promise;
      assert.deepEqual(record.versions, []);
    });

    it('if only comments and spelling changed', async () => {
      start();
      writeFileSync(file, `# a comment\n${text(1, 'server: { bodyLimit: 65536KiB }')}`);
      assert.match((await record.nextLogged('debug')).message, /already in force/);
      await appliesOnly(2);
    });

    it('if the file is not valid, and logs the error once', async () => {
      const versionOne = loadConfig(file, {});
      start();
      writeFileSync(file, text(2, 'server:\n  uploadIdleTimeout: soon\n'));
      const { message, details } = await record.nextLogged('error');
      assert.equal(
        message,
        `The configuration cannot be used:\n  ${file}:3: server.uploadIdleTimeout: Expected a duration such as 500ms, 10s, 5m or 2h, above zero and at most 24d; found "soon".\nThe previous configuration stays in force.`,
      );
      assert.equal((details as { problems: object[] }).problems.length, 1);
      writeFileSync(join(directory, 'neighbour'), 'an unrelated event');
      // When another watcher has decided, the first one has read the file again.
      const other = new Recorder();
      start({ current: versionOne, logger: other.logger, apply: other.apply });
      await other.nextLogged('error');
      await appliesOnly(3);
      assert.equal(record.logged('error').length, 1);
    });

    it('if the file is missing or empty, until it is valid again', async () => {
      start();
      unlinkSync(file);
      assert.match(
        (await record.nextLogged('error')).message,
        /There is no such file\.\nThe previous configuration stays in force\.$/,
      );
      writeFileSync(file, '\n');
      assert.match(
        (await record.nextLogged('error')).message,
        /The file is empty\.\nThe previous configuration stays in force\.$/,
      );
      await appliesOnly(2);
    });

    it('if apply throws, and compares the next configuration with the one still in force', async () => {
      let isFailing = true;
      const watcher = start({
        apply: (config) => {
          if (isFailing) throw new Error('no');
          record.apply(config);
        },
      });
      writeFileSync(file, text(2));
      assert.match((await record.nextLogged('error')).message, /could not be applied; the previous one stays in force/);
      isFailing = false;
      watcher.reload();
      await record.nextApplied();
      assert.deepEqual(record.versions, [2]);
    });
  });

  it('reports the last error until a load succeeds, and the time of the last load', async () => {
    let nowMs = 1_000;
    const loads = new ConfigLoads(file, { port: 9 }, { nowMs: () => nowMs });
    const fresh = { file, overridden: ['server.port'], needsRestart: [], lastError: null };
    const watcher = start({ loads });
    assert.deepEqual(loads.status, { ...fresh, loadedAtMs: 1_000 });
    nowMs = 2_000;
    writeFileSync(file, 'nonsense: true\n');
    await record.nextLogged('error');
    const refused: ConfigStatus = loads.status;
    assert.deepEqual([refused.loadedAtMs, refused.lastError?.atMs], [1_000, 2_000]);
    assert.match(refused.lastError!.message, /faregate\.yaml:1: nonsense: Unknown key/);
    // The file matches the configuration in force again.
    nowMs = 3_000;
    writeFileSync(file, text(1));
    watcher.reload();
    await record.nextLogged('info');
    assert.deepEqual(loads.status, { ...fresh, loadedAtMs: 1_000 });
    nowMs = 4_000;
    writeFileSync(file, text(2, 'database: { dataDir: ./elsewhere }'));
    await record.nextApplied();
    assert.deepEqual(loads.status, { ...fresh, loadedAtMs: 4_000, needsRestart: ['database.dataDir'] });
  });

  describe('warns of settings that require a restart', () => {
    const restartSettings = `
server:
  host: 127.0.0.2
  port: 9
  bodyLimit: 1MiB
  editBodyLimit: 2MiB
  protocolNames: { messages: other }
  messagesContext: balance
  headerTimeout: 1s
  clientStallTimeout: 1s
  connections: 9
  uploadIdleTimeout: 7s
database: { url: "postgres://h/d", dataDir: ./elsewhere }
`;

    it('by name, keeps their values, and applies the rest', async () => {
      const current = loadConfig(file, {});
      start();
      writeFileSync(file, text(2, restartSettings));
      const { details, message } = await record.nextLogged('warn');
      const settings = [
        'server.host',
        'server.port',
        'server.bodyLimit',
        'server.editBodyLimit',
        'server.protocolNames.messages',
        'server.messagesContext',
        'server.headerTimeout',
        'server.clientStallTimeout',
        'server.connections',
        'database.url',
        'database.dataDir',
      ];
      assert.deepEqual(details, { file, settings });
      assert.equal(message, `changed in faregate.yaml, but requires a restart: ${settings.join(', ')}`);
      const config = await record.nextApplied();
      assert.equal(versionOf(config), 2);
      assert.deepEqual(config.database, current.database);
      assert.deepEqual(config.server, { ...current.server, uploadIdleTimeout: 7000 });
    });

    it('and applies nothing if nothing else changed', async () => {
      start();
      writeFileSync(file, text(1, 'server: { port: 9 }'));
      await record.nextLogged('warn');
      await appliesOnly(2);
    });
  });

  describe('reload', () => {
    it('applies the file after two equal readings', () => {
      const readings = new Readings();
      const watcher = start({ setTimer: readings.setTimer });
      writeFileSync(file, text(2));
      watcher.reload();
      readings.take(1);
      assert.deepEqual(record.events, []);
      readings.take(1);
      assert.deepEqual(record.versions, [2]);
    });

    it('runs once for several requests', () => {
      const readings = new Readings();
      const watcher = start({ setTimer: readings.setTimer });
      writeFileSync(file, text(2));
      for (let i = 0; i < 5; i++) watcher.reload();
      readings.take(1);
      for (let i = 0; i < 5; i++) watcher.reload();
      readings.take(1);
      assert.deepEqual(record.versions, [2]);
      assert.equal(record.events.length, 2, 'applied, and said so');
      assert.equal(readings.isDue, false);
    });

    it('can be a signal handler', async () => {
      const { reload } = start();
      process.on('SIGHUP', reload);
      try {
        writeFileSync(file, text(2));
        process.kill(process.pid, 'SIGHUP');
        await record.nextApplied();
        assert.deepEqual(record.versions, [2]);
      } finally {
        process.off('SIGHUP', reload);
      }
    });

    it('logs the error of an invalid file again', async () => {
      const watcher = start();
      writeFileSync(file, 'server: x');
      watcher.reload();
      await record.nextLogged('error');
      watcher.reload();
      await record.nextLogged('error');
      assert.equal(record.logged('error').length, 2);
    });
  });

  describe('waits for a complete file', () => {
    const provider = (name: string, version: number): string =>
      `  ${name}: { protocol: chat, baseUrl: "http://127.0.0.1:${version}", apiKey: key }\n`;
    const whole = (version: number): string => `providers:\n${provider('acme', version)}${provider('other', version)}`;
    /** Half of the file, which is a valid configuration too. */
    const half = (version: number): string => whole(version).slice(0, -provider('other', version).length);
    let readings: Readings;
    let watcher: ConfigWatcher;

    beforeEach(() => {
      readings = new Readings();
      writeFileSync(file, whole(1));
      watcher = start({ setTimer: readings.setTimer });
      readings.take(2);
    });

    for (const isRequested of [false, true]) {
      it(`if the second half follows after a pause${isRequested ? ', also on reload' : ''}`, async () => {
        writeFileSync(file, half(2));
        if (isRequested) watcher.reload();
        await readings.due();
        readings.take(19);
        appendFileSync(file, provider('other', 2));
        readings.take(1);
        assert.deepEqual(record.versions, []);
        readings.take(1);
        assert.deepEqual(record.versions, [2]);
        const [applied] = record.events.filter((event) => event.did === 'apply');
        assert.deepEqual(Object.keys(applied!.config.providers), ['acme', 'other']);
        assert.deepEqual(record.logged('error'), []);
      });
    }

    it('for longer if something is removed', () => {
      writeFileSync(file, half(2));
      watcher.reload();
      readings.take(19);
      assert.deepEqual(record.versions, []);
      readings.take(1);
      assert.deepEqual(record.versions, [2]);
    });

    it('while the text keeps changing, and logs that', () => {
      watcher.reload();
      for (let i = 0; i < 119; i++) {
        writeFileSync(file, `${whole(2)}# ${i}\n`);
        readings.take(1);
      }
      assert.deepEqual([record.versions, record.logged('warn')], [[], []]);
      writeFileSync(file, whole(2));
      readings.take(1);
      assert.match(record.logged('warn')[0]!.message, /keeps changing; reload postponed/);
      readings.take(1);
      assert.deepEqual(record.versions, [2]);
    });

    it('if the same text was written between two readings', () => {
      writeFileSync(file, whole(2));
      watcher.reload();
      for (let i = 1; i < 10; i++) {
        utimesSync(file, i, i);
        readings.take(1);
      }
      assert.deepEqual(record.versions, []);
      readings.take(1);
      assert.deepEqual(record.versions, [2]);
    });

    it('if a pipe without a writer replaces it', () => {
      unlinkSync(file);
      execFileSync('mkfifo', [file]);
      watcher.reload();
      readings.take(2);
      assert.match(
        record.logged('error')[0]!.message,
        /This is a pipe, not a regular file\.\nThe previous configuration stays/,
      );
      unlinkSync(file);
      writeFileSync(file, whole(2));
      watcher.reload();
      readings.take(2);
      assert.deepEqual(record.versions, [2]);
    });
  });

  describe('close', () => {
    it('stops applying and logging', async () => {
      const closed = new Recorder();
      const watcher = start({ logger: closed.logger, apply: closed.apply });
      start();
      writeFileSync(file, text(2));
      watcher.close();
      watcher.reload();
      await record.nextApplied();
      writeFileSync(file, text(3));
      await record.nextApplied();
      assert.deepEqual(closed.events, []);
    });

    it('cancels its timer', () => {
      const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
      const before = timers();
      const watcher = start();
      assert.equal(timers(), before + 1, 'the first reading is due');
      watcher.close();
      watcher.close();
      assert.equal(timers(), before);
    });
  });

  it('polls a file whose directory cannot be watched', async () => {
    const current = loadConfig(file, {});
    const missing = join(directory, 'not-yet');
    const later = join(missing, 'faregate.yaml');
    const node = new NodeConfig(file, {});
    start({ node: Object.assign(node, { file: later }), current, pollMs: 10 });
    assert.match((await record.nextLogged('warn')).message, /does not report changes of this file/);
    assert.match((await record.nextLogged('error')).message, /There is no such file/);
    mkdirSync(missing);
    writeFileSync(later, text(2));
    await record.nextApplied();
    assert.deepEqual(record.versions, [2]);
  });
});

describe('changedSettings', () => {
  it('names the settings that differ, at the deepest common level', () => {
    const before = { a: 1, b: { c: [1], d: 2n }, e: { f: 1 }, g: undefined };
    const after = { a: 1, b: { c: [2], d: 2n }, h: { f: 1 } };
    assert.deepEqual(changedSettings(before, after), ['b.c', 'e', 'h']);
    assert.deepEqual(changedSettings(before, structuredClone(before)), []);
  });
});
