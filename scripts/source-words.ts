/**
 * The words of a source file, line by line: comments, sentences (string literals with at least two spaces, except SQL), and names split
 * into parts: `keepFilesFor` becomes "keep Files For". Strings of one word are omitted, because they are often names on the wire.
 */
export function proseAndNames(source: string): string[] {
  let kept = '';
  let at = 0;
  /** Brace depths at which a template continues after `${…}`. */
  const templates: number[] = [];
  let depth = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [text = ''] = pattern.exec(source) ?? [];
    at += text.length;
    return text;
  };
  while (at < source.length) {
    const start = at;
    const character = source[at]!;
    if (source.startsWith('//', at)) kept += take(/\/\/[^\n]*/y);
    else if (source.startsWith('/*', at)) kept += take(/\/\*[\s\S]*?\*\//y);
    else if (character === "'" || character === '"') kept += sentence(take(/(['"])(?:\\[\s\S]|(?!\1)[^\\\n])*\1?/y));
    else if (character === '`') {
      kept += sentence(take(/`(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/y));
      endOfPart();
    } else if (character === '}' && templates.at(-1) === depth) {
      templates.pop();
      kept += sentence(take(/\}(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/y));
      endOfPart();
    } else if (/[A-Za-z_$]/.test(character)) {
      kept += take(/[\w$]+/y).replace(/([a-z0-9])(?=[A-Z])/g, '$1 ');
    } else {
      if (character === '{') depth++;
      if (character === '}') depth--;
      kept += character === '\n' ? '\n' : ' ';
      at++;
    }
    if (at === start) at++;
  }
  return kept.split('\n');

  /** Handles the end of a template part: the end of the template, or an expression. */
  function endOfPart(): void {
    if (source[at] === '`') at++;
    else if (source.startsWith('${', at)) {
      templates.push(depth);
      at += 2;
    }
  }
}

const SQL =
  /\b(select|insert into|update|delete from|create table|create index|alter table|with)\b[\s\S]*\b(from|set|values|where|as|add|on)\b/;

function sentence(text: string): string {
  const lines = text.replace(/[^\n]/g, '');
  const isSentence = /\S \S+ \S/.test(text) && !SQL.test(text);
  return isSentence ? text : lines;
}
