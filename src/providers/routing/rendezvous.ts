import { hash } from 'node:crypto';

/**
 * Weighted rendezvous hashing (Thaler and Ravishankar 1998; weights by -w / ln(u)): each key has an order of its own over the candidates.
 * Every process finds the same order without shared state, candidates are first in proportion to their weights, and a candidate that
 * leaves moves only the keys that had it first.
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

/** A number above 0 and below 1, evenly distributed over texts. */
export function unitHash(text: string): number {
  return (hash('sha256', text, 'buffer').readUIntBE(0, HASH_BYTES) + 0.5) / HASH_VALUES;
}
