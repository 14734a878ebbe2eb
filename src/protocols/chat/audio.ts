import { isRecord } from '../../lib/json/json.ts';
import { stateKey } from '../state-references.ts';

/** Returns keys of the audio outputs in a response. Later calls can refer to audio by id and then need the same provider. */
export function audioKeys(choices: unknown): string[] {
  if (!Array.isArray(choices)) return [];
  return choices.flatMap((choice: unknown) => {
    const message = isRecord(choice) ? (choice.message ?? choice.delta) : null;
    const audio = isRecord(message) ? message.audio : null;
    const id = isRecord(audio) ? audio.id : null;
    return typeof id === 'string' && id !== '' ? [stateKey({ kind: 'audio', id })] : [];
  });
}
