import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type RunningProgram, startProgram, temporaryDirectory } from '../support/process.ts';
import { inFullRunsOnly } from '../support/scope.ts';
import { BOUNDARY, EDITS, file, formType, imagesBody, partBytes, png, text } from './images.ts';

/** The body limit of edits at full size, in a separate process, where memory can be measured. */

const MEBIBYTE = 2 ** 20;
const GATE_BYTES = 805 * MEBIBYTE;
const MEMORY_GROWTH_MAX = 64 * MEBIBYTE;
const WARM_UP_BYTES = 60 * MEBIBYTE;
const ADMIN_TOKEN = 'gate-admin-token';
const MODEL = 'gpt-image-2';

const skip = process.platform === 'linux' ? inFullRunsOnly : 'memory is read from /proc';

/** The parts of a form: short data, or this many bytes of filling. */
type Piece = Buffer | number;

/** A form of images just under 50 MiB and a mask just under 4 MiB, padded to `sizeBytes` in an unknown part. */
function formOf(sizeBytes: number, images = 16): Piece[] {
  const head = png(64);
  const pieces: Piece[] = [partBytes(text('model', MODEL)), partBytes(text('prompt', 'Add a boat'))];
  const append = (name: string, contentBytes: number): void => {
    const part = partBytes(file(name, head));
    pieces.push(part.subarray(0, -2), contentBytes - head.length, part.subarray(-2));
  };
  for (let image = 0; image < images; image++) append('image[]', 50 * MEBIBYTE - 1);
  append('mask', 4 * MEBIBYTE - 1);
  const padded = partBytes(text('padding', ''));
  const end = Buffer.from(`--${BOUNDARY}--\r\n`);
  const size = (given: readonly Piece[]): number =>
    given.reduce<number>((sum, piece) => sum + (typeof piece === 'number' ? piece : piece.length), 0);
  const missing = sizeBytes - size(pieces) - padded.length - end.length;
  assert.ok(missing > 0);
  const whole = [...pieces, padded.subarray(0, -2), missing, padded.subarray(-2), end];
  assert.equal(size(whole), sizeBytes);
  return whole;
}

/** All byte values, so that chunks that are moved, lost or repeated are noticed. */
const FILLING = Buffer.alloc(MEBIBYTE, 0);
for (let at = 0; at < FILLING.length; at += 4) FILLING.writeUInt32LE(Math.imul(at + 1, 2_654_435_761) >>> 0, at);

function* bytesOf(pieces: readonly Piece[]): Generator<Buffer> {
  for (const piece of pieces) {
    if (typeof piece !== 'number') {
      yield piece;
      continue;
    }
    for (let left = piece; left > 0; left -= FILLING.length) yield FILLING.subarray(0, Math.min(left, FILLING.length));
  }
}

interface Sent {
  readonly status: number;
  readonly code: string | null;
  readonly sentBytes: number;
  readonly checksum: number;
}

interface Received {
  readonly bytes: number;
  readonly checksum: number;
}

