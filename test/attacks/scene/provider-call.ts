import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { type BilledCall, readMark } from './bill.ts';
import { costNano } from './models.ts';

/** Thrown if the gateway disconnects: the provider stops as real ones do, and bills its work so far. */
export class GoneError extends Error {}

/** One request at the provider of the scene: its script, its work, and its response. */
export class ProviderCall {
  readonly path: string;
  readonly body: Buffer;
  readonly script: string;
  readonly number: number;
  readonly tag: string;
  readonly model: string;
  readonly used = { inputTokens: 0, outputTokens: 0, reasoningTokens: 0, images: 0, searchUnits: 0 };
  state: BilledCall['state'] = 'running';
  readonly #response: ServerResponse;
  readonly #gone = new AbortController();
  #json: Record<string, unknown> | null = null;

  constructor(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    this.path = request.url ?? '';
    this.body = body;
    this.#response = response;
    const mark = readMark(body);
    this.script = mark.script;
    this.number = mark.number;
    this.tag = mark.tag;
    this.model = /"model":\s*"([^"]+)"/.exec(body.toString('latin1', 0, 4096))?.[1] ?? 'painter';
    response.on('close', () => {
      if (this.state === 'running') this.state = 'cancelled';
      this.#gone.abort();
    });
  }

  get isStream(): boolean {
    return this.json.stream === true;
  }

  get json(): Record<string, unknown> {
    this.#json ??= JSON.parse(this.body.toString()) as Record<string, unknown>;
    return this.#json;
  }

  /** @throws GoneError if the gateway disconnects during that time */
  async pause(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#gone.signal }).catch(() => undefined);
    if (this.#gone.signal.aborted) throw new GoneError();
  }

  /** A non-streaming response. Errors are free; a success is billed as reported. */
  sendJson(status: number, value: object): Promise<void> {
    const text = JSON.stringify(value);
    this.#response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    return this.#end(text, status < 400 ? 'reported' : 'refused');
  }

  /** A success that is sent as fast as the gateway reads, and is billed as reported. */
  async sendPieces(contentType: string, pieces: Iterable<string | Buffer>): Promise<void> {
    this.#response.writeHead(200, { 'content-type': contentType });
    for (const piece of pieces) {
      await new Promise<void>((resolve) => this.#response.write(piece, () => resolve()));
      if (this.#gone.signal.aborted) throw new GoneError();
    }
    return this.#end('', 'reported');
  }

  async event(text: string): Promise<void> {
    if (!this.#response.headersSent) this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
    await new Promise<void>((resolve) => this.#response.write(text, () => resolve()));
    if (this.#gone.signal.aborted) throw new GoneError();
  }

  /** Ends a completed stream. */
  endStream(): Promise<void> {
    return this.#end('', 'reported');
  }

  billed(): BilledCall {
    const { tag, script, path, model, state, body, used } = this;
    const nano = state === 'refused' ? 0n : costNano(model, used);
    return { tag, script, path, model, state, bodyBytes: body.length, ...used, nano: String(nano) };
  }

  #end(text: string, state: BilledCall['state']): Promise<void> {
    return new Promise((resolve) => {
      this.#response.end(text, () => {
        if (this.state === 'running') this.state = state;
        resolve();
      });
    });
  }
}

export type Script = (call: ProviderCall) => Promise<void>;
