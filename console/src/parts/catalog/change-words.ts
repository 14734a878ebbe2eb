import type { CatalogChange } from '../../api/types.ts';

/** Keys that say nothing in front of the settings in them. */
const SILENT: ReadonlySet<string> = new Set(['price', 'prices', 'limits', 'timeOfDay']);

/**
 * The words of a setting path: of `routes[acme/large-1].weight` those of the route, its name, and those of its weight.
 *
 * @param nameOf the word of a key
 */
export function settingWords(setting: string, nameOf: (key: string) => string): string {
  const parts = [...setting.matchAll(/([^.[\]]+)((?:\[[^[\]]*\])*)/g)].map(([, key = '', names = '']) => ({
    key,
    names: [...names.matchAll(/\[([^[\]]*)\]/g)].map(([, name = '']) => name),
  }));
  return parts
    .flatMap(({ key, names }, index) => {
      const isSilent = SILENT.has(key) && index < parts.length - 1;
      return [...(isSilent ? [] : [nameOf(key)]), ...names];
    })
    .join(' ');
}

/** A change as values with an arrow between them; `null` if only its kind is known. */
export function changedValues({ before, after }: CatalogChange): string | null {
  if (before !== null && after !== null) return `${before} → ${after}`;
  return before ?? after;
}
