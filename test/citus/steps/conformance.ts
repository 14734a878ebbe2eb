import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import type { Step } from '../step.ts';

export const conformance: Step = {
  name: 'conformance',
  tries: 'the tests of conformance, whose gateways have four partitions, three of them on workers; it takes minutes',
  async run({ ports }) {
    const files = globSync('test/conformance/**/*.test.ts').sort();
    const child = spawn(process.execPath, ['scripts/test.ts', ...files], {
      env: { ...process.env, FAREGATE_TEST_CITUS_PORTS: JSON.stringify(ports) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const [code] = await once(child, 'close');
    const counts = printed.match(/^ℹ (?:tests|pass|fail|skipped) \d+$/gm) ?? [];
    if (code !== 0) throw new Error(printed.slice(Math.max(0, printed.indexOf('failing tests'))).slice(0, 4_000));
    return [counts.map((count) => count.slice(2)).join(', ')];
  },
};
