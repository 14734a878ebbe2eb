import { isRecord } from '../../lib/json/json.ts';
import { stateKey } from '../state-references.ts';

/** Returns continuation keys for the audio in a response. A later call can refer to it by id and then needs the same provider. */
export function audioKeys(choices: unknown): string[] {
  if (!Array.isArray(choices)) return [];
  return choices.flatMap((choice: unknown) => {
    const message = isRecord(choice) ? (choice.message ?? choice.delta) : null;
    const audio = isRecord(message) ? message.audio : null;
    const id = isRecord(audio) ? audio.id : null;
    return typeof id === 'string' && id !== '' ? [stateKey({ kind: 'audio', id })] : [];
  });
}
