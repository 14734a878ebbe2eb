import { escapeJson, escapeLines } from '../lib/plain-text.ts';
import { fitting } from './terminal-width.ts';

export interface Output {
  /** Prints a value: as JSON with `--json`, otherwise as text. */
  print<Value>(value: Value, render: (value: Value) => string): void;
}

/** `columns`: width of the terminal that shows the texts; absent: there is none. */
export function createOutput(isJson: boolean, write: (text: string) => void, columns?: number): Output {
  return {
    print(value, render) {
      const text = () => render(value);
      const rendered = () => (columns === undefined ? text() : fitting(columns, text));
      // Escapes control characters, because earlier versions stored names and memos with them.
      write(`${isJson ? escapeJson(JSON.stringify(value, null, 2)) : escapeLines(rendered())}\n`);
    },
  };
}
