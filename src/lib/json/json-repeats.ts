/** A string or a structural character. Between two such tokens are only other values, colons and white space. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

interface Level {
  /** Names in an object so far; `null` in an array. */
  readonly names: Set<string> | null;
  /** Name of the current member, or index of the current item. */
  at: string | number;
  isNameNext: boolean;
}

/**
 * Returns the dotted path of the first member name that occurs twice in an object; `null`: none does. Parsers differ in which one they use.
 * @param text must be JSON, which is not checked
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
