import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  openConnection,
  type RawConnection,
  type RawRequest,
  type RawResponse,
  requestBytes,
} from '../../test/support/raw.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { chatEnvelope } from '../protocols/chat/errors.ts';
import { type HeldBody, openBody, readBody, receiveBody } from './body.ts';
import { createHttpServer } from './server.ts';
import {
  BLOCK_BYTES,
  openSpoolFile,
  type SpooledBody,
  type SpoolLimits,
  spoolBody,
  spoolInto,
  sweepSpool,
} from './spool.ts';

const SIZE_BYTES_MAX = 1024 * 1024;
const isLinux = process.platform === 'linux';

let app: FastifyInstance;
let url: string;
let root: string;
let directory: string;
/** The handler of the address; set by each test. */
let serve: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'spool-test-'));
  app = createHttpServer({
    clock: systemClock,
    ids: createIds(systemClock),
    logger: silentLogger,
    isClosing: () => false,
    unknownAddresses: { envelopeOf: () => chatEnvelope, messageFor: () => 'Nothing is here.' },
    limits: { headerTimeout: 60_000, clientStallTimeout: 300_000, connections: 1000 },
  });
  app.post('/upload', (request, reply) => serve(request, reply));
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  await app.close();
  rmSync(root, { recursive: true });
});

beforeEach(() => {
  directory = join(mkdtempSync(join(root, 'case-')), 'a', 'spool');
});
afterEach(() => assertNothingLeft());

function limits(changes: Partial<SpoolLimits> = {}): SpoolLimits {
  return { sizeBytesMax: SIZE_BYTES_MAX, idleTimeoutMs: 60_000, directory, ...changes };
}

/** No file has a name, and on Linux no unnamed file is open. */
function assertNothingLeft(): void {
  assert.deepEqual(
    readdirSync(root, { recursive: true }).filter((name) => String(name).endsWith('.part')),
    [],
  );
  assert.equal(openFiles(), 0);
}

function openFiles(): number {
  if (!isLinux) return 0;
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory);
    } catch {
      return false;
    }
  }).length;
}

