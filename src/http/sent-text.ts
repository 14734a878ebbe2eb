import type { FastifyReply } from 'fastify';
import type { BodyBudgets, BodyHolder } from './body-budgets.ts';

/** Up to this size a text is not counted: a socket takes as much at once. */
const UNCOUNTED_BYTES = 16 * 1024;

/**
 * Sends a text that was made for one client. Until the client has taken it, it counts in the budget as a large body does. `budgets`: `null` if
 * nothing is counted.
 *
 * Callers return the result and do not await it: a suspended function would keep the text next to the bytes until the client has read them.
 *
 * @throws GatewayError `overloaded` if there is no memory for it.
 */
export function sendText(
  reply: FastifyReply,
  text: string,
  budgets: BodyBudgets | null,
  holder: BodyHolder,
): FastifyReply {
  const bytes = Buffer.from(text);
  if (budgets !== null && bytes.length > UNCOUNTED_BYTES && !reply.raw.closed) {
    const memory = budgets.memoryOf(holder);
    reply.raw.once('close', () => memory.release());
    memory.need(bytes.length, true);
  }
  return reply.send(bytes);
}
