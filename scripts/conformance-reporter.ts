import type { TestEvent as NodeTestEvent } from 'node:test/reporters';
import { ConformanceResults } from './conformance-page.ts';

/**
 * A reporter of node:test that writes the page of conformance to its destination. What keeps the page from being right is
 * printed on stderr and fails the run.
 */
async function* reportConformance(events: AsyncIterable<NodeTestEvent>): AsyncGenerator<string> {
  const results = new ConformanceResults(process.cwd());
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    results.add({
      type,
      name: data.name,
      nesting: data.nesting,
      file: data.file,
      isSuite: data.details.type === 'suite',
      skip: data.skip,
      todo: data.todo,
    });
  }
  for (const problem of results.problems) console.error(problem);
  if (results.problems.length > 0) process.exitCode = 1;
  yield results.page();
}

// biome-ignore lint/style/noDefaultExport: this is how node:test takes a reporter
export default reportConformance;
