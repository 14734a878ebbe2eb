import type { ModelConfig } from '../../config/schema.ts';

/** Vendors date the names of their models: 2026-10-01, 20261001 or 2026-10. */
const DATE_IN_NAME = /(?<!\d)(20\d{2})-?(0[1-9]|1[0-2])(?:-?(0[1-9]|[12]\d|3[01]))?(?!\d)/;
const MIDNIGHT = 'T00:00:00Z';

/**
 * When a model was released, in epoch milliseconds: as configured, else the date in its id or in a provider's name of it; 0, which vendors
 * state too, if none is known.
 */
export function releasedAtMsOf(id: string, { released, routes }: Pick<ModelConfig, 'released' | 'routes'>): number {
  if (released !== undefined) return Date.parse(released + MIDNIGHT);
  for (const name of [id, ...routes.map(({ model }) => model)]) {
    const found = DATE_IN_NAME.exec(name);
    if (found !== null) return Date.parse(`${found[1]}-${found[2]}-${found[3] ?? '01'}${MIDNIGHT}`);
  }
  return 0;
}

/** Whose model it is: its manufacturer, else the owner that ids such as `deepseek-ai/DeepSeek-V3` begin with. */
export function ownerOf(id: string, { manufacturer }: Pick<ModelConfig, 'manufacturer'>): string {
  if (manufacturer !== '') return manufacturer;
  return id.includes('/') ? id.slice(0, id.indexOf('/')) : 'unknown';
}
