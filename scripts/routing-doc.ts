import { REFUSAL_RULES } from '../src/calls/relay/failover.ts';
import { SESSION_HEADERS } from '../src/protocols/operations/session.ts';
import type { RefusalReason } from '../src/providers/upstream/failure.ts';
import { FAILURE_ROWS } from './failure-table.ts';
import { writeLastPart } from './generated-doc.ts';
import { markdownTable } from './markdown.ts';

/** Writes the tables of `docs/routing.md`. */

const REFUSALS: Readonly<Record<RefusalReason, string>> = {
  operator: "401, 402, and a 400 or 429 about the operator's account at the vendor",
  permission: '403, and a 401 or 402 that depends on the call',
  model: '404 about the model: retired, or not served there',
  signature: '400 about a signature or encrypted content of the conversation',
  rate: '429',
  capacity: '503, 529',
  lost: '502, 504 of a proxy in front of the provider',
  fault: 'any other 5xx',
  call: 'any other 4xx',
};

const BREAKERS = {
  operator: 'a failure of the route, once it affects a second account',
  response: 'a failed response',
} as const;

const refusals = Object.entries(REFUSAL_RULES).map(([reason, { isTriedElsewhere, failure }]) => [
  REFUSALS[reason as RefusalReason],
  isTriedElsewhere ? 'yes' : 'no',
  failure === null ? 'nothing: the provider responds' : BREAKERS[failure],
]);

const combinations = FAILURE_ROWS.map(({ text, isTriedElsewhere, retried, reason, status }) => {
  const ofRetry = retried === null ? 'as without settings' : `\`${retried}\`: again`;
  const ofFallbacks = reason === null ? 'as without settings' : `\`${reason}\`: another model`;
  return [text, isTriedElsewhere ? 'the next route' : 'nothing', ofRetry, ofFallbacks, String(status)];
});

writeLastPart(
  'docs/routing.md',
  `
## Refusals of a provider

${markdownTable(['status, before the first byte of a success', 'another route is tried', 'what the breaker counts'], refusals)}

## Failures and settings

What is tried after a failure, before a byte of a response has reached the client. With \`retry\` and \`fallbacks\`, the next route comes
first, then the further attempt, then another model. With \`keepAlive\`, the last column is the status in the message of the error event,
if the stream has opened.

${markdownTable(['failure', 'without settings', 'with `retry`, if `on` names it', 'with `fallbacks`, if `fallbackOn` names it', 'status, if nothing serves the call'], combinations)}

## What identifies a session

${['`prompt_cache_key` of the body', ...SESSION_HEADERS.map((name) => `header \`${name}\``), '`metadata.user_id` of the body', "the first 4 KiB of the conversation's text"].map((name, i) => `${i + 1}. ${name}`).join('\n')}
`,
);
