import type { Path } from './document.ts';

/** The keys of a model about further attempts and fallbacks, as far as they were readable. */
interface AttemptFacts {
  readonly id: string;
  readonly retriedOn: readonly string[];
  readonly hasFirstByte: boolean;
  readonly fallbacks: readonly string[];
  readonly operations: readonly string[];
}

interface Breach {
  readonly path: Path;
  readonly message: string;
}

/** @param operationsOf operations of another model by its id; `null`: there is no such model */
export function attemptBreaches(
  { id, retriedOn, hasFirstByte, fallbacks, operations }: AttemptFacts,
  operationsOf: (name: string) => readonly string[] | null,
): Breach[] {
  const path: Path = ['models', id];
  const isSilence = retriedOn.includes('silence');
  const ofRetry =
    isSilence === hasFirstByte
      ? []
      : [
          isSilence
            ? { path: [...path, 'retry', 'firstByte'], message: 'This key is required for "silence" in "on".' }
            : { path: [...path, 'retry', 'firstByte'], message: 'This key requires "silence" in "on".' },
        ];
  const ofFallbacks = fallbacks.flatMap((name, index): Breach[] => {
    const at = [...path, 'fallbacks', index];
    if (name === id) return [{ path: at, message: 'A model cannot be its own fallback.' }];
    if (fallbacks.indexOf(name) < index) return [{ path: at, message: `"${name}" is already in this list.` }];
    const served = operationsOf(name);
    if (served === null || served.some((operation) => operations.includes(operation))) return [];
    return [{ path: at, message: `"${name}" serves none of the operations of this model.` }];
  });
  return [...ofRetry, ...ofFallbacks];
}

/** @param models the models that accounts of the group may use; `null`: all */
export function groupFallbackBreaches(
  id: string,
  fallbacks: readonly string[],
  models: readonly string[] | null,
): Breach[] {
  return fallbacks.flatMap((name, index): Breach[] => {
    const path = ['groups', id, 'fallbacks', index];
    if (fallbacks.indexOf(name) < index) return [{ path, message: `"${name}" is already in this list.` }];
    if (models === null || models.includes(name)) return [];
    return [{ path, message: `"${name}" is not in "models" of this group.` }];
  });
}
