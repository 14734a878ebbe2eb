import type { ICruiseOptions, IForbiddenRuleType } from 'dependency-cruiser';

/**
 * Which file may import which. `scripts/check-imports.ts` holds it, `docs/architecture.md` explains it. Imports of types count, because a
 * reader has to follow them all the same. Tests are left out: nothing imports them, and they bring together what the code keeps apart.
 */

/** The rooms of `src`, from top to bottom: a file imports from its own room and from those below. */
const ROOMS = [
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

/** The folders of the console, likewise. */
const CONSOLE_FOLDERS = ['app', 'features', 'layout', 'session', 'parts', 'api', 'text'];

const below = (root: string, folders: readonly string[]): IForbiddenRuleType[] =>
  folders.slice(1).map((folder, at) => ({
    name: `${folder}-is-below`,
    comment: `Take what you need of ${folders.slice(0, at + 1).join(', ')} as an argument, or move it down to ${folder} or below.`,
    from: { path: `^${root}/${folder}/` },
    to: { path: `^${root}/(${folders.slice(0, at + 1).join('|')})/` },
  }));

export const RULES: readonly IForbiddenRuleType[] = [
  {
    name: 'no-circle-of-files',
    comment: 'Move what two of them share into a file of its own that imports neither.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-circle-of-folders',
    comment: 'Move what two of them share into a folder below both.',
    scope: 'folder',
    from: {},
    to: { circular: true },
  },
  {
    name: 'in-a-room',
    comment: `Put it into the room that it belongs to: ${ROOMS.join(', ')}.`,
    from: { path: '^src/' },
    to: { path: '^src/', pathNot: `^src/(${ROOMS.join('|')})/` },
  },
  ...below('src', ROOMS),
  ...below('console/src', CONSOLE_FOLDERS),
  {
    name: 'sql-in-stores',
    comment: 'Put the SQL into the store of its domain, and the columns of a table into its tables.ts.',
    from: {
      path: '^src/',
      // `principals.ts` hears of revoked keys, whose cache it keeps; `placed-lanes.ts` has connections alone.
      pathNot: [
        '^src/(app|cli|db)/',
        '(store|tables)\\.ts$',
        '^src/accounting/(accounts/principals|partitions/placed-lanes)\\.ts$',
      ],
    },
    to: { path: '^src/db/', pathNot: '^src/db/(errors|lane-holder|database-time)\\.ts$|^src/db/(questions|nodes)/' },
  },
  {
    name: 'requests-stop-at-the-api',
    comment: 'Take what you need as an argument, so that this part works without a request.',
    from: { path: '^src/', pathNot: '^src/(app|telemetry|api|cli|http|requests)/' },
    to: { path: '^src/http/' },
  },
  {
    name: 'pure',
    comment: 'Protocols, prices and limits decide over plain values: no database, no request, no clock of their own.',
    from: { path: '^src/(protocols|accounting/pricing|accounting/reservations/limits)/', pathNot: 'store\\.ts$' },
    to: { path: '^src/(db|http)/' },
  },
  {
    name: 'only-the-demo-has-a-past',
    comment: 'Records of calls that did not happen are made for the demo alone.',
    from: { path: '^src/', pathNot: '^src/cli/|^src/accounting/history/' },
    to: { path: '^src/accounting/history/' },
  },
  {
    name: 'features-do-not-know-each-other',
    comment: 'Put what two features of the console need into parts, by its subject.',
    from: { path: '^console/src/features/([^/]+)/' },
    to: { path: '^console/src/features/', pathNot: '^console/src/features/$1/' },
  },
  {
    name: 'no-tests',
    comment: 'Move what it needs here.',
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
