const SUFFIX = '.journal';
const DAMAGED_SUFFIX = '.damaged';

/**
 * Names for the journal files of one process: `node_01.journal`, `node_01.2.journal` and so on. A new name differs from all others in the
 * directory, also from those that an earlier process of the same name left.
 */
export class JournalNames {
  readonly #name: string;
  readonly #taken = new Set<string>();
  #next = 1;

  constructor(name: string, namesInDirectory: readonly string[]) {
    this.#name = name;
    for (const other of namesInDirectory) {
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

  /** Call this when the file was deleted, or when another process has taken it over. */
  giveBack(taken: string): void {
    this.#taken.delete(taken);
  }

  isOfAnother(fileName: string): boolean {
    return fileName.endsWith(SUFFIX) && !this.#taken.has(fileName);
  }
}

/** Returns the new name of a damaged file whose entries were applied. */
export function damagedName(path: string): string {
  return path.slice(0, -SUFFIX.length) + DAMAGED_SUFFIX;
}
