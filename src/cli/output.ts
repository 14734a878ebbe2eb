import { escapeJson, escapeLines } from '../lib/plain-text.ts';

/** The output of commands: text, or JSON with `--json`. */
export interface Output {
  /** Prints the value as JSON with `--json`, else the text that `render` returns. */
  print<Value>(value: Value, render: (value: Value) => string): void;
}

export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  return {
    print(value, render) {
      // Names and memos may have been stored by versions that accepted any character.
      write(`${isJson ? escapeJson(JSON.stringify(value, null, 2)) : escapeLines(render(value))}\n`);
    },
  };
}
