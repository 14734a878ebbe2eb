import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

/** A response as it comes in, byte for byte. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What has arrived so far. */
  readonly body: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly json: any;
  /** Resolves once the text has arrived; rejects if the response ends without it. */
  until(text: string): Promise<void>;
  /** Resolves at the end of the response: with true if it is complete, with false if the connection broke. */
  ended(): Promise<boolean>;
  /** Starts to read a response that was asked for with `isPaused`. */
  resume(): void;
}

/** A call under way, on a connection of its own. */
export interface StartedCall {
  /** Resolves with the head of the response. */
  readonly response: Promise<ClientResponse>;
  /** Leaves: closes the connection, whatever is still under way on it. */
  drop(): void;
}

export interface CallOptions {
  /** Leaves the body of the response in the network until `resume`. */
  readonly isPaused?: boolean;
  readonly headers?: Record<string, string>;
}

/** Sends a JSON body, bytes as they are or a value to be written, with a key as Bearer. */
export function startCall(
  url: string,
  key: string,
  body: object | Buffer | string,
  options: CallOptions = {},
): StartedCall {
  const bytes = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers<ClientResponse>();
  const outgoing = request(
    url,
    {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...options.headers },
    },
    (incoming) => resolve(new IncomingResponse(incoming, options.isPaused === true)),
  );
  outgoing.on('error', reject);
  // A test that drops its call does not ask for the response.
  promise.catch(() => undefined);
  outgoing.end(bytes);
  return { response: promise, drop: () => outgoing.destroy() };
}

/** Sends a call and reads its response to the end. */
export async function call(
  url: string,
  key: string,
  body: object | Buffer | string,
  options: CallOptions = {},
): Promise<ClientResponse> {
  const response = await startCall(url, key, body, options).response;
  if (!(await response.ended()) && !isCut(response)) {
    throw new Error(`the connection broke after ${response.body.length} bytes of the response`);
  }
  return response;
}

/** Whether a response is a chat stream with an error event at its end: its connection is cut behind that event. */
export function isCut({ text }: Pick<ClientResponse, 'text'>): boolean {
  return /(?:^|\n\n)data: \{"error":[^\n]*\n\n$/.test(text);
}

class IncomingResponse implements ClientResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #incoming: IncomingMessage;
  readonly #end = Promise.withResolvers<boolean>();
  #chunks: Buffer[] = [];
  #hasEnded = false;
  #waiting: (() => void)[] = [];

  constructor(incoming: IncomingMessage, isPaused: boolean) {
    this.#incoming = incoming;
    this.status = incoming.statusCode ?? 0;
    this.headers = incoming.headers;
    incoming.on('error', () => undefined);
    incoming.on('close', () => {
      this.#hasEnded = true;
      this.#end.resolve(incoming.complete);
      this.#check();
    });
    if (!isPaused) this.resume();
  }

  get body(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  get text(): string {
    return this.body.toString();
  }

  get json() {
    return JSON.parse(this.text);
  }

  until(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (this.body.includes(text)) resolve();
        else if (this.#hasEnded) reject(new Error(`the response ended without ${text}:\n${this.text.slice(-2000)}`));
        else this.#waiting.push(check);
      };
      check();
    });
  }

  ended(): Promise<boolean> {
    return this.#end.promise;
  }

  resume(): void {
    this.#incoming.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#check();
    });
  }

  #check(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const check of waiting) check();
  }
}

/** Everything that an iteration gives. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The error that a call ends with, which must be of the given class. */
export async function failureOf<Failure extends Error>(
  kind: abstract new (...given: never) => Failure,
  call: Promise<unknown>,
): Promise<Failure> {
  const failure = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (failure instanceof kind) return failure;
  throw new Error(failure === null ? 'the call succeeded' : `${failure} is no ${kind.name}`, { cause: failure });
}
