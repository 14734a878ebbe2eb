import { byProtocol, type ProtocolName } from '../protocols/all.ts';
import { keepAliveOfOperations } from './attempt-schema.ts';
import {
  addressRange,
  corsOrigins,
  durationMs,
  durationOrZeroMs,
  listenAddress,
  listOf,
  protocolNames as mountedNames,
  oneOf,
  port,
  publicUrl,
  section,
  sizeBytes,
  text,
  trueOrFalse,
  wholeNumber,
} from './fields.ts';

/** This file has the schema of the section `server`. */

const MOUNT_TEXTS: Readonly<Record<ProtocolName, string>> = {
  chat: 'Names of the chat protocol in headers and the catalog. The catalog uses only the first name.',
  messages: 'Names of the messages protocol in paths, headers and the catalog. The catalog uses only the first name.',
};

export const server = section({
  host: text.default('127.0.0.1').describe('Address to listen on. `0.0.0.0` is every IPv4 address of the machine.'),
  port: port.default(8080).describe('Port to listen on. 0 picks a free port.'),
  publicUrl: publicUrl
    .optional()
    .describe('Public address of the gateway, for links and cookies. Default: the address of each request.'),
  metrics: listenAddress
    .optional()
    .describe('Address that serves `/metrics` and the health endpoints without a token. Default: none.'),
  bodyLimit: sizeBytes.default(64 * 2 ** 20).describe('Largest JSON request body, after decompression.'),
  editBodyLimit: sizeBytes.default(805 * 2 ** 20).describe('Largest upload for an image edit.'),
  bodyMemory: sizeBytes
    .optional()
    .describe(
      'Memory for all request bodies together. Unsent responses may use three quarters of it. Default: a quarter of the available memory.',
    ),
  uploadDisk: sizeBytes
    .optional()
    .describe('Disk space for all uploads together. Default: half of the free space, at most 8 GiB.'),
  protocolNames: section(
    byProtocol(({ name: protocol, defaultMounts }) =>
      mountedNames.default([...defaultMounts]).describe(MOUNT_TEXTS[protocol]),
    ),
  ).prefault({}),
  messagesContext: oneOf(['coding', 'balance'])
    .default('coding')
    .describe(
      'Whether calls to `/NAME/v1/messages`, where NAME is a name of the messages protocol, use the Coding Plan or the balance.',
    ),
  cors: section({
    origins: corsOrigins
      .default([])
      .describe('Origins of web pages that may call the gateway from a browser. `*` allows every page.'),
  }).prefault({}),
  callHeaders: trueOrFalse
    .default(true)
    .describe('Whether responses include `x-faregate-*` headers with the charge and the remaining balance or quota.'),
  sseKeepAlive: durationMs
    .optional()
    .describe('Sends a comment on a stream that was silent for this long. Default: never.'),
  /** For models without `keepAlive` (`docs/routing.md`). */
  keepAlive: keepAliveOfOperations.optional(),
  drainDelay: durationOrZeroMs
    .default(5_000)
    .describe('How long the node keeps serving after SIGTERM while `/readyz` returns 503. SIGINT skips this delay.'),
  shutdownTimeout: durationOrZeroMs
    .default(30_000)
    .describe('How long calls in flight may continue after the drain delay.'),
  uploadIdleTimeout: durationMs.default(30_000).describe('How long an upload may make no progress.'),
  headerTimeout: durationMs.default(60_000).describe('How long a client may take to send the headers of a request.'),
  clientStallTimeout: durationMs
    .default(300_000)
    .describe(
      'How long a client may leave a response unread. The time shrinks with the number of unread bytes, down to one thirtieth.',
    ),
  connections: wholeNumber(1, 1_000_000)
    .default(20_000)
    .describe('Maximum number of client connections. Further connections are closed at once.'),
  connectionsPerAddress: wholeNumber(1, 1_000_000)
    .optional()
    .describe('Maximum number of connections from one address. Default: half of `connections`.'),
  trustedProxies: listOf('addresses or ranges such as 10.0.0.0/8', addressRange)
    .default([])
    .describe('Reverse proxies whose `X-Forwarded-For` header is trusted.'),
});
