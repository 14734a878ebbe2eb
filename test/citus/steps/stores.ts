import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Step } from '../step.ts';

const FILE = new URL('../partition-stores.ts', import.meta.url).pathname;

export const stores: Step = {
  name: 'stores',
  tries: 'the tests of the stores of a further partition (test/db/partition-stores.ts), in a distributed schema',
  async run({ ports }) {
    const child = spawn(process.execPath, ['--test', '--test-reporter=spec', FILE], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, FAREGATE_CITUS_PORTS: JSON.stringify(ports), FAREGATE_TEST_SCOPE: 'full' },
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(printed);
    return printed.split('\n').filter((line) => line.includes('✔'));
  },
};
