import { NamedError } from './named-error.ts';

/** What two processes send each other messages by: a worker of `node:cluster`, or the process itself in a worker. */
export interface Channel {
  send(message: object, done: (error: Error | null) => void): unknown;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** What the other side may ask for or tell, by name. A result, or a promise of it, is the reply. */
// biome-ignore lint/suspicious/noExplicitAny: each name has parameters of its own, as its asker knows
export type Handlers = Readonly<Record<string, (...given: any[]) => unknown>>;

/** The other process is gone, or cannot be reached any more. */
export class LinkClosedError extends NamedError {
  constructor(name: string) {
    super(`the other process is gone, and does not say "${name}" any more`);
  }
}

/** The other process failed to reply. */
class ReplyFailedError extends NamedError {
  constructor(name: string, reason: string) {
    super(`the other process failed at "${name}": ${reason}`);
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

/** One side of a conversation between two processes: each asks and tells the other by names. Messages keep their order. */
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

  /**
   * Asks, and resolves with the reply, however long that takes: use `InTime` where the other side may hang.
   *
   * @throws LinkClosedError, ReplyFailedError
   */
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

  /** Tells, and waits for nothing. What a process that is gone does not hear any more is lost. */
  tell(name: string, ...given: readonly unknown[]): void {
    if (!this.#isClosed) this.#send({ link: 'tell', name, given }, () => undefined);
  }

  /** The other process is gone: what waits for its replies fails, and so does what is asked later. */
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
      if (handler === undefined) throw new Error('it is not known there');
      return { link: 'reply', id, result: await handler(...given) };
    } catch (error) {
      return { link: 'failure', id, reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** A process that has ended takes no message; its end is noticed elsewhere. */
  #send(message: LinkMessage, onLost: () => void): void {
    this.#channel.send(message, (error) => {
      if (error !== null) onLost();
    });
  }
}

function isLinkMessage(message: unknown): message is LinkMessage {
  return typeof message === 'object' && message !== null && 'link' in message;
}
