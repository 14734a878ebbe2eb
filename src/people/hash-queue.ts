import { FairQueue, type QueuedItem } from '../lib/fair/fair-queue.ts';
import { widerNetworks } from '../lib/ip-address.ts';

/** Who waits for a password to be hashed. */
export interface HashAsker {
  /** The client's network: an IPv4 address, or an IPv6 network of 64 bits. */
  readonly network: string;
  /** Whether the person has recently signed in from there, or is signed in. */
  readonly isKnown: boolean;
}

/** The waiting strangers of an IPv6 network of 48 bits, or of an IPv4 address. */
interface Site {
  /** Home lines (56 bits) take turns. */
  readonly lines: FairQueue<Stranger>;
  /** The places of the site in the queue of sites: one per stranger, the oldest first. */
  readonly places: QueuedItem[];
}

interface Stranger {
  readonly site: string;
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/**
 * Passwords that wait to be hashed. Known persons go first, in the order of arrival. Sites take turns for the others, and within a site its
 * lines do. If the queue is full, the newest entry of the site with the most entries gives way to a known person or to a site with fewer, so
 * that no site fills the queue alone.
 */
export class HashQueue {
  readonly #waitingMax: number;
  readonly #known: (() => void)[] = [];
  readonly #turns = new FairQueue<Site>();
  readonly #sites = new Map<string, Site>();
  /** In the order of arrival. */
  readonly #strangers = new Map<Stranger, QueuedItem>();

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  get size(): number {
    return this.#known.length + this.#strangers.size;
  }

  /** Calls `begin` when it is the asker's turn, or `giveUp` if another asker takes its place. Returns false if the queue has no place for it. */
  push({ network, isKnown }: HashAsker, begin: () => void, giveUp: () => void): boolean {
    const { line, site } = widerNetworks(network);
    if (this.size >= this.#waitingMax && !this.#makeRoom(isKnown ? null : site)) return false;
    if (isKnown) this.#known.push(begin);
    else this.#pushStranger({ site, begin, giveUp }, line);
    return true;
  }

  /** Begins the next one. Returns false if the queue is empty. */
  beginNext(): boolean {
    const begin = this.#known.shift() ?? this.#nextStranger()?.begin;
    begin?.();
    return begin !== undefined;
  }

  #pushStranger(stranger: Stranger, line: string): void {
    const site = this.#sites.get(stranger.site) ?? { lines: new FairQueue<Stranger>(), places: [] };
    this.#sites.set(stranger.site, site);
    this.#strangers.set(stranger, site.lines.push(line, stranger));
    site.places.push(this.#turns.push(stranger.site, site));
  }

  #nextStranger(): Stranger | undefined {
    const site = this.#turns.shift();
    if (site === undefined) return undefined;
    site.places.shift();
    const stranger = site.lines.shift()!;
    this.#forget(stranger, site);
    return stranger;
  }

  /** Frees a place for a stranger of a site, or for a known person (`null`). Returns false if nobody has to give way. */
  #makeRoom(forSite: string | null): boolean {
    const sizeOf = (name: string): number => this.#sites.get(name)?.lines.size ?? 0;
    const most = Math.max(...Array.from(this.#sites.keys(), sizeOf));
    const victim = [...this.#strangers.keys()].findLast(({ site }) => sizeOf(site) === most);
    if (victim === undefined || (forSite !== null && sizeOf(forSite) + 1 >= most)) return false;
    const site = this.#sites.get(victim.site)!;
    site.places.pop()!.remove();
    this.#strangers.get(victim)!.remove();
    this.#forget(victim, site);
    victim.giveUp();
    return true;
  }

  #forget(stranger: Stranger, { lines }: Site): void {
    this.#strangers.delete(stranger);
    if (lines.size === 0) this.#sites.delete(stranger.site);
  }
}
