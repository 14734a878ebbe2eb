import type { FastifyReply } from 'fastify';
import type { BodyBudgets, BodyTenant } from './body-budgets.ts';

/** Maximum size of a text that is not counted, because the buffer of a socket can hold it. */
const UNCOUNTED_BYTES = 16 * 1024;

/**
 * Sends a generated text. Until the client has received it, it counts in the budget as a large body. `budgets`: `null`: texts are not
 * counted.
 *
 * Callers must return the result without `await`: a suspended function would keep the text in memory next to its bytes until the client has
 * read them.
 *
 * @throws GatewayError `overloaded` if the budget has no memory for it.
 */
export function sendText(
  reply: FastifyReply,
  text: string,
  budgets: BodyBudgets | null,
  tenant: BodyTenant,
): FastifyReply {
  const bytes = Buffer.from(text);
  if (budgets !== null && bytes.length > UNCOUNTED_BYTES && !reply.raw.closed) {
    const memory = budgets.memoryOf(tenant);
    reply.raw.once('close', () => memory.release());
    memory.need(bytes.length, true);
  }
  return reply.send(bytes);
}
