import { isRecord } from '../../lib/json/json.ts';
import { stateKey } from '../state-references.ts';

/**
 * Returns the `stateKey` of each audio output in a response. The gateway stores the provider of the audio under this key, because later calls can
 * refer to the audio by its id.
 */
export function audioKeys(choices: unknown): string[] {
  if (!Array.isArray(choices)) return [];
  return choices.flatMap((choice: unknown) => {
    const message = isRecord(choice) ? (choice.message ?? choice.delta) : null;
    const audio = isRecord(message) ? message.audio : null;
    const id = isRecord(audio) ? audio.id : null;
    return typeof id === 'string' && id !== '' ? [stateKey({ kind: 'audio', id })] : [];
  });
}
