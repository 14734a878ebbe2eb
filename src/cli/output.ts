import { escapeJson, escapeLines } from '../lib/plain-text.ts';

export interface Output {
  /** As JSON with `--json`, else as text. */
  print<Value>(value: Value, render: (value: Value) => string): void;
}

export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  return {
    print(value, render) {
      // Control characters are escaped, because earlier versions stored names and memos that contain them.
      write(`${isJson ? escapeJson(JSON.stringify(value, null, 2)) : escapeLines(render(value))}\n`);
    },
  };
}
