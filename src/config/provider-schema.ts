import { protocolNames } from '../protocols/all.ts';
import { operationNames } from '../protocols/operations/all.ts';
import { dialect } from './dialect-schema.ts';
import {
  allowedPart,
  certificates,
  durationMs,
  headerValue,
  listOf,
  named,
  oneOf,
  providerUrl,
  proxyUrl,
  section,
  text,
  trueOrFalse,
  wholeNumber,
  wireName,
} from './fields.ts';
import { parameters } from './parameters-schema.ts';
import { CREDENTIALS_MAX, providerCredential } from './provider-credentials.ts';
import { useLimits } from './use-limits-schema.ts';

/** This file has the schema of a provider. `rules.ts` has rules between its values. */

/** A provider. It has either `apiKey` or `apiKeys` (`rules.ts`). */
export const provider = section({
  protocol: oneOf(protocolNames).describe('API that the provider implements.'),
  baseUrl: providerUrl.describe("Base URL, as for the vendor's own SDK. Its query is sent with every request."),
  apiKey: providerCredential
    .optional()
    .describe(
      'Credential, `{ file: PATH }`, `{ secret: NAME }` for a sealed secret, or `{ command: NAME }` for one of `credentialCommands`. With `limits`, such as `{ secret: NAME, limits: … }`, it has limits of its own; a credential itself is then `{ value: …, limits: … }`. Secret.',
    ),
  apiKeys: listOf('at least one credential', providerCredential, 1)
    .refine((keys) => keys.length <= CREDENTIALS_MAX, { error: `a list of at most ${CREDENTIALS_MAX} credentials` })
    .optional()
    .describe('Several credentials of one account at the vendor, used in rotation, in place of `apiKey`. Secret.'),
  vendor: wireName
    .optional()
    .describe('Prefix of the version and beta headers that the provider expects, such as `anthropic`.'),
  auth: oneOf(['bearer', 'x-api-key', 'api-key'])
    .optional()
    .describe('Header for the credential. Default: `bearer` for chat, `x-api-key` for messages.'),
  timeouts: section({
    connect: durationMs.default(10_000).describe('Timeout for connecting.'),
    firstByte: durationMs.default(600_000).describe('Timeout for the first byte of a response.'),
    idle: durationMs.default(300_000).describe('Timeout between two bytes of a stream.'),
  }).prefault({}),
  connections: wholeNumber(1, 100_000)
    .default(1024)
    .describe('Maximum number of calls in flight. With HTTP/1.1, each uses a connection of its own.'),
  queue: section({
    length: wholeNumber(0, 100_000).default(1024).describe('Calls that may wait for a connection.'),
    wait: durationMs.default(10_000).describe('Longest wait of a call in the queue.'),
  }).prefault({}),
  sharedState: oneOf(['own', 'pass'])
    .default('own')
    .describe(
      'Who may refer to state that the provider keeps: `own`, the account whose responses contained it; `pass`, every account.',
    ),
  allows: listOf('names such as tools.x_search or tools.openrouter:*', allowedPart)
    .default([])
    .describe('Unknown tools and tool fields that may be sent to the provider, by the names in the error message.'),
  unknownTools: oneOf(['refuse', 'pass'])
    .default('refuse')
    .describe('Whether unknown tools and tool fields that `allows` does not list are refused or passed on.'),
  missingUsage: oneOf(['refuse', 'estimate'])
    .default('refuse')
    .describe(
      'What to do with a non-streaming response whose usage is missing or implausible. Streams are always estimated; compactions and images are always refused.',
    ),
  cacheTokens: oneOf(['auto', 'excluded'])
    .default('auto')
    .describe(
      'Whether the input that a chat provider reports excludes cached tokens. `auto` derives it from the reported figures.',
    ),
  traceContext: oneOf(['off', 'pass'])
    .default('off')
    .describe('Whether the provider receives the W3C trace context (`traceparent`, `tracestate`) of calls.'),
  headers: named('header names', headerValue)
    .default({})
    .describe('Headers of every request to the provider. They may be secret.'),
  forwardHeaders: listOf('names of headers such as x-opencode-session', text)
    .default([])
    .describe('Headers of clients that the provider gets, by their exact names. Never credentials or addresses.'),
  proxy: proxyUrl.default('').describe('HTTP proxy that tunnels connections to the provider. Empty: none.'),
  http2: trueOrFalse.default(false).describe('Offers HTTP/2 to the provider.'),
  ca: certificates
    .optional()
    .describe('Certificate authorities to trust for the provider, in place of the default ones.'),
  serves: listOf('at least one operation', oneOf(operationNames), 1)
    .optional()
    .describe(
      'Operations that the provider serves. Default: all of its protocol. Others need a route with `translate`.',
    ),
  dialect: dialect.optional().describe('How translated requests are written for the provider (`docs/translation.md`).'),
  parameters: parameters.optional().describe('Changes of all request bodies for the provider (`docs/parameters.md`).'),
  limits: useLimits
    .optional()
    .describe(
      'Limits of all calls to the provider together. Routes and credentials that have reached a limit are skipped (`docs/routing.md`).',
    ),
  vendorLimits: oneOf(['ignore', 'follow'])
    .default('ignore')
    .describe(
      'Whether a credential without remaining requests or tokens, by the rate-limit headers of its last response, is used last until they reset.',
    ),
});
