import { escapeJson, escapeLines } from '../lib/plain-text.ts';

export interface Output {
  /** Prints a value: as JSON with `--json`, otherwise as text. */
  print<Value>(value: Value, render: (value: Value) => string): void;
}

export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  return {
    print(value, render) {
      // Escapes control characters, because earlier versions stored names and memos with them.
      write(`${isJson ? escapeJson(JSON.stringify(value, null, 2)) : escapeLines(render(value))}\n`);
    },
  };
}
