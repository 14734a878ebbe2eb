import type { Config } from '../../config/schema.ts';
import { completePool } from '../../lib/http-client.ts';
import { createProvider, type Provider } from '../../providers/upstream/provider.ts';
import { errorText, type Finding, failed, ok, warning } from './doctor-finding.ts';

/** The checks of `faregate doctor` of providers: connections, without credentials, so that nothing is used or charged. */

const CLOCK_DIFFERENCE_MAX_MS = 10_000;

export async function checkProviders(providers: Config['providers']): Promise<Finding[]> {
  const looks = await Promise.all(Object.entries(providers).map(([id, config]) => lookAt(createProvider(id, config))));
  const datesMs = looks.flatMap(({ differenceMs }) => (differenceMs === null ? [] : [differenceMs]));
  return [...looks.map(({ finding }) => finding), ...checkClock(datesMs)];
}

interface Look {
  readonly finding: Finding;
  /** How far this machine's clock is ahead of the provider's; `null` if it did not say. */
  readonly differenceMs: number | null;
}

/** Whatever status comes back, a server was reached by the same way as calls go: proxy, certificates, HTTP/2. */
async function lookAt(provider: Provider): Promise<Look> {
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

/** Only if all that say a time agree, so that one wrong provider does not accuse this machine. */
function checkClock(differencesMs: readonly number[]): Finding[] {
  const least = differencesMs.toSorted((one, other) => Math.abs(one) - Math.abs(other))[0];
  if (least === undefined || Math.abs(least) <= CLOCK_DIFFERENCE_MAX_MS) return [];
  const seconds = Math.round(Math.abs(least) / 1_000);
  const detail = `this machine is ${seconds} s ${least > 0 ? 'ahead of' : 'behind'} the clocks of the providers`;
  return [warning('clock', detail, 'Synchronize it, such as by NTP.')];
}
