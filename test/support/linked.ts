import { EventEmitter } from 'node:events';
import { type Channel, type Handlers, ProcessLink } from '../../src/lib/process-link.ts';

/** One end of a channel that copies messages, as channels between processes do. */
export class End extends EventEmitter implements Channel {
  /** `null`: the other process has exited. */
  other: End | null = null;

  send(message: object, done: (error: Error | null) => void): void {
    const { other } = this;
    const copy: unknown = structuredClone(message);
    queueMicrotask(() => {
      if (other === null) done(new Error('closed'));
      else other.emit('message', copy);
    });
  }
}

/** A link to a peer with these handlers, and both ends of its channel. */
export function linkTo(handlers: Handlers): { readonly asker: ProcessLink; readonly ends: readonly [End, End] } {
  const [one, other] = [new End(), new End()];
  one.other = other;
  other.other = one;
  new ProcessLink(other, handlers);
  return { asker: new ProcessLink(one, {}), ends: [one, other] };
}
