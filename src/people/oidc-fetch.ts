/** Maximum size of a response. Discovery documents, key sets and claims are much smaller. */
const BODY_BYTES_MAX = 256 * 1024;

export class ProviderUnavailableError extends Error {}

export interface FetchOptions {
  readonly signal?: AbortSignal;
  readonly [option: string]: unknown;
}

/**
 * Sends a request to a provider. Follows no redirects, because they could send a secret to another server. Reads the whole body, so that
 * the request's signal limits the time until the last byte.
 * @throws ProviderUnavailableError
 */
export async function fetchFromProvider(url: string, options: FetchOptions): Promise<Response> {
  const { status, headers, body } = await orUnavailable(fetch(url, { ...options, redirect: 'manual' }));
  if (status >= 500) {
    await body?.cancel();
    throw new ProviderUnavailableError(`the provider responded ${status}`);
  }
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const reader = body?.getReader();
  while (reader !== undefined) {
    const { done, value } = await orUnavailable(reader.read());
    if (done) break;
    sizeBytes += value.byteLength;
    if (sizeBytes > BODY_BYTES_MAX) {
      await reader.cancel();
      throw new Error(`the provider's response is larger than ${BODY_BYTES_MAX} bytes`);
    }
    chunks.push(value);
  }
  return new Response(chunks.length === 0 ? null : Buffer.concat(chunks), { status, headers });
}

async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw new ProviderUnavailableError('the provider did not respond', { cause: error });
  }
}
