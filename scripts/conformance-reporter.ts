import type { TestEvent as NodeTestEvent } from 'node:test/reporters';
import { ConformanceResults } from './conformance-page.ts';

/**
 * A node:test reporter that writes the conformance page to its destination. Tests that the page cannot list correctly are reported on
 * stderr and fail the run.
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

// biome-ignore lint/style/noDefaultExport: node:test requires it
export default reportConformance;
