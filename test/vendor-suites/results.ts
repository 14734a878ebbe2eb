/** A documented refusal, as `expected.yaml` lists it. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** The beginning of the message. */
  readonly says?: string;
  readonly param?: string;
  /** The page and the heading, such as `docs/sdks.md#what-is-not-served`. */
  readonly documented: string;
  /** Paths of members of the body, and of parameters of the query, to remove before the request is sent again. */
  readonly leaveOut?: readonly string[];
  /** Members to add to the body. */
  readonly put?: Readonly<Record<string, unknown>>;
  /** The part of the form whose content is replaced by a picture. */
  readonly picture?: string;
}

export type Refusals = Readonly<Record<string, Refusal>>;

/** The result of one test. */
export interface TestResult {
  /** The node id of pytest: `tests/api_resources/test_models.py::TestModels::test_method_list[strict]`. */
  readonly id: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Names of the refusals, in order. */
  readonly refusals: readonly string[];
  readonly error: string | null;
}

/** The outcome of a test, and the subject that it belongs to. */
export interface Judged {
  /** Relative to `tests/api_resources`. */
  readonly file: string;
  /** The method and its overload, such as `create_overload_1`. All clients and all ways to read a response have the same subject. */
  readonly subject: string;
  readonly kind: 'passed' | 'refused' | 'not served' | 'other';
  readonly outcome: string;
}

/** Outcomes and how many tests have them, by file and subject: `{ 'test_models.py': { list: '15 passed' } }`. */
export type Results = Readonly<Record<string, Readonly<Record<string, string>>>>;

export function judge({ id, outcome, refusals, error }: TestResult, known: Refusals): Judged {
  const [path, , test] = id.split('::') as [string, string, string];
  const file = path.replace(/^tests\/api_resources\//, '');
  const subject = test.replace(/\[.*$/, '').replace(/^test_(?:method_|raw_response_|streaming_response_)?/, '');
  const names = [...new Set(refusals)];
  const last = names.at(-1);
  if (outcome === 'passed' && last === undefined) return { file, subject, kind: 'passed', outcome };
  if (outcome === 'passed') return { file, subject, kind: 'refused', outcome: `refused (${names.join(', ')})` };
  if (outcome === 'failed' && last !== undefined && !hasRemedy(known[last])) {
    return { file, subject, kind: 'not served', outcome: `not served (${last})` };
  }
  return { file, subject, kind: 'other', outcome: `${outcome}: ${error?.split('\n')[0] ?? ''}` };
}

/** A refusal without a remedy means that the address is not served. */
const hasRemedy = (refusal: Refusal | undefined): boolean =>
  refusal?.leaveOut !== undefined || refusal?.put !== undefined || refusal?.picture !== undefined;

/** Results of one suite in the form of `expected.yaml`. */
export function summarize(tests: readonly Judged[]): Results {
  const line = (same: readonly Judged[]): string =>
    Object.entries(
      grouped(
        same,
        ({ outcome }) => outcome,
        (each) => each.length,
      ),
    )
      .map(([outcome, count]) => `${count} ${outcome}`)
      .sort()
      .join('; ');
  return grouped(
    tests,
    ({ file }) => file,
    (ofFile) => grouped(ofFile, ({ subject }) => subject, line),
  );
}

function grouped<Result>(
  tests: readonly Judged[],
  key: (test: Judged) => string,
  of: (tests: readonly Judged[]) => Result,
): Record<string, Result> {
  return Object.fromEntries([...Map.groupBy(tests, key)].map(([name, members]) => [name, of(members)]));
}

/** One text for each line in which results differ from the list, including lines that only one of them has. */
export function differences(expected: Results, seen: Results): string[] {
  return [...new Set([...Object.keys(expected), ...Object.keys(seen)])].flatMap((file) => {
    const [listed, found] = [expected[file] ?? {}, seen[file] ?? {}];
    return [...new Set([...Object.keys(listed), ...Object.keys(found)])]
      .filter((subject) => listed[subject] !== found[subject])
      .map(
        (subject) => `${file}, ${subject}: ${found[subject] ?? 'no test'} (listed: ${listed[subject] ?? 'nothing'})`,
      );
  });
}