async function collect(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** Bytes that do not compress. */
function noise(sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(sizeBytes);
  let state = 1;
  for (let at = 0; at < sizeBytes; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Spools each body, passes it to `use`, and removes it. */
function spooling(
  use: (body: SpooledBody, consumed: Buffer) => Promise<unknown> | unknown = () => undefined,
  changes: Partial<SpoolLimits> = {},
): void {
  serve = async (request, reply) => {
    const chunks: Buffer[] = [];
    const body = await spoolBody(request.raw, reply.raw, limits(changes), (chunk) => {
      chunks.push(Buffer.from(chunk));
    });
    try {
      await use(body, Buffer.concat(chunks));
      return { sizeBytes: body.sizeBytes };
    } finally {
      await body.remove();
    }
  };
}

function upload(request: Omit<RawRequest, 'path'>): Buffer {
  return requestBytes({ path: '/upload', ...request });
}

async function responseTo(bytes: Buffer): Promise<RawResponse> {
  const connection = await openConnection(url);
  connection.write(bytes);
  try {
    return await connection.response();
  } finally {
    connection.destroy();
  }
}

describe('spoolBody', { timeout: 60_000 }, () => {
  for (const sizeBytes of [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES, SIZE_BYTES_MAX]) {
    it(`stores ${sizeBytes} bytes, and passes each of them to the consumer once`, async () => {
      const content = noise(sizeBytes);
      for (const chunkBytes of [undefined, 1000, 65_536]) {
        let stored: Buffer | null = null;
        spooling(async (body, consumed) => {
          stored = await collect(body.read());
          assert.ok(consumed.equals(stored));
        });
        const response = await responseTo(
          upload({ body: content, ...(chunkBytes === undefined ? {} : { chunkBytes }) }),
        );
        assert.deepEqual([response.status, JSON.parse(response.body.toString())], [200, { sizeBytes }]);
        assert.ok(content.equals(stored!));
      }
    });
  }

  for (const [encoding, encode] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', (content: Buffer) => brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['zstd', zstdCompressSync],
  ] as const) {
    it(`stores what ${encoding} decodes to`, async () => {
      const content = Buffer.concat([noise(200_000), Buffer.alloc(500_000, 'a')]);
      let stored: Buffer | null = null;
      spooling(async (body) => {
        stored = await collect(body.read());
      });
      const headers = [['content-encoding', encoding]] as const;
      assert.equal((await responseTo(upload({ headers, body: encode(content) }))).status, 200);
      assert.ok(content.equals(stored!));
    });
  }

  it('reads any range any number of times, into buffers that are not reused', async () => {
    const content = noise(300_000);
    spooling(async (body) => {
      for (const [start, end] of [
        [0, 300_000],
        [1, 2],
        [65_535, 131_073],
        [299_999, 300_000],
        [7, 7],
      ] as const) {
        assert.ok(content.subarray(start, end).equals(await collect(body.read(start, end))));
      }
      assert.ok(content.subarray(250_000).equals(await collect(body.read(250_000))));
      for await (const _ of body.read()) break;
      for (const [start, end] of [
        [-1, 5],
        [5, 4],
        [0, 300_001],
        [0.5, 1],
      ] as const) {
        assert.throws(() => body.read(start, end), RangeError);
      }
    });
    assert.equal((await responseTo(upload({ body: content }))).status, 200);
  });

  it('reads nothing from a removed body, even if the read began before', async () => {
    spooling(async (body) => {
      const reader = body.read()[Symbol.asyncIterator]();
      await reader.next();
      await Promise.all([body.remove(), body.remove()]);
      assert.equal(openFiles(), 0);
      await assert.rejects(reader.next(), /has been removed/);
      assert.throws(() => body.read(), /has been removed/);
    });
    assert.equal((await responseTo(upload({ body: noise(300_000) }))).status, 200);
  });

  it('uses a file without a name, so that a killed process leaves nothing', async () => {
    spooling(() => {
      assert.deepEqual(readdirSync(directory), []);
      if (isLinux) assert.equal(openFiles(), 1);
    });
    assert.equal((await responseTo(upload({ body: 'a' }))).status, 200);
  });

  it('uses a file that only its owner can read', async () => {
    const file = await openSpoolFile(directory);
    const { mode, nlink } = await file.handle.stat();
    await file.handle.close();
    assert.deepEqual([mode & 0o777, nlink], [0o600, 0]);
  });

  describe('refuses as readBody does', () => {
    type Reader = (...parameters: Parameters<typeof spoolBody>) => Promise<HeldBody | SpooledBody>;
    const readers: Readonly<Record<string, Reader>> = {
      readBody: async (...parameters) => readBody(...parameters),
      spoolBody,
    };
    const gzip = ['content-encoding', 'gzip'] as const;
    const cases: readonly [what: string, bytes: () => Buffer, status: number, isClosed: boolean][] = [
      ['an announced length beyond the limit', () => upload({ headers: [['content-length', '1048577']] }), 413, true],
      ['chunks of a byte beyond the limit', () => upload({ body: noise(1_048_577), chunkBytes: 60_000 }), 413, true],
      [
        'a decoded size beyond the limit',
        () => upload({ headers: [gzip], body: gzipSync(Buffer.alloc(9e6)) }),
        413,
        true,
      ],
      ['an unknown encoding', () => upload({ headers: [['content-encoding', 'lzma']], body: 'a' }), 415, false],
      ['data that is not in its encoding', () => upload({ headers: [gzip], body: 'a' }), 400, false],
      ['truncated encoded data', () => upload({ headers: [gzip], body: gzipSync('a').subarray(0, 12) }), 400, false],
    ];
    for (const [what, bytes, status, isClosed] of cases) {
      it(`${what}: ${status}`, async () => {
        const responses: RawResponse[] = [];
        for (const read of Object.values(readers)) {
          serve = (request, reply) => read(request.raw, reply.raw, limits(), () => undefined);
          const connection = await openConnection(url);
          connection.write(bytes());
          const response = await connection.response();
          assert.equal(response.status, status);
          if (isClosed) {
            assert.equal(response.headers.connection, 'close');
            connection.destroy();
          } else {
            serve = async () => 'next';
            connection.write(upload({ body: 'a' }));
            assert.equal((await connection.response()).status, 200);
            connection.destroy();
          }
          responses.push(response);
        }
        assert.deepEqual(responses[0]!.body, responses[1]!.body);
      });
    }

    for (const [name, read] of Object.entries(readers)) {
      it(`${name}: a stalled upload, with 408, and closes the connection`, async () => {
        serve = (request, reply) => read(request.raw, reply.raw, limits({ idleTimeoutMs: 20 }), () => undefined);
        const connection = await openConnection(url);
        connection.write(upload({ headers: [['content-length', '10']], body: 'a' }));
        const response = await connection.response();
        assert.deepEqual([response.status, response.headers.connection], [408, 'close']);
        await connection.closed();
      });

      it(`${name}: an upload whose client disconnects`, async () => {
        const failure = new Promise<unknown>((resolve) => {
          serve = async (request, reply) => {
            const arrived = once(request.raw, 'data');
            const reading = read(request.raw, reply.raw, limits(), () => undefined).catch((error: unknown) => error);
            await arrived;
            connection.destroy();
            resolve(await reading);
          };
        });
        const connection: RawConnection = await openConnection(url);
        connection.write(upload({ headers: [['content-length', '10']], body: 'a' }));
        const error = await failure;
        assert.ok(error instanceof GatewayError);
        assert.equal(error.kind, 'malformedHttp');
      });

      it(`${name}: a body that is too large, before it sends 100 Continue`, async () => {
        const expecting = (length: number) => {
          const headers = [
            ['expect', '100-continue'],
            ['content-length', String(length)],
          ] as const;
          return upload({ headers });
        };
        serve = async (request, reply) => {
          const body = await read(request.raw, reply.raw, limits(), () => undefined);
          if ('remove' in body) await body.remove();
          return 'stored';
        };
        const refused = await responseTo(expecting(SIZE_BYTES_MAX + 1));
        assert.deepEqual([refused.status, refused.headers.connection], [413, 'close']);
        const connection = await openConnection(url);
        connection.write(expecting(1));
        assert.equal((await connection.response()).status, 100);
        connection.write('a');
        assert.equal((await connection.response()).status, 200);
        connection.destroy();
      });
    }
  });

  it('does not send 100 Continue if the directory cannot be created', async () => {
    mkdirSync(join(directory, '..'), { recursive: true });
    writeFileSync(directory, 'a file where the directory should be');
    let failure: unknown;
    serve = async (request, reply) => {
      await spoolBody(request.raw, reply.raw, limits(), () => undefined).catch((error: unknown) => {
        failure = error;
        throw error;
      });
    };
    const headers = [
      ['expect', '100-continue'],
      ['content-length', '1'],
    ] as const;
    const response = await responseTo(upload({ headers }));
    assert.deepEqual([response.status, response.headers.connection], [500, 'close']);
    assert.ok(failure instanceof GatewayError);
    assert.equal((failure.cause as NodeJS.ErrnoException).code, 'ENOTDIR');
    assert.ok(!response.body.includes('ENOTDIR'));
  });

  it('refuses with the error of the consumer, stops reading, and frees the file', async () => {
    let consumed = 0;
    const refusal = new GatewayError('invalidRequest', { message: 'No.', param: 'image' });
    serve = (request, reply) =>
      spoolBody(request.raw, reply.raw, limits(), (chunk) => {
        consumed += chunk.length;
        if (consumed > 200_000) throw refusal;
      });
    const response = await responseTo(upload({ body: noise(SIZE_BYTES_MAX), chunkBytes: 10_000 }));
    assert.deepEqual([response.status, JSON.parse(response.body.toString()).error.param], [400, 'image']);
    assert.ok(consumed <= 200_000 + 65_536);
    assertNothingLeft();
  });

  it('reports a full disk as internal, with the cause for the log, and frees the file', {
    skip: !isLinux,
  }, async () => {
    const file = { handle: await open('/dev/full', 'r+'), path: null };
    for (const sizeBytes of [10, 5 * BLOCK_BYTES]) {
      let failure: unknown;
      serve = (request, reply) =>
        spoolInto(file, openBody(request.raw, limits()), reply.raw, () => undefined).catch((error: unknown) => {
          failure = error;
          throw error;
        });
      const response = await responseTo(upload({ body: noise(sizeBytes) }));
      assert.equal(response.status, 500);
      assert.ok(failure instanceof GatewayError);
      assert.equal((failure.cause as NodeJS.ErrnoException).code, 'ENOSPC');
      assert.equal(file.handle.fd, -1);
      file.handle = await open('/dev/full', 'r+');
    }
    await file.handle.close();
  });

  it('removes a file that could not be unlinked while it was open', async () => {
    mkdirSync(directory, { recursive: true });
    const path = join(directory, 'kept');
    const outcomes: boolean[] = [];
    serve = async (request, reply) => {
      const file = { handle: await open(path, 'wx+'), path };
      const isRefused = outcomes.length === 1;
      try {
        const body = await spoolInto(file, openBody(request.raw, limits()), reply.raw, () => {
          if (isRefused) throw new GatewayError('invalidRequest');
        });
        await body.remove();
      } finally {
        outcomes.push(isRefused);
        assert.deepEqual(readdirSync(directory), []);
      }
      return 'stored';
    };
    assert.equal((await responseTo(upload({ body: 'a' }))).status, 200);
    assert.equal((await responseTo(upload({ body: 'a' }))).status, 400);
    assert.deepEqual(outcomes, [false, true]);
  });

  // A pipe that is read in small pieces acts as a disk much slower than the client. If the client were not paused, the
  // whole body would be in memory long before the first piece is read.
  it('pauses the client while the disk is slow, so that two blocks of memory suffice', {
    skip: !isLinux,
  }, async () => {
    const path = join(root, 'pipe');
    execFileSync('mkfifo', [path]);
    const content = noise(8 * 1024 * 1024);
    // 16 pages, of up to 64 KiB on some systems.
    const PIPE_BYTES = 16 * 65_536;
    const READ_BYTES = 8192;
    // The blocks, the chunk that did not fit into them, the content of the pipe, and the bytes that are being read.
    const AHEAD_BYTES_MAX = 2 * BLOCK_BYTES + 65_536 + PIPE_BYTES + READ_BYTES;
    let consumed = 0;
    let aheadMax = 0;
    const drained: Buffer[] = [];
    let drainedBytes = 0;
    serve = async (request, reply) => {
      const file = { handle: await open(path, 'r+'), path };
      const disk = await open(path, 'r');
      const body = openBody(request.raw, limits({ sizeBytesMax: content.length }));
      const spooling = spoolInto(file, body, reply.raw, (chunk) => {
        consumed += chunk.length;
        aheadMax = Math.max(aheadMax, consumed - drainedBytes);
      });
      while (drainedBytes < content.length) {
        const { buffer, bytesRead } = await disk.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, null);
        drained.push(buffer.subarray(0, bytesRead));
        drainedBytes += bytesRead;
      }
      await disk.close();
      await (await spooling).remove();
      return 'stored';
    };
    assert.equal((await responseTo(upload({ body: content }))).status, 200);
    assert.ok(Buffer.concat(drained).equals(content));
    assert.ok(aheadMax <= AHEAD_BYTES_MAX, `${aheadMax} bytes ahead of the disk`);
  });

  it('takes 64 MiB in chunks without growing the buffers of the process', async () => {
    const sizeBytes = 64 * 1024 * 1024;
    const piece = noise(65_536);
    const collectGarbage = garbageCollector();
    let received = 0;
    let peakBytes = 0;
    collectGarbage();
    const startBytes = process.memoryUsage().arrayBuffers;
    serve = async (request, reply) => {
      const body = await spoolBody(request.raw, reply.raw, limits({ sizeBytesMax: sizeBytes }), (chunk) => {
        const before = received;
        received += chunk.length;
        if (received >> 23 === before >> 23) return;
        // Every 8 MiB. Unreferenced buffers are freed by this collection or the next.
        collectGarbage();
        peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers - startBytes);
      });
      let at = 0;
      for await (const bytes of body.read()) {
        assert.ok(bytes.equals(piece.subarray(at % piece.length, (at % piece.length) + bytes.length)));
        at += bytes.length;
      }
      await body.remove();
      return { sizeBytes: at };
    };
    const outgoing = httpRequest(`${url}/upload`, { method: 'POST' });
    const responded = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    for (let sent = 0; sent < sizeBytes; sent += piece.length) {
      if (!outgoing.write(piece)) await once(outgoing, 'drain');
    }
    outgoing.end();
    const [response] = await responded;
    assert.deepEqual(JSON.parse((await collect(response)).toString()), { sizeBytes });
    assert.ok(peakBytes < sizeBytes / 2, `${peakBytes} bytes at most`);
  });
});

