import { hash } from 'node:crypto';

/**
 * Weighted rendezvous hashing (Thaler and Ravishankar 1998; weights by -w / ln(u)). For a key, every process computes the same order of
 * candidates. The share of keys for which a candidate is first is proportional to its weight. Removing it moves only those keys.
 */
export function rendezvousOrder<Candidate>(
  key: string,
  candidates: readonly Candidate[],
  describe: (candidate: Candidate) => { readonly name: string; readonly weight: number },
): Candidate[] {
  return candidates
    .map((candidate) => {
      const { name, weight } = describe(candidate);
      return { candidate, score: -weight / Math.log(unitHash(`${key}\0${name}`)) };
    })
    .sort((one, other) => other.score - one.score)
    .map(({ candidate }) => candidate);
}

const HASH_BYTES = 6;
const HASH_VALUES = 2 ** (8 * HASH_BYTES);

/** Hashes a text to a number between 0 and 1 (both exclusive), uniformly distributed. */
export function unitHash(text: string): number {
  return (hash('sha256', text, 'buffer').readUIntBE(0, HASH_BYTES) + 0.5) / HASH_VALUES;
}
