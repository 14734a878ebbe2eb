import { isUtf8 } from 'node:buffer';
import type { AddressRanges } from '../../lib/ip-address.ts';
import { lookupAmong, untilAborted } from '../../lib/outgoing/checked-connection.ts';
import { type CheckedTarget, type Resolve, resolveTarget, TargetRefusedError } from '../../lib/outgoing/target.ts';
import { programVersion } from '../../lib/version.ts';
import { readRegularFile, UnreadableFileError } from '../regular-file.ts';
import { PriceFileError } from './errors.ts';
import type { PriceSourceConfig } from './lookups.ts';

export interface SourceAccess {
  /** Networks that may be reached in addition to the public internet. */
  readonly allowed: () => AddressRanges;
  readonly resolve: Resolve;
  /** For a whole read, from name resolution to the last byte. */
  readonly deadlineMs?: number;
  readonly ca?: string;
}

/** LiteLLM's file has 2 MiB. */
const BYTES_MAX = 8 * 2 ** 20;
const DEADLINE_MS = 30_000;
const HEADERS_BYTES_MAX = 16 * 1024;

/**
 * Reads the text of the price source, of at most 8 MiB. A connection uses only checked addresses, and follows no redirects.
 *
 * @throws PriceFileError, whose message quotes nothing from the source; the reason of the signal
 */
export async function readSourceText(
  { url, file }: Pick<PriceSourceConfig, 'url' | 'file'>,
  access: SourceAccess,
  signal: AbortSignal,
): Promise<string> {
  const bytes = url === undefined ? readFile(file!) : await download(url, access, signal);
  if (!isUtf8(bytes)) throw new PriceFileError('The source is not UTF-8 text.');
  return bytes.toString('utf8');
}

function readFile(file: string): Buffer {
  try {
    const { bytes, isWhole } = readRegularFile(file);
    if (!isWhole) throw new PriceFileError('The file of the source changed while it was read.');
    if (bytes.length > BYTES_MAX) throw tooLarge();
    return bytes;
  } catch (error) {
    if (error instanceof UnreadableFileError) throw new PriceFileError(`The file of the source: ${error.message}`);
    throw error;
  }
}

async function download(
  url: string,
  { allowed, resolve, deadlineMs = DEADLINE_MS, ca }: SourceAccess,
  stopping: AbortSignal,
): Promise<Buffer> {
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = AbortSignal.any([stopping, deadline]);
  try {
    const target = await untilAborted(resolveTarget(url, allowed(), resolve, signal), signal);
    return await get(target, signal, ca);
  } catch (error) {
    stopping.throwIfAborted();
    if (error instanceof PriceFileError) throw error;
    if (deadline.aborted) throw new PriceFileError('The source took too long.');
    throw new PriceFileError(describe(error), { cause: error });
  }
}

async function get({ url, addresses }: CheckedTarget, signal: AbortSignal, ca: string | undefined): Promise<Buffer> {
  const { Client } = await import('undici');
  const client = new Client(url.origin, {
    connect: { lookup: lookupAmong(addresses), ...(ca !== undefined && { ca }) },
    autoSelectFamily: true,
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES_MAX,
    maxResponseSize: BYTES_MAX,
  });
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'GET',
      path: url.pathname + url.search,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': `faregate/${programVersion()}`,
      },
      signal,
    });
    body.on('error', () => undefined);
    if (statusCode >= 300 && statusCode < 400)
      throw new PriceFileError(`The source redirects (${statusCode}); redirects are not followed.`);
    if (statusCode !== 200) throw new PriceFileError(`The source responded with status ${statusCode}.`);
    if (Number(headers['content-length'] ?? 0) > BYTES_MAX) throw tooLarge();
    if (![undefined, 'identity'].includes(headers['content-encoding']?.toString()))
      throw new PriceFileError('The source sent a compressed response.');
    return Buffer.from(await body.arrayBuffer());
  } finally {
    void client.destroy().catch(() => undefined);
  }
}

const tooLarge = (): PriceFileError => new PriceFileError(`The source is larger than ${BYTES_MAX / 2 ** 20} MiB.`);

function describe(error: unknown): string {
  if (error instanceof TargetRefusedError) return error.message;
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge().message;
  // The message might quote the response, so only the error code is shown: a fixed word of Node or its libraries.
  return `The source could not be reached or sent no valid response${typeof code === 'string' ? ` (${code})` : ''}.`;
}