const IDLE_TIMEOUT_MS = 12_345;

/** The clock and the timer of an upload, controlled by the test. */
function mockPace(): { readonly nowMs: () => number; pass(ms: number): void; restore(): void } {
  const setRealTimeout = globalThis.setTimeout;
  let nowMs = 0;
  let expire: () => void = () => undefined;
  const mocked = mock.method(globalThis, 'setTimeout', (callback: () => void, ms = 0) => {
    if (callback.name !== 'onPaceDue') return setRealTimeout(callback, ms);
    expire = callback;
    return undefined;
  });
  return {
    nowMs: () => nowMs,
    pass(ms) {
      nowMs += ms;
      expire();
    },
    restore: () => mocked.mock.restore(),
  };
}

describe('receiveBody', { timeout: 60_000 }, () => {
  it('does not count the time during which it pauses the client', async () => {
    const { nowMs, pass, restore } = mockPace();
    let release: () => void = () => undefined;
    let resumed: Promise<unknown> = Promise.resolve();
    const heldUp = new Promise<void>((resolve) => {
      serve = ({ raw }, reply) =>
        receiveBody(openBody(raw, limits({ idleTimeoutMs: IDLE_TIMEOUT_MS, nowMs })), reply.raw, null, () => {
          resumed = once(raw, 'resume');
          resolve();
          return new Promise((done) => {
            release = done;
          });
        });
    });
    const connection = await openConnection(url);
    try {
      connection.write(upload({ headers: [['content-length', '2']], body: 'a' }));
      await heldUp;
      pass(10 * IDLE_TIMEOUT_MS);
      release();
      await resumed;
      // One byte is no progress.
      pass(IDLE_TIMEOUT_MS - 1);
      await new Promise((resolve) => setImmediate(resolve));
      pass(1);
      assert.equal((await connection.response()).status, 408);
    } finally {
      restore();
      connection.destroy();
    }
  });

  for (const [what, sentBytes, status] of [
    ['enough', 8192, 200],
    ['too little', 8191, 408],
  ] as const) {
    it(`considers ${sentBytes} bytes in the idle time ${what}`, async () => {
      const { nowMs, pass, restore } = mockPace();
      let receivedBytes = 0;
      let received: () => void = () => undefined;
      let hear: () => void = () => undefined;
      const requested = new Promise<void>((resolve) => {
        hear = resolve;
      });
      serve = async ({ raw }, reply) => {
        hear();
        await receiveBody(
          openBody(raw, limits({ idleTimeoutMs: IDLE_TIMEOUT_MS, nowMs })),
          reply.raw,
          null,
          (chunk) => {
            receivedBytes += chunk.length;
            received();
            return null;
          },
        );
        return 'received';
      };
      const connection = await openConnection(url);
      try {
        connection.write(upload({ headers: [['content-length', '10000']], body: '' }));
        await requested;
        pass(5_000);
        connection.write('x'.repeat(sentBytes));
        while (receivedBytes < sentBytes) await new Promise<void>((resolve) => (received = resolve));
        pass(IDLE_TIMEOUT_MS - 5_000);
        if (status === 200) connection.write('x'.repeat(10_000 - sentBytes));
        assert.equal((await connection.response()).status, status);
      } finally {
        restore();
        connection.destroy();
      }
    });
  }

  it('resolves when all of a body has been taken, even if the body had arrived before', async () => {
    for (const headers of [[], [['content-encoding', 'gzip']]] as const) {
      let takenBytes = 0;
      serve = async ({ raw }, reply) => {
        while (!raw.complete) await new Promise((resolve) => setImmediate(resolve));
        await receiveBody(openBody(raw, limits()), reply.raw, null, async (chunk) => {
          for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
          takenBytes += chunk.length;
        });
        return { takenBytes };
      };
      const content = Buffer.alloc(headers.length === 0 ? 10_000 : 500_000, 'a');
      const body = headers.length === 0 ? content : gzipSync(content);
      const response = await responseTo(upload({ headers, body }));
      assert.deepEqual(JSON.parse(response.body.toString()), { takenBytes: content.length });
    }
  });

  it('refuses with the error of the taker, for an encoded body too', async () => {
    for (const headers of [[], [['content-encoding', 'gzip']]] as const) {
      serve = (request, reply) =>
        receiveBody(openBody(request.raw, limits()), reply.raw, null, () =>
          Promise.reject(new GatewayError('invalidRequest', { message: 'No.' })),
        );
      const response = await responseTo(upload({ headers, body: headers.length === 0 ? 'a' : gzipSync('a') }));
      assert.deepEqual([response.status, JSON.parse(response.body.toString()).error.message], [400, 'No.']);
    }
  });
});

describe('sweepSpool', { timeout: 60_000 }, () => {
  const fileOf = (pid: number) => `upload-${pid}-${'0'.repeat(32)}.part`;

  it('removes files of ended processes, and of an earlier process with the same id', async () => {
    mkdirSync(directory, { recursive: true });
    const child = spawn(process.execPath, ['-e', '']);
    const gone = child.pid!;
    await once(child, 'exit');
    for (const name of [fileOf(gone), fileOf(process.pid)]) writeFileSync(join(directory, name), '');
    assert.equal(await sweepSpool(directory), 2);
    assert.deepEqual(readdirSync(directory), []);
  });

  it('keeps files of running processes, and all other files', async () => {
    mkdirSync(directory, { recursive: true });
    const names = [fileOf(process.ppid), 'upload-1.part', 'notes.txt'].sort();
    for (const name of names) writeFileSync(join(directory, name), '');
    assert.equal(await sweepSpool(directory), 0);
    assert.deepEqual(readdirSync(directory).sort(), names);
    rmSync(directory, { recursive: true });
  });

  it('removes nothing if the directory does not exist', async () => {
    assert.equal(await sweepSpool(directory), 0);
  });
});
