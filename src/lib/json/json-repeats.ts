/** A string of JSON, or a byte of its structure; everything else between them is a value or white space. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

interface Level {
  /** The names of an object so far; `null` in an array. */
  readonly names: Set<string> | null;
  /** The member or item that is being read. */
  at: string | number;
  /** Whether the next string is a name. */
  isNameNext: boolean;
}

/**
 * The dotted path of the first member that its object has twice, at any depth; `null` if there is none. Readers
 * differ in which copy of such a member they take.
 *
 * @param text has to be JSON, which is not checked here
 */
export function findRepeatedMember(text: string): string | null {
  const levels: Level[] = [];
  for (const [token] of text.matchAll(TOKEN)) {
    const level = levels.at(-1);
    switch (token) {
      case '{':
        levels.push({ names: new Set(), at: '', isNameNext: true });
        break;
      case '[':
        levels.push({ names: null, at: 0, isNameNext: false });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level!.names !== null) level!.isNameNext = true;
        else level!.at = (level!.at as number) + 1;
        break;
      default: {
        if (!level?.isNameNext) break;
        const name = JSON.parse(token) as string;
        level.at = name;
        level.isNameNext = false;
        if (level.names!.has(name)) return levels.map(({ at }) => at).join('.');
        level.names!.add(name);
      }
    }
  }
  return null;
}
