import { NamedError } from './named-error.ts';

/** A message channel to another process: a worker of `node:cluster` or, in a worker, `process`. */
export interface Channel {
  send(message: object, done: (error: Error | null) => void): unknown;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** Handlers of messages by name. The reply is the result; of a promise, what it resolves with. */
// biome-ignore lint/suspicious/noExplicitAny: each name has its own parameters
export type Handlers = Readonly<Record<string, (...given: any[]) => unknown>>;

/** The other process has exited or cannot be reached. */
export class LinkClosedError extends NamedError {
  constructor(name: string) {
    super(`the other process has exited and cannot reply to "${name}"`);
  }
}

class ReplyFailedError extends NamedError {
  constructor(name: string, reason: string) {
    super(`the other process failed to handle "${name}": ${reason}`);
  }
}

type LinkMessage =
  | { readonly link: 'ask'; readonly id: number; readonly name: string; readonly given: readonly unknown[] }
  | { readonly link: 'tell'; readonly name: string; readonly given: readonly unknown[] }
  | { readonly link: 'reply'; readonly id: number; readonly result: unknown }
  | { readonly link: 'failure'; readonly id: number; readonly reason: string };

interface Waiting {
  readonly name: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One end of a link between two processes, for requests (`ask`) and notifications (`tell`). Messages arrive in order. */
export class ProcessLink {
  readonly #channel: Channel;
  readonly #handlers: Handlers;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #isClosed = false;

  constructor(channel: Channel, handlers: Handlers) {
    this.#channel = channel;
    this.#handlers = handlers;
    channel.on('message', (message) => {
      if (isLinkMessage(message)) void this.#receive(message);
    });
  }

  /** Sends a request and returns the reply. It has no timeout (see `InTime`). @throws LinkClosedError, ReplyFailedError */
  ask<Result>(name: string, ...given: readonly unknown[]): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new LinkClosedError(name));
    const id = ++this.#lastId;
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { name, resolve: resolve as (result: unknown) => void, reject });
      this.#send({ link: 'ask', id, name, given }, () => {
        this.#waiting.delete(id);
        reject(new LinkClosedError(name));
      });
    });
  }

  /** Sends a notification. It is lost if the other process has exited. */
  tell(name: string, ...given: readonly unknown[]): void {
    if (!this.#isClosed) this.#send({ link: 'tell', name, given }, () => undefined);
  }

  /** Call this when the other process has exited. Pending and later requests fail. */
  close(): void {
    this.#isClosed = true;
    for (const { name, reject } of this.#waiting.values()) reject(new LinkClosedError(name));
    this.#waiting.clear();
  }

  async #receive(message: LinkMessage): Promise<void> {
    switch (message.link) {
      case 'tell':
        await this.#handlers[message.name]?.(...message.given);
        return;
      case 'ask':
        this.#send(await this.#replyTo(message), () => undefined);
        return;
      default: {
        const waiting = this.#waiting.get(message.id);
        if (waiting === undefined) return;
        this.#waiting.delete(message.id);
        if (message.link === 'reply') waiting.resolve(message.result);
        else waiting.reject(new ReplyFailedError(waiting.name, message.reason));
      }
    }
  }

  async #replyTo({ id, name, given }: LinkMessage & { readonly link: 'ask' }): Promise<LinkMessage> {
    try {
      const handler = this.#handlers[name];
      if (handler === undefined) throw new Error('it has no handler for this message');
      return { link: 'reply', id, result: await handler(...given) };
    } catch (error) {
      return { link: 'failure', id, reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Sending fails only if the other process has exited, and other code detects this. */
  #send(message: LinkMessage, onLost: () => void): void {
    this.#channel.send(message, (error) => {
      if (error !== null) onLost();
    });
  }
}

function isLinkMessage(message: unknown): message is LinkMessage {
  return typeof message === 'object' && message !== null && 'link' in message;
}
