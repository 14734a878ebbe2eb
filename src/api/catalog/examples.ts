import type { CatalogChange } from '../../config/difference.ts';
import type { Config } from '../../config/schema.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { costOfExample, marginPercent } from '../../providers/catalog/example-cost.ts';
import type { ExampleResponse } from './wire.ts';

/** The models that changes name. A change of the billing time zone names none, although it concerns all. */
export function changedModels(changes: readonly CatalogChange[] | null): string[] {
  return (changes ?? []).flatMap(({ section, name }) => (section === 'models' && name !== null ? [name] : []));
}

/**
 * Returns what example calls to models cost before and after a change of the catalog, and from each later start of prices, with their
 * margins.
 */
export function examplesOf(
  start: Config | null,
  config: Config,
  models: readonly string[],
  nowMs: number,
): ExampleResponse[] {
  return [...new Set(models)].flatMap((model) => {
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
