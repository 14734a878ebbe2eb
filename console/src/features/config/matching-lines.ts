export interface ConfigLine {
  readonly number: number;
  readonly text: string;
  /** `false` for lines of the enclosing sections. */
  readonly isMatch: boolean;
}

/** The lines of a YAML text that contain a word, with the lines of their enclosing sections; all lines without a word. */
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

/** The dash of a list item counts as indentation. */
const depthOf = (line: string): number => /^[ ]*(?:- )?/.exec(line)![0].length;
