import type { Readable } from 'node:stream';
import { CliError, type CliProcess, UsageError } from './command.ts';

/** Maximum length of the input, much longer than any secret. */
const INPUT_CHARS_MAX = 64 * 1024;

/** What is used here of a terminal. */
type Terminal = Readable & { setRawMode(isRaw: boolean): unknown };

/**
 * Reads a secret from standard input: all of it, or one line of a terminal, which does not show what is typed.
 *
 * @throws CliError if there is no standard input, or if it was interrupted
 * @throws UsageError if it is empty
 */
export async function readSecret({ stdin, writeError }: CliProcess, what: string): Promise<string> {
  if (stdin === undefined) throw new CliError(`There is no standard input to read ${what} from.`);
  const text = isTerminal(stdin) ? await readHidden(stdin, writeError, what) : await readAll(stdin);
  if (text.trim() === '')
    throw new UsageError(`Standard input is empty. Give ${what} there, or name a file with --file.`);
  return text.trim();
}

function isTerminal(stdin: Readable): stdin is Terminal {
  return 'isTTY' in stdin && stdin.isTTY === true;
}

async function readAll(stdin: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > INPUT_CHARS_MAX) throw new UsageError('Standard input is too long.');
  }
  return text;
}

/** Characters that end a line: Enter, and the end of the input. */
const ENDS = '\r\n\u0004';
const INTERRUPT = '\u0003';
/** Characters that erase one: backspace and delete. */
const ERASES = '\b\u007f';

/** Reads a line in raw mode: the terminal shows nothing, but Ctrl-C and the erasing keys arrive as characters. */
async function readHidden(stdin: Terminal, writeError: CliProcess['writeError'], what: string): Promise<string> {
  writeError(`Paste ${what}, which is not shown, then press Enter: `);
  stdin.setRawMode(true);
  try {
    let line = '';
    for await (const chunk of stdin) {
      for (const character of String(chunk)) {
        if (character === INTERRUPT) throw new CliError('Interrupted; nothing was changed.');
        if (ENDS.includes(character)) return line;
        line = ERASES.includes(character) ? line.slice(0, -1) : line + character;
      }
      if (line.length > INPUT_CHARS_MAX) throw new UsageError('The line is too long.');
    }
    return line;
  } finally {
    stdin.setRawMode(false);
    writeError('\n');
  }
}
