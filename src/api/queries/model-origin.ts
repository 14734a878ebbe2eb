import type { ModelConfig } from '../../config/schema.ts';

/** A date in a name, such as 2026-10-01, 20261001 and 2026-10. */
const DATE_IN_NAME = /(?<!\d)(20\d{2})-?(0[1-9]|1[0-2])(?:-?(0[1-9]|[12]\d|3[01]))?(?!\d)/;
const MIDNIGHT = 'T00:00:00Z';

/** Returns when a model was released, in epoch milliseconds. Default: a date in its id or in a provider's name of it; 0 if unknown. */
export function releasedAtMsOf(id: string, { released, routes }: Pick<ModelConfig, 'released' | 'routes'>): number {
  if (released !== undefined) return Date.parse(released + MIDNIGHT);
  for (const name of [id, ...routes.map(({ model }) => model)]) {
    const found = DATE_IN_NAME.exec(name);
    if (found !== null) return Date.parse(`${found[1]}-${found[2]}-${found[3] ?? '01'}${MIDNIGHT}`);
  }
  return 0;
}

/** Returns the owner of a model: the manufacturer, or the owner in an id such as `deepseek-ai/DeepSeek-V3`. */
export function ownerOf(id: string, { manufacturer }: Pick<ModelConfig, 'manufacturer'>): string {
  if (manufacturer !== '') return manufacturer;
  return id.includes('/') ? id.slice(0, id.indexOf('/')) : 'unknown';
}
