import type { ICruiseOptions, IForbiddenRuleType } from 'dependency-cruiser';

/**
 * Import rules, checked by `scripts/check-imports.ts` and explained in `docs/architecture.md`. Type imports count, because readers follow
 * them too. Tests are exempt: nothing imports them, and they combine separate parts.
 */

/** The layers of `src`, from top to bottom. A file imports from its own layer and from lower ones. */
const LAYERS = [
  'cli',
  'app',
  'telemetry',
  'api',
  'transfer',
  'requests',
  'calls',
  'notices',
  'changes',
  'people',
  'providers',
  'accounting',
  'journal',
  'config',
  'protocols',
  'http',
  'db',
  'errors',
  'lib',
];

/** The layers of the console. */
const CONSOLE_FOLDERS = ['app', 'features', 'layout', 'session', 'parts', 'api', 'text'];

const below = (root: string, folders: readonly string[]): IForbiddenRuleType[] =>
  folders.slice(1).map((folder, at) => ({
    name: `${folder}-is-below`,
    comment: `Pass what you need from ${folders.slice(0, at + 1).join(', ')} as an argument, or move it to ${folder} or a lower layer.`,
    from: { path: `^${root}/${folder}/` },
    to: { path: `^${root}/(${folders.slice(0, at + 1).join('|')})/` },
  }));

export const RULES: readonly IForbiddenRuleType[] = [
  {
    name: 'no-circle-of-files',
    comment: 'Move the shared code into a file that imports neither.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-circle-of-folders',
    comment: 'Move the shared code into a folder below both.',
    scope: 'folder',
    from: {},
    to: { circular: true },
  },
  {
    name: 'in-a-layer',
    comment: `Move the file into one of the layers: ${LAYERS.join(', ')}.`,
    from: { path: '^src/' },
    to: { path: '^src/', pathNot: `^src/(${LAYERS.join('|')})/` },
  },
  ...below('src', LAYERS),
  ...below('console/src', CONSOLE_FOLDERS),
  {
    name: 'sql-in-stores',
    comment: 'Move the SQL into the store of its domain, and the columns of a table into its tables.ts.',
    from: {
      path: '^src/',
      // `principals.ts` subscribes to revoked keys for its cache; `placed-pools.ts` contains only connections.
      pathNot: [
        '^src/(app|cli|db)/',
        '(store|tables)\\.ts$',
        '^src/accounting/(accounts/principals|partitions/placed-pools)\\.ts$',
      ],
    },
    to: { path: '^src/db/', pathNot: '^src/db/(errors|current-tenant|database-time)\\.ts$|^src/db/(questions|nodes)/' },
  },
  {
    name: 'requests-stop-at-the-api',
    comment: 'Pass what you need as an argument, so that this code works without a request.',
    from: { path: '^src/', pathNot: '^src/(app|telemetry|api|cli|http|requests)/' },
    to: { path: '^src/http/' },
  },
  {
    name: 'pure',
    comment: 'Protocols, prices and limits work on plain values: no database, no request, no clock.',
    from: { path: '^src/(protocols|accounting/pricing|accounting/reservations/limits)/', pathNot: 'store\\.ts$' },
    to: { path: '^src/(db|http)/' },
  },
  {
    name: 'only-the-demo-has-a-past',
    comment: 'Only the demo may create records of calls that did not happen.',
    from: { path: '^src/', pathNot: '^src/cli/|^src/accounting/history/' },
    to: { path: '^src/accounting/history/' },
  },
  {
    name: 'features-do-not-know-each-other',
    comment: 'Move code that two console features share into parts.',
    from: { path: '^console/src/features/([^/]+)/' },
    to: { path: '^console/src/features/', pathNot: '^console/src/features/$1/' },
  },
  {
    name: 'no-tests',
    comment: 'Move the imported code into src.',
    from: { path: '^src/' },
    to: { path: '^(test|bench|scripts)/' },
  },
];

export const OPTIONS: ICruiseOptions = {
  parser: 'swc',
  tsPreCompilationDeps: true,
  doNotFollow: { path: 'node_modules' },
  exclude: { path: '\\.test\\.tsx?$' },
  enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js', '.json'] },
};