describe('8 The body gate of edits', { skip }, () => {
  const directory = temporaryDirectory();
  const dataDir = join(directory.path, 'data');
  const spool = join(dataDir, 'spool');
  const config = join(directory.path, 'gate.yaml');
  const received: Received[] = [];
  let provider: Server;
  let stored: TestDatabase;
  let gateway: RunningProgram;
  let url: string;
  let accountId: string;
  let key: string;

  async function serve(): Promise<void> {
    const environment = {
      FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
      FAREGATE_DATA_DIR: dataDir,
      DATABASE_URL: stored.url,
      PORT: '0',
    };
    gateway = startProgram(['serve', '--config', config], { environment, directory: directory.path });
    url = /listening on (\S+)/.exec(await gateway.printed(/listening on \S+\n/))![1]!;
  }

  async function admin(method: string, path: string, body?: object) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, path);
    return (await response.json()) as { id: string; key: string; balanceYuan: string; heldYuan: string };
  }

  before(async () => {
    provider = createServer((incoming, response) => {
      let checksum = 0;
      let bytes = 0;
      incoming.on('data', (chunk: Buffer) => {
        checksum = crc32(chunk, checksum);
        bytes += chunk.length;
      });
      incoming.on('end', () => {
        received.push({ bytes, checksum });
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(imagesBody()));
      });
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    const { port } = provider.address() as AddressInfo;
    writeFileSync(
      config,
      `
providers: { acme: { protocol: chat, baseUrl: "http://127.0.0.1:${port}/v1", apiKey: a-key } }
models: { ${MODEL}: { operations: [images.edit], price: { perImage: "0.5" }, routes: [{ provider: acme, model: ${MODEL} }] } }
`,
    );
    stored = await createTestDatabase();
    await serve();
    ({ id: accountId } = await admin('POST', '/accounts', { name: 'gate', verified: true }));
    await admin('POST', `/accounts/${accountId}/top-ups`, { amountYuan: '100' });
    ({ key } = await admin('POST', `/accounts/${accountId}/keys`, { name: 'gate' }));
  });

  after(async () => {
    gateway.child.kill('SIGKILL');
    await gateway.finished;
    await stored.remove();
    provider.close();
    provider.closeAllConnections();
    directory.remove();
  });

  function begin(contentLength: number): { outgoing: ClientRequest; responded: Promise<IncomingMessage> } {
    const headers = { authorization: `Bearer ${key}`, 'content-type': formType(), 'content-length': contentLength };
    const outgoing = request(url + EDITS, { method: 'POST', agent: false, headers });
    const responded = once(outgoing, 'response').then(([incoming]) => incoming as IncomingMessage);
    responded.catch(() => undefined);
    outgoing.on('error', () => undefined);
    outgoing.flushHeaders();
    return { outgoing, responded };
  }

  /** Sends a form as fast as the gateway reads it, until it responds. Calls `onSent` after each chunk. */
  async function upload(
    pieces: readonly Piece[],
    contentLength: number,
    onSent: () => void = () => undefined,
  ): Promise<Sent> {
    const { outgoing, responded } = begin(contentLength);
    let checksum = 0;
    let sentBytes = 0;
    let hasResponse = false;
    responded.then(
      () => (hasResponse = true),
      () => (hasResponse = true),
    );
    for (const bytes of bytesOf(pieces)) {
      if (hasResponse) break;
      checksum = crc32(bytes, checksum);
      sentBytes += bytes.length;
      if (!outgoing.write(bytes)) await Promise.race([once(outgoing, 'drain'), responded]);
      onSent();
    }
    if (!hasResponse) outgoing.end();
    const incoming = await responded;
    const body = (await incoming.toArray()) as Buffer[];
    outgoing.destroy();
    const { error } = JSON.parse(Buffer.concat(body).toString());
    return { status: incoming.statusCode!, code: error?.code ?? null, sentBytes, checksum };
  }

  /** The resident memory of the gateway, in bytes. */
  function memory(): number {
    const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
  }

  async function assertMoney(balanceYuan: string): Promise<void> {
    const account = await admin('GET', `/accounts/${accountId}`);
    assert.deepEqual([account.balanceYuan, account.heldYuan], [balanceYuan, '0']);
  }

  it('8 a form of exactly 805 MiB is accepted: 16 images and a mask at their limits, with less than 64 MiB of memory', async (context) => {
    // Memory that any first upload allocates for good (code, the young generation) does not count.
    const first = await upload(formOf(WARM_UP_BYTES, 1), WARM_UP_BYTES);
    assert.equal(first.status, 200);
    received.length = 0;
    const idle = memory();
    let peak = idle;
    const sample = (): void => {
      peak = Math.max(peak, memory());
    };
    const sampling = setInterval(sample, 20);
    context.after(() => clearInterval(sampling));
    const pieces = formOf(GATE_BYTES);
    const sent = await upload(pieces, GATE_BYTES, sample);
    sample();
    const growth = peak - idle;
    const figures = [idle, peak].map((bytes) => Math.round(bytes / MEBIBYTE)).join(', ');
    context.diagnostic(`MiB of memory when idle, and at most during the upload: ${figures}`);
    assert.deepEqual([sent.status, sent.sentBytes], [200, GATE_BYTES]);
    assert.deepEqual(received.at(-1), { bytes: GATE_BYTES, checksum: sent.checksum });
    assert.ok(growth < MEMORY_GROWTH_MAX, `memory grew by ${growth} bytes`);
    assert.deepEqual(readdirSync(spool), []);
    await assertMoney('99');
  });

  // Chunked bodies are refused with 413 once they are too large; `8-image-limits.test.ts` tests that with a lower limit.
  it('8 a form of 805 MiB and one byte is 413 before any of it is sent, if its length is announced', async () => {
    const { outgoing, responded } = begin(GATE_BYTES + 1);
    const incoming = await responded;
    const body = (await incoming.toArray()) as Buffer[];
    outgoing.destroy();
    assert.deepEqual([incoming.statusCode, incoming.headers.connection], [413, 'close']);
    assert.equal(JSON.parse(Buffer.concat(body).toString()).error.code, 'request_too_large');
    assert.equal(received.length, 1);
  });

  it('8 no file is left of an upload whose client leaves, nor of one whose gateway is killed', async () => {
    const pieces = formOf(GATE_BYTES);
    const uploadPart = async (): Promise<ClientRequest> => {
      const { outgoing } = begin(GATE_BYTES);
      let sentBytes = 0;
      for (const bytes of bytesOf(pieces)) {
        sentBytes += bytes.length;
        if (!outgoing.write(bytes)) await once(outgoing, 'drain');
        if (sentBytes > 40 * MEBIBYTE) break;
      }
      return outgoing;
    };
    (await uploadPart()).destroy();
    const killed = await uploadPart();
    assert.ok(openSpoolFiles() > 0);
    gateway.child.kill('SIGKILL');
    await gateway.finished;
    killed.destroy();
    assert.deepEqual(readdirSync(spool), []);
    assert.equal(received.length, 1);

    await serve();
    assert.deepEqual(readdirSync(spool), []);
    await assertMoney('99');
  });

  /** Files of the spool directory that the gateway has open, including deleted ones. */
  function openSpoolFiles(): number {
    const descriptors = `/proc/${gateway.child.pid}/fd`;
    return readdirSync(descriptors).filter((each) => {
      try {
        return readlinkSync(join(descriptors, each)).startsWith(spool);
      } catch {
        return false;
      }
    }).length;
  }
});
