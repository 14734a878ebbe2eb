export interface QueuedItem {
  /** Removes the item; does nothing if it is no longer in the queue. */
  remove(): void;
}

/**
 * A round-robin queue: `shift` returns an item of the account that was served least recently. So an account waits for at most one item of
 * each other account. Operations take constant time.
 */
export class FairQueue<Item> {
  /** Accounts that have items, in the order in which they will be served. */
  readonly #turns = new LinkedList<AccountItems<Item>>();
  readonly #accounts = new Map<string, Link<AccountItems<Item>>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(accountId: string, item: Item): QueuedItem {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = this.#turns.append({ accountId, items: new LinkedList() });
      this.#accounts.set(accountId, account);
    }
    const link = account.value.items.append(item);
    this.#size++;
    return {
      remove: () => {
        if (link.list !== null) this.#remove(account, link);
      },
    };
  }

  /** Returns the next item. Accounts whose items `mayServe` refuses keep their position; skipping them takes linear time. */
  shift(mayServe: (item: Item) => boolean = always): Item | undefined {
    for (let account = this.#turns.first; account !== null; account = account.next) {
      const link = account.value.items.first!;
      if (!mayServe(link.value)) continue;
      this.#remove(account, link);
      if (account.list !== null) this.#turns.moveToEnd(account);
      return link.value;
    }
    return undefined;
  }

  clear(): Item[] {
    const items: Item[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) items.push(item);
    return items;
  }

  #remove(account: Link<AccountItems<Item>>, link: Link<Item>): void {
    const { accountId, items } = account.value;
    items.remove(link);
    this.#size--;
    if (items.first !== null) return;
    this.#turns.remove(account);
    this.#accounts.delete(accountId);
  }
}

const always = (): boolean => true;

interface AccountItems<Item> {
  readonly accountId: string;
  readonly items: LinkedList<Item>;
}

interface Link<Value> {
  readonly value: Value;
  /** The list that contains the node; `null` after its removal. */
  list: LinkedList<Value> | null;
  previous: Link<Value> | null;
  next: Link<Value> | null;
}

/** A doubly linked list. A `Map` would be slower: its iterators step over deleted entries. */
class LinkedList<Value> {
  first: Link<Value> | null = null;
  #last: Link<Value> | null = null;

  append(value: Value): Link<Value> {
    const link: Link<Value> = { value, list: this, previous: null, next: null };
    this.#link(link);
    return link;
  }

  moveToEnd(link: Link<Value>): void {
    this.remove(link);
    link.list = this;
    this.#link(link);
  }

  remove(link: Link<Value>): void {
    if (link.previous === null) this.first = link.next;
    else link.previous.next = link.next;
    if (link.next === null) this.#last = link.previous;
    else link.next.previous = link.previous;
    link.list = null;
  }

  #link(link: Link<Value>): void {
    link.previous = this.#last;
    link.next = null;
    if (this.#last === null) this.first = link;
    else this.#last.next = link;
    this.#last = link;
  }
}
