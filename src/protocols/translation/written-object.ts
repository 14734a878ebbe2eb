import type { RawJson } from './conversation.ts';

/** Members of a JSON object that is being written. Values are JSON texts and are not parsed again. */
export class WrittenObject {
  readonly #members: string[] = [];

  /** Adds a member; a value of `null` adds none. */
  add(name: string, value: RawJson | null): void {
    if (value !== null) this.#members.push(`${JSON.stringify(name)}:${value}`);
  }

  get isEmpty(): boolean {
    return this.#members.length === 0;
  }

  toString(): string {
    return `{${this.#members.join(',')}}`;
  }
}
