import { registerHooks } from 'node:module';

/** Code of a source file that is replaced when the file is loaded. */
export interface Replacement {
  /** The path below `src`. */
  readonly file: string;
  readonly code: string;
  readonly by: string;
}

/** Replaces code of files that are loaded after this call. Loading a file without the code fails. */
export function replaceOnLoad(replacements: readonly Replacement[]): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const wanted = replacements.filter(({ file }) => url.endsWith(`/src/${file}`));
      if (wanted.length === 0) return loaded;
      return { ...loaded, source: wanted.reduce(replaced, String(loaded.source)) };
    },
  });
}

/** @throws Error if the source does not contain the code. */
export function replaced(source: string, { file, code, by }: Replacement): string {
  if (!source.includes(code))
    throw new Error(`src/${file} no longer contains "${code}". Change the bench that replaces it.`);
  return source.replace(code, () => by);
}
