/** A line of the configuration as it is shown. */
export interface ConfigLine {
  readonly number: number;
  readonly text: string;
  /** Whether it has what was searched for; otherwise it is above a line that has, and says where that stands. */
  readonly isMatch: boolean;
}

/**
 * The lines of a YAML text that have a word, each with the lines of the sections around it. All lines, if nothing is searched for.
 */
export function matchingLines(yaml: string, word: string): ConfigLine[] {
  const lines = yaml.replace(/\n$/, '').split('\n');
  const wanted = word.trim().toLowerCase();
  if (wanted === '') return lines.map((text, index) => ({ number: index + 1, text, isMatch: false }));
  const shown = new Map<number, ConfigLine>();
  const around: { readonly index: number; readonly depth: number }[] = [];
  for (const [index, text] of lines.entries()) {
    const depth = depthOf(text);
    while (around.length > 0 && around.at(-1)!.depth >= depth) around.pop();
    if (text.toLowerCase().includes(wanted)) {
      for (const section of around) {
        if (!shown.has(section.index)) shown.set(section.index, lineAt(section.index, false));
      }
      shown.set(index, lineAt(index, true));
    }
    around.push({ index, depth });
  }
  return [...shown.values()].sort((a, b) => a.number - b.number);

  function lineAt(index: number, isMatch: boolean): ConfigLine {
    return { number: index + 1, text: lines[index]!, isMatch };
  }
}

/** A list's dash is indentation of what stands behind it. */
const depthOf = (line: string): number => /^[ ]*(?:- )?/.exec(line)![0].length;
