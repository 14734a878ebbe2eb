import { escapeJson, escapeLines } from '../lib/plain-text.ts';

export interface Output {
  /** Prints the value as JSON with `--json`, else its text. */
  print<Value>(value: Value, render: (value: Value) => string): void;
}

export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  return {
    print(value, render) {
      // Earlier versions stored names and memos with control characters.
      write(`${isJson ? escapeJson(JSON.stringify(value, null, 2)) : escapeLines(render(value))}\n`);
    },
  };
}
