import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beginsEarly, isAlone, planProcesses, processModule, type TestFile } from '../../scripts/test-processes.ts';

const PURE = "import { it } from 'node:test';\nit('adds', () => undefined);\n";

function files(folder: string, count: number): TestFile[] {
  return Array.from({ length: count }, (_, n) => ({ path: `${folder}/file-${n}.test.ts`, text: PURE }));
}

describe('planProcesses', () => {
  it('plans every file once', () => {
    const given = [
      ...files('src/lib', 30),
      ...files('src/pricing', 9),
      ...files('test/gateway', 25),
      ...files('test/cli', 2),
    ];
    const planned = planProcesses(given).flat();
    assert.deepEqual(planned.toSorted(), given.map(({ path }) => path).toSorted());
  });

  it('groups unit tests, and other tests, which start first', () => {
    const [others, unit, ...rest] = planProcesses(
      [...files('src/lib', 2), ...files('src/pricing', 1), ...files('test/plans', 2), ...files('test/billing', 1)],
      5,
    );
    assert.deepEqual(unit, ['src/lib/file-0.test.ts', 'src/lib/file-1.test.ts', 'src/pricing/file-0.test.ts']);
    assert.deepEqual(others, ['test/plans/file-0.test.ts', 'test/plans/file-1.test.ts', 'test/billing/file-0.test.ts']);
    assert.deepEqual(rest, []);
  });

  it('groups browser tests in one process', () => {
    const planned = planProcesses([...files('test/console/pages', 2), ...files('test/people', 1)]);
    const pages = ['test/console/pages/file-0.test.ts', 'test/console/pages/file-1.test.ts'];
    assert.deepEqual(planned, [pages, ['test/people/file-0.test.ts']]);
  });

  it('separates suites with several partitions, and sets their environment before loading files', () => {
    const planned = planProcesses([...files('test/people', 1), ...files('test/usage', 1), ...files('test/plans', 1)]);
    const spread = ['test/usage/file-0.test.ts', 'test/plans/file-0.test.ts'];
    assert.deepEqual(planned, [['test/people/file-0.test.ts'], spread]);
    const urlOf = (path: string): string => `file:///here/${path}`;
    const says = (paths: readonly string[]): boolean =>
      processModule(paths.map(urlOf), '/done').startsWith("process.env.FAREGATE_TEST_SPREAD = '1';");
    assert.deepEqual([says(spread), says(['test/people/file-0.test.ts'])], [true, false]);
  });

  it('limits and balances the files of a process', () => {
    const sizesOf = (folder: string): number[] => planProcesses(files(folder, 13), 5).map(({ length }) => length);
    assert.deepEqual(sizesOf('test/people'), [5, 4, 4]);
    assert.deepEqual(sizesOf('src/lib'), [7, 6]);
  });

  it('runs disturbing files alone', () => {
    for (const [path, text] of [
      ['test/settlement/killed.test.ts', PURE],
      ['src/lib/hooked.test.ts', `${PURE}beforeEach(() => undefined);\n`],
      ['test/gateway/spawns.test.ts', `import { spawn } from 'node:child_process';\n${PURE}`],
      ['test/gateway/listens.test.ts', `${PURE}process.on('warning', () => undefined);\n`],
      ['test/gateway/measures.test.ts', `${PURE}process.memoryUsage();\n`],
    ] as const) {
      assert.equal(isAlone({ path, text }), true, path);
      const planned = planProcesses([{ path, text }, ...files('src/lib', 1)]);
      assert.deepEqual(planned.toSorted(), [['src/lib/file-0.test.ts'], [path]].toSorted());
    }
  });

  it('starts tests of whole programs early, after browser tests', () => {
    const killed = { path: 'test/settlement/killed.test.ts', text: PURE };
    const spawns = { path: 'test/people/a.test.ts', text: `import { spawn } from 'node:child_process';\n${PURE}` };
    const planned = planProcesses([spawns, ...files('test/people', 2), killed, ...files('test/console/pages', 2)]);
    const [pages, people] = ['test/console/pages', 'test/people'].map((folder) =>
      files(folder, 2).map(({ path }) => path),
    );
    assert.deepEqual(planned, [pages, [killed.path], people, [spawns.path]]);
    assert.deepEqual(planned.map(beginsEarly), [true, true, true, false]);
  });

  it('groups files whose hooks are inside suites, or run at the end', () => {
    const text = "after(() => undefined);\ndescribe('a suite', () => {\n  beforeEach(() => undefined);\n});\n";
    assert.equal(isAlone({ path: 'test/gateway/usual.test.ts', text }), false);
  });
});
