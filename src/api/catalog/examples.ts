import type { CatalogChange } from '../../config/difference.ts';
import type { Config } from '../../config/schema.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { costOfExample, marginPercent } from '../../providers/catalog/example-cost.ts';
import type { ExampleResponse } from './wire.ts';

/**
 * Returns what example calls to the changed models cost, and their margin. A change of the billing time zone changes all models.
 *
 * @param others models that are in the response although nothing changes for them
 */
export function examplesOf(
  start: Config | null,
  config: Config,
  changes: readonly CatalogChange[],
  nowMs: number,
  others: readonly string[] = [],
): ExampleResponse[] {
  const changed = new Set(
    changes.flatMap(({ section, name }) => (section === 'models' && name !== null ? [name] : [])),
  );
  return [...new Set([...others, ...changed])].flatMap((model) => {
    const cost = costOfExample(config, model, nowMs);
    if (cost === null) return [];
    const later = cost.later.map(({ from, nano }) => ({ from, yuan: formatYuan(nano) }));
    const former = start && costOfExample(start, model, nowMs);
    return [
      {
        model,
        before: former && formatYuan(former.nowNano),
        now: formatYuan(cost.nowNano),
        later,
        marginPercentBefore: former && marginPercent(former),
        marginPercentNow: marginPercent(cost),
      },
    ];
  });
}
