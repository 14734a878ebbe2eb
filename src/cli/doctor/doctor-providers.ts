import type { Config } from '../../config/schema.ts';
import { completePool } from '../../lib/http-client.ts';
import { createProvider, type Provider } from '../../providers/upstream/provider.ts';
import { errorText, type Finding, failed, ok, warning } from './doctor-finding.ts';

const CLOCK_DIFFERENCE_MAX_MS = 10_000;

/** Connects to providers, without credentials, so that nothing is charged. */
export async function checkProviders(providers: Config['providers']): Promise<Finding[]> {
  const probes = await Promise.all(Object.entries(providers).map(([id, config]) => probe(createProvider(id, config))));
  const differencesMs = probes.flatMap(({ differenceMs }) => (differenceMs === null ? [] : [differenceMs]));
  return [...probes.map(({ finding }) => finding), ...checkClock(differencesMs)];
}

interface Probe {
  readonly finding: Finding;
  /** This machine's clock minus the provider's; `null` if its response has no date. */
  readonly differenceMs: number | null;
}

/**
 * Sends a request with the proxy, certificates and HTTP version that calls use. A response of any status proves that the server can be
 * reached.
 */
async function probe(provider: Provider): Promise<Probe> {
  const check = `provider ${provider.id}`;
  const limitMs = provider.timeouts.connectMs * 2;
  const begunMs = performance.now();
  try {
    const pool = await completePool(provider.pool);
    const { statusCode, headers, body } = await pool.request({
      method: 'HEAD',
      path: provider.basePath || '/',
      headersTimeout: limitMs,
      signal: AbortSignal.timeout(limitMs),
    });
    await body.dump();
    const tookMs = Math.round(performance.now() - begunMs);
    const date = Date.parse(String(headers.date));
    return {
      finding: ok(check, `reached in ${tookMs} ms (status ${statusCode} without a credential)`),
      differenceMs: Number.isNaN(date) ? null : Date.now() - date,
    };
  } catch (error) {
    const advice = `Check providers.${provider.id}.baseUrl, the network, the proxy and the certificates.`;
    return { finding: failed(check, `not reached: ${errorText(error)}`, advice), differenceMs: null };
  } finally {
    await provider.destroy();
  }
}

/** Checks this machine's clock by the smallest difference, so that a wrong clock of one provider causes no warning. */
function checkClock(differencesMs: readonly number[]): Finding[] {
  const least = differencesMs.toSorted((one, other) => Math.abs(one) - Math.abs(other))[0];
  if (least === undefined || Math.abs(least) <= CLOCK_DIFFERENCE_MAX_MS) return [];
  const seconds = Math.round(Math.abs(least) / 1_000);
  const detail = `this machine is ${seconds} s ${least > 0 ? 'ahead of' : 'behind'} the clocks of the providers`;
  return [warning('clock', detail, 'Synchronize it, for example with NTP.')];
}
