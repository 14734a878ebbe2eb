import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

/** A response that is still arriving, byte for byte. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything received so far. */
  readonly body: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly json: any;
  /** Resolves once the text has arrived; rejects if the response ends without it. */
  until(text: string): Promise<void>;
  /** Resolves at the end of the response: true if it is complete, false if the connection broke. */
  ended(): Promise<boolean>;
  /** Starts reading a response that was requested with `isPaused`. */
  resume(): void;
}

/** A call in flight, on its own connection. */
export interface StartedCall {
  /** Resolves with the head of the response. */
  readonly response: Promise<ClientResponse>;
  /** Closes the connection, whatever is still in flight on it. */
  drop(): void;
}

export interface CallOptions {
  /** Does not read the body of the response until `resume`. */
  readonly isPaused?: boolean;
  readonly headers?: Record<string, string>;
}

/** Sends a JSON body, given as bytes or as a value, with a key as Bearer. */
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
  // Prevents an unhandled rejection in tests that abandon the call.
  promise.catch(() => undefined);
  outgoing.end(bytes);
  return { response: promise, drop: () => outgoing.destroy() };
}

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

/** Whether a response is a chat stream that ends with an error event. Its connection is cut after that event. */
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

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The error that a call rejects with. Fails unless it is of the given class. */
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
