import { FairQueue, type QueuedItem } from '../lib/fair/fair-queue.ts';
import { widerNetworks } from '../lib/ip-address.ts';

export interface HashAsker {
  /** Network of the caller: an IPv4 address, or an IPv6 network of 64 bits. */
  readonly network: string;
  /** Whether the user is signed in, or has recently signed in from this network. */
  readonly isKnown: boolean;
}

/** Unknown users of one site: an IPv6 network of 48 bits, or an IPv4 address. */
interface Site {
  /** Entries by home connection (IPv6 networks of 56 bits), which are served in turn. */
  readonly lines: FairQueue<Stranger>;
  /** An entry for each unknown user, oldest first. */
  readonly places: QueuedItem[];
}

interface Stranger {
  readonly site: string;
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/**
 * Passwords that wait to be hashed. Known users come first, in the order of arrival. Then sites are served in turn, and within a site its
 * home connections. If the queue is full, a known user or a site with fewer entries replaces the newest entry of the site with the most.
 */
export class HashQueue {
  readonly #waitingMax: number;
  readonly #known: (() => void)[] = [];
  readonly #turns = new FairQueue<Site>();
  readonly #sites = new Map<string, Site>();
  readonly #strangers = new Map<Stranger, QueuedItem>();

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  get size(): number {
    return this.#known.length + this.#strangers.size;
  }

  /** Calls `begin` when the password can be hashed, or `giveUp` if another entry replaces this one. Returns false if the queue is full. */
  push({ network, isKnown }: HashAsker, begin: () => void, giveUp: () => void): boolean {
    const { line, site } = widerNetworks(network);
    if (this.size >= this.#waitingMax && !this.#makeRoom(isKnown ? null : site)) return false;
    if (isKnown) this.#known.push(begin);
    else this.#pushStranger({ site, begin, giveUp }, line);
    return true;
  }

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

  /** Removes an entry for a user of `forSite` (`null`: a known user). Returns false if none may be removed. */
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
