const SUFFIX = '.journal';
const DAMAGED_SUFFIX = '.damaged';

/**
 * The names of one process's journal files: `node_01.journal`, `node_01.2.journal` and so on. A number is used once,
 * also if an earlier process of the same name left files behind: a file is never renamed onto another.
 */
export class JournalNames {
  readonly #name: string;
  readonly #taken = new Set<string>();
  #next = 1;

  /** @param present The names that the directory holds already. */
  constructor(name: string, present: readonly string[]) {
    this.#name = name;
    for (const other of present) {
      const match = /^(.*?)(?:\.(\d+))?\.(?:journal|damaged)$/.exec(other);
      if (match?.[1] === name) this.#next = Math.max(this.#next, Number(match[2] ?? 1) + 1);
    }
  }

  take(): string {
    const number = this.#next++;
    const taken = number === 1 ? `${this.#name}${SUFFIX}` : `${this.#name}.${number}${SUFFIX}`;
    this.#taken.add(taken);
    return taken;
  }

  /** The file of this name is gone, or another process has it. */
  giveBack(taken: string): void {
    this.#taken.delete(taken);
  }

  /** Whether it is a journal file of another process. */
  isOfAnother(fileName: string): boolean {
    return fileName.endsWith(SUFFIX) && !this.#taken.has(fileName);
  }
}

/** The name that a damaged file gets when its entries have been applied. */
export function damagedName(path: string): string {
  return path.slice(0, -SUFFIX.length) + DAMAGED_SUFFIX;
}
