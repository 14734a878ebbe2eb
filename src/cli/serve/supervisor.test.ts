import assert from 'node:assert/strict';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import type { Handlers, ProcessLink } from '../../lib/process-link.ts';
import { type ForkedWorker, type ProcessEnd, Supervisor } from './supervisor.ts';

/** A process that does what a test says. */
interface FakeWorker extends ForkedWorker {
  readonly number: number;
  readonly handlers: Handlers;
  readonly heard: string[];
  end(end: Partial<ProcessEnd>): Promise<void>;
}

describe('a supervisor of workers', () => {
  let forks: FakeWorker[];
  let lines: string[];
  let ups: string[];
  let nowMs: number;
  let supervisor: Supervisor;

  function fork(number: number, handlers: Handlers): FakeWorker {
    const { promise, resolve } = Promise.withResolvers<ProcessEnd>();
    const heard: string[] = [];
    const worker: FakeWorker = {
      number,
      handlers,
      heard,
      pid: 100 + forks.length,
      link: {
        tell: (_name: string, signal: string) => void heard.push(signal),
        close: () => void heard.push('closed'),
      } as unknown as ProcessLink,
      ended: promise,
      kill: () => void worker.end({ signal: 'SIGKILL' }),
      end: async (end) => {
        resolve({ code: null, signal: null, ...end });
        await new Promise((done) => setImmediate(done));
      },
    };
    forks.push(worker);
    return worker;
  }

  beforeEach(() => {
    [forks, lines, ups, nowMs] = [[], [], [], 0];
    const line = (_details: unknown, message: string): void => void lines.push(message);
    supervisor = new Supervisor({
      count: 2,
      logger: { info: line, warn: line, error: line, debug: line },
      nowMs: () => nowMs,
      fork,
      onUp: (workers, url) =>
        ups.push(`${url} ${workers.map(({ worker, process }) => `${worker}=${process}`).join(' ')}`),
      onLeft: () => undefined,
    });
    supervisor.start();
  });
  const serve = (...workers: readonly FakeWorker[]): void => {
    for (const { handlers } of workers) handlers.serves!({ url: 'http://here', nodeId: 'node' });
  };

  it('is up once all workers serve', () => {
    assert.deepEqual(
      forks.map(({ number }) => number),
      [1, 2],
    );
    serve(forks[1]!);
    assert.deepEqual(ups, []);
    serve(forks[0]!);
    assert.deepEqual(ups, ['http://here 1=100 2=101']);
  });

  it('stops all with the error of the first worker that cannot start', async () => {
    serve(forks[0]!);
    forks[1]!.handlers.cannotStart!('The port is taken.');
    const ended = assert.rejects(supervisor.ended, /^WorkerStartError: The port is taken\.$/);
    await forks[1]!.end({ code: 1 });
    assert.deepEqual(forks[0]!.heard, ['SIGINT']);
    await forks[0]!.end({ code: 0 });
    await ended;
    assert.equal(forks.length, 2);
  });

  it('reports how a worker exited without a message, and kills workers that do not stop', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const ended = assert.rejects(supervisor.ended, /Worker 2 exited while it started: signal SIGSEGV\./);
    await forks[1]!.end({ signal: 'SIGSEGV' });
    context.mock.timers.tick(10_000);
    await ended;
    assert.deepEqual(forks[0]!.heard, ['SIGINT', 'closed']);
  });

  it('restarts a worker that dies, and retries failed starts for a while', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    serve(...forks);
    nowMs = 100_000;
    await forks[0]!.end({ signal: 'SIGKILL' });
    assert.deepEqual(
      supervisor.workers.map(({ link }) => link !== null),
      [false, true],
    );
    context.mock.timers.tick(0);
    for (let pauseMs = 1_000; forks.length < 4; pauseMs *= 2) {
      await forks.at(-1)!.end({ code: 1 });
      context.mock.timers.tick(pauseMs);
    }
    assert.deepEqual(
      forks.map(({ number }) => number),
      [1, 2, 1, 1],
    );
    serve(forks[3]!);
    assert.deepEqual(
      supervisor.workers.map(({ link }) => link),
      [forks[3]!.link, forks[1]!.link],
    );
    assert.deepEqual(lines, [
      'a worker has died; restarting it',
      'a worker failed to start; retrying',
      'a worker serves in place of one that has died',
    ]);
    assert.equal(ups.length, 1);
  });

  it('stops with the error if all restarts fail', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    serve(...forks);
    await forks[0]!.end({ code: 1 });
    context.mock.timers.tick(0);
    const ended = assert.rejects(supervisor.ended, /^WorkerStartError: No database\.$/);
    for (let i = 0; i < 9; i++) {
      forks.at(-1)!.handlers.cannotStart!('No database.');
      await forks.at(-1)!.end({ code: 1 });
      context.mock.timers.tick(30_000);
    }
    await forks[1]!.end({ code: 0 });
    await ended;
    assert.equal(forks.length, 2 + 9);
  });

  it('passes signals on, restarts nothing after that, and returns 0 if all workers do', async () => {
    serve(...forks);
    assert.equal(supervisor.stop('SIGTERM'), 'passed on');
    await forks[0]!.end({ code: 0 });
    assert.equal(supervisor.stop('SIGTERM'), 'passed on');
    await forks[1]!.end({ code: 0 });
    assert.equal(await supervisor.ended, 0);
    assert.deepEqual(
      forks.map(({ heard }) => heard),
      [
        ['SIGTERM', 'closed'],
        ['SIGTERM', 'SIGTERM', 'closed'],
      ],
    );
  });

  it('returns 1 if a worker failed while it stopped', async () => {
    serve(...forks);
    supervisor.stop('SIGINT');
    await forks[0]!.end({ code: 0 });
    await forks[1]!.end({ signal: 'SIGKILL' });
    assert.equal(await supervisor.ended, 1);
  });

  it('kills all workers at a signal while they close', async () => {
    serve(...forks);
    supervisor.stop('SIGTERM');
    forks[0]!.handlers.closes!();
    assert.equal(supervisor.stop('SIGINT'), 'ended');
    assert.equal(await supervisor.ended, 1);
  });

  it('cancels restarts when it stops', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    serve(...forks);
    await forks[0]!.end({ code: 1 });
    await forks[1]!.end({ code: 1 });
    supervisor.stop('SIGTERM');
    context.mock.timers.tick(60_000);
    assert.equal(await supervisor.ended, 0);
    assert.equal(forks.length, 2);
  });

  it('passes a reload on', () => {
    serve(...forks);
    supervisor.reload();
    assert.deepEqual(
      forks.map(({ heard }) => heard),
      [['SIGHUP'], ['SIGHUP']],
    );
  });
});
