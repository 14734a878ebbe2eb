import { widerNetworks } from '../lib/ip-address.ts';

/** Who waits for a password to be hashed. */
export interface HashAsker {
  /** Where the request comes from: an IPv4 address, or an IPv6 network of 64 bits. */
  readonly network: string;
  /** Whether the person has signed in from there lately, or is signed in. */
  readonly isKnown: boolean;
}

interface Waiting {
  readonly line: string;
  readonly site: string;
  readonly isKnown: boolean;
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/**
 * Passwords that wait to be hashed. Known persons go first, in the order in which they came. The others go by turns of sites
 * (an IPv6 network of 48 bits), and within a site by turns of lines (56 bits, one home): each IPv4 address is both. If no more
 * may wait, the last one of the site with the most makes room for one of a site with fewer, so that nobody fills the queue alone.
 */
export class HashQueue {
  readonly #waitingMax: number;
  /** In the order in which they came; it is short, so that it is looked through. */
  readonly #waiting: Waiting[] = [];
  /** When sites and lines that have something waiting were served last. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Calls `begin` at the asker's turn, or `giveUp` if it has to make room. Returns false if there is none for it. */
  push({ network, isKnown }: HashAsker, begin: () => void, giveUp: () => void): boolean {
    const { line, site } = widerNetworks(network);
    const asker = { line, site, isKnown, begin, giveUp };
    if (this.#waiting.length >= this.#waitingMax) {
      const victim = this.#victimFor(asker);
      if (victim === null) return false;
      this.#remove(victim);
      victim.giveUp();
    }
    this.#waiting.push(asker);
    return true;
  }

  /** Begins the next one. Returns false if none waits. */
  beginNext(): boolean {
    const next = this.#waiting.find(({ isKnown }) => isKnown) ?? this.#nextByTurns();
    if (next === undefined) return false;
    this.#served++;
    this.#servedAt.set(next.site, this.#served).set(next.line, this.#served);
    this.#remove(next);
    next.begin();
    return true;
  }

  #nextByTurns(): Waiting | undefined {
    const lastServed = (name: string): number => this.#servedAt.get(name) ?? 0;
    let best: Waiting | undefined;
    for (const each of this.#waiting) {
      if (best === undefined) {
        best = each;
        continue;
      }
      const bySite = lastServed(each.site) - lastServed(best.site);
      if (bySite < 0 || (bySite === 0 && lastServed(each.line) < lastServed(best.line))) best = each;
    }
    return best;
  }

  /** Who gives way to somebody else; `null`: nobody. */
  #victimFor(asker: Waiting): Waiting | null {
    const strangers = this.#waiting.filter(({ isKnown }) => !isKnown);
    const ofSite = Map.groupBy(strangers, ({ site }) => site);
    const most = Math.max(...Array.from(ofSite.values(), ({ length }) => length));
    const victim = strangers.findLast(({ site }) => ofSite.get(site)!.length === most);
    if (victim === undefined) return null;
    return asker.isKnown || (ofSite.get(asker.site)?.length ?? 0) + 1 < most ? victim : null;
  }

  #remove(asker: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(asker), 1);
    for (const name of [asker.line, asker.site]) {
      if (!this.#waiting.some(({ line, site }) => line === name || site === name)) this.#servedAt.delete(name);
    }
  }
}
