import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { createRefusalRecorder } from '../requests/refusal-recorder.ts';
import type { RequestObserver } from '../requests/request-report.ts';
import type { UnpricedUses } from '../requests/unpriced-uses.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Traces } from '../telemetry/traces.ts';
import type { Accounting } from './accounting.ts';
import { createChargeWarnings } from './charge-warnings.ts';
import { createRefusalRecords } from './refusal-records.ts';
import { createRequestLog } from './request-log.ts';
import type { SettingsInForce } from './settings-in-force.ts';

interface ObserverParts {
  readonly accounting: Pick<Accounting, 'housekeeping'>;
  readonly metrics: Metrics;
  readonly unpricedUses: UnpricedUses;
  /** `null` where calls are not traced. */
  readonly traces: Traces | null;
  readonly settings: SettingsInForce;
  readonly others: readonly RequestObserver[] | undefined;
  /** Refusals that this process records one by one in a minute. */
  readonly refusalsRecordedMax: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export interface RequestObservers {
  /** What gets the report of every request, in this order. */
  readonly all: readonly RequestObserver[];
  /** Writes what they have not written yet, once no request is under way. */
  close(): Promise<void>;
}

/** Wires what is done with the report of every request: its line in the log, metrics, the record of a refusal, spans. */
export function createRequestObservers(parts: ObserverParts): RequestObservers {
  const { accounting, metrics, unpricedUses, traces, settings, others = [], clock, ids, logger } = parts;
  const { refusals: store } = accounting.housekeeping;
  const refusals = createRefusalRecorder({ store, clock, ids, logger, recordedMax: parts.refusalsRecordedMax });
  return {
    all: [
      createRequestLog(logger, () => settings.current.config.log.requests),
      metrics.observers.request,
      createChargeWarnings(logger, unpricedUses),
      createRefusalRecords(refusals, () => settings.current.config.retention.refusals === 0),
      ...(traces === null ? [] : [traces.observer]),
      ...others,
    ],
    async close() {
      await Promise.all([refusals.close(), traces?.close()]);
    },
  };
}
