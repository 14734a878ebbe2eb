import type {
  CatalogChangeResponse,
  CatalogResponse,
  ChangedCatalogResponse,
  CheckedCatalogResponse,
  RevisionResponse,
  RevisionSummaryResponse,
} from '../../api/catalog/wire.ts';
import type { ReloadResponse } from '../../api/config/admin.ts';
import { joinConfig, splitConfig } from '../../config/catalog-text.ts';
import { readConfigFile } from '../../config/load.ts';
import { escapeLines } from '../../lib/plain-text.ts';
import { CliError, type CliProcess, type GlobalFlags, sayTo, UsageError } from '../command.ts';
import { type CommandRows, group, limitOf } from '../command-rows.ts';
import { findConfigSource } from '../environment.ts';
import { localTime } from '../local-time.ts';
import { columnsOf } from '../table.ts';
import { FORCE, writeForEditing } from '../written-file.ts';
import { move } from './catalog-move.ts';
import { describeChanges, readCatalog } from './catalog-responses.ts';

const NUMBER = 'the number of a revision, as `catalog history` lists it';
const REASON = { '--reason <text>': 'why, for `catalog history`' };
const WHEN = {
  ...REASON,
  '--at <instant>':
    'when it comes into force: an instant such as 2026-12-01T00:00:00+08:00, or a day of the billing time zone (default: at once)',
};

/** The commands `faregate catalog …`: the catalog of the database, in numbered revisions. */
export const catalogCommands = group(
  'catalog',
  'providers, models, prices and plans in the database, the same for all nodes (`catalog: database`)',
  {
    'push <file>': {
      about: 'put the catalog sections of a file in force on all nodes, as a new revision',
      with: {
        '<file>':
          'a text of the catalog, or a whole configuration file, whose other sections are left out; "-" is standard input',
        ...WHEN,
        '--base <number>':
          'the revision that the file is based on; if another one has followed it, the push is refused (default: the last one)',
        '--draft': 'save a draft, which comes into force only when it is applied',
        '--dry-run':
          'only show problems, differences and what example calls would cost; exit code 1 if there are problems',
      },
      async changes(admin, output, { file, base: givenBase, dryRun, draft: isDraft, reason, at: inForceAt }, process) {
        if (isDraft === true && inForceAt !== undefined)
          throw new UsageError('--at: A draft has no instant. Set it with "catalog apply".');
        const text = splitConfig(await readText(String(file), process)).catalog;
        const base = givenBase === undefined ? (await readCatalog(admin)).base : numberOf(givenBase, '--base');
        const checked = await admin.request<CheckedCatalogResponse>('POST', '/catalog/check', { base, text });
        const isUsable = checked.problems.length === 0;
        if (dryRun === true) {
          output.print(checked, describeChecked);
          return isUsable ? 0 : 1;
        }
        if (!isUsable) throw new CliError(escapeLines(`The catalog cannot be used:\n${describeChecked(checked)}`));
        const body = { base, text, reason, inForceAt, isDraft };
        const pushed = await admin.request<ChangedCatalogResponse>('POST', '/catalog/revisions', body);
        output.print(pushed, () =>
          pushed.number === base ? `Nothing to push: revision ${base} has this text.` : describeChanged(pushed),
        );
        return 0;
      },
    },
    history: {
      about: 'list the revisions, newest first',
      with: limitOf(20),
      lists: '/catalog/revisions',
      empty: 'There are no revisions.',
      columns: [
        ...columnsOf<RevisionSummaryResponse>('number', 'source', 'base'),
        {
          title: 'in force',
          cell: ({ inForceAt }: RevisionSummaryResponse) => (inForceAt === null ? 'draft' : localTime(inForceAt)),
        },
        {
          title: 'canceled',
          cell: ({ canceledAt }: RevisionSummaryResponse) => (canceledAt === null ? '' : localTime(canceledAt)),
        },
        ...columnsOf<RevisionSummaryResponse>('createdBy', 'reason'),
      ],
    },
    'show [number]': {
      about: 'print the text of a revision (default: the last one, on which the next one is based)',
      with: { '[number]': NUMBER },
      async reads(admin, output, { number }, process) {
        if (number === undefined) {
          const current = await readCatalog(admin);
          sayTo(process)(describeStatus(current));
          output.print(current, ({ text }) => text.trimEnd());
        } else {
          const path = `/catalog/revisions/${numberOf(number)}`;
          output.print(await admin.request<RevisionResponse>('GET', path), ({ text }) => text.trimEnd());
        }
        return undefined;
      },
    },
    'diff <from> [to]': {
      about: 'compare a revision with another one (default: the last one)',
      with: { '<from>': NUMBER, '[to]': NUMBER },
      async reads(admin, output, { from, to }) {
        const last = to === undefined ? (await readCatalog(admin)).base : numberOf(to);
        if (last === null) throw new CliError('There is no revision to compare with.');
        const path = `/catalog/difference?from=${numberOf(from)}&to=${last}`;
        const compared = await admin.request<{ changes: CatalogChangeResponse[] | null }>('GET', path);
        output.print(compared, ({ changes }) => describeChanges(changes));
        return undefined;
      },
    },
    'rollback <number>': {
      about: 'put the text of an earlier revision in force again, as a new revision',
      with: { '<number>': NUMBER, ...WHEN },
      sends: 'POST /catalog/revisions/:number/rollback',
      body: ['reason', 'inForceAt: at'],
      text: describeChanged,
    },
    'apply <number>': {
      about: 'put a draft in force',
      with: { '<number>': NUMBER, '--at <instant>': WHEN['--at <instant>'] },
      sends: 'POST /catalog/revisions/:number/apply',
      body: ['inForceAt: at'],
      text: describeChanged,
    },
    'cancel <number>': {
      about: 'cancel a scheduled revision, or discard a draft',
      with: { '<number>': NUMBER },
      sends: 'DELETE /catalog/revisions/:number',
      text: ({ number, inForceAt }: RevisionSummaryResponse) =>
        inForceAt === null ? `Discarded draft ${number}.` : `Canceled revision ${number}.`,
    },
    'export [file]': {
      about: 'write a whole configuration file with the catalog in it (`catalog: file`)',
      with: {
        '[file]':
          'the file to write (default: standard output); the other sections are those of the configuration file of this command',
        ...FORCE,
      },
      async runs(flags, output, { file, force }, process) {
        const { withAdmin } = await import('../with-admin.ts');
        const { scheduled, base, text } = await withAdmin(flags, process, 'reads', readCatalog);
        if (scheduled !== null) {
          const at = localTime(scheduled.inForceAt!);
          sayTo(process)(`Note: this is revision ${base}, which is not in force before ${at}.`);
        }
        const whole = joinConfig(nodeText(flags, process), text);
        if (file === undefined) output.print({ text: whole }, () => whole.trimEnd());
        else {
          writeForEditing({ [String(file)]: whole }, force);
          output.print({ file, revision: base }, () => `Wrote ${file}.`);
        }
        return 0;
      },
    },
    'use <place>': {
      about:
        'move the catalog between the configuration file and the database: changes the file; takes effect when the gateway starts again',
      with: {
        '<place>': {
          text: '"database": push the sections of the file, and remove them from it. "file": write the revision in force into the file',
          choices: ['database', 'file'],
        },
        '--adopt': 'use the catalog that the database has, although this file differs from it',
        '--replace': 'put the sections of the file in force in place of the catalog that the database has',
        ...REASON,
      },
      runs: move,
    },
  },
);

/** The command `faregate reload`. */
export const reloadCommands: CommandRows = {
  reload: {
    about:
      'read the configuration file and the files that it names again, and retry refused credentials; exit code 1 if the file is not valid',
    async changes(admin, output) {
      const reloaded = await admin.request<ReloadResponse>('POST', '/config/reload');
      output.print(reloaded, describeReload);
      return reloaded.lastError === null ? 0 : 1;
    },
  },
};

/** Returns the text of the command's configuration file; empty for the demo, and if there is none. */
function nodeText(flags: GlobalFlags, process: CliProcess): string {
  const { file, isDemo } = findConfigSource(flags, process.environment);
  return isDemo ? '' : readConfigFile(file).text;
}

async function readText(file: string, { stdin }: CliProcess): Promise<string> {
  if (file !== '-') return readConfigFile(file).text;
  const { text } = await import('node:stream/consumers');
  return text(stdin ?? process.stdin);
}

function numberOf(given: unknown, name = '<number>'): number {
  if (!/^[1-9]\d{0,14}$/.test(String(given))) throw new UsageError(`${name}: Expected the number of a revision.`);
  return Number(given);
}

function describeStatus({ mode, inForce, scheduled, failed }: CatalogResponse): string {
  if (mode === 'file') return 'The catalog is in the configuration file.';
  return [
    inForce === null ? 'No revision is in force: there are no models.' : `Revision ${inForce.number} is in force.`,
    ...(scheduled === null ? [] : [`Revision ${scheduled.number} follows at ${localTime(scheduled.inForceAt!)}.`]),
    ...(failed === null ? [] : [`The gateway cannot use revision ${failed.number}: ${failed.message}`]),
  ].join(' ');
}

function describeChanged({ number, inForceAt, changes }: ChangedCatalogResponse): string {
  const state =
    inForceAt === null
      ? `Draft ${number}. Put it in force with "faregate catalog apply ${number}".`
      : `Revision ${number}, in force from ${localTime(inForceAt)}.`;
  return `${state}\n${describeChanges(changes)}`;
}

function describeChecked({ problems, changes, examples }: CheckedCatalogResponse): string {
  if (problems.length > 0) {
    return problems
      .map(({ line, key, message }) => `${line > 0 ? `line ${line}: ` : ''}${key === '' ? '' : `${key}: `}${message}`)
      .join('\n');
  }
  return [describeChanges(changes), ...describeExamples(examples)].join('\n');
}

export function describeExamples(examples: CheckedCatalogResponse['examples']): string[] {
  return examples.map(({ model, now, later, marginPercentBefore, marginPercentNow }) => {
    const starts = later.map(({ from, yuan }) => `, from ${from} ¥${yuan}`).join('');
    const before = marginPercentBefore === null ? '' : ` (before ${marginPercentBefore} %)`;
    const margin = marginPercentNow === null ? '' : `; margin ${marginPercentNow} %${before}`;
    return `${model}: 10,000 input and 1,000 output tokens cost ¥${now}${starts}${margin}`;
  });
}

function describeReload({ file, lastError, needsRestart }: ReloadResponse): string {
  if (lastError !== null) return `${file ?? 'The configuration'} is not in force: ${lastError.message}`;
  const waits = needsRestart.length === 0 ? '' : ` These settings require a restart: ${needsRestart.join(', ')}.`;
  return `${file ?? 'The configuration'} is in force.${waits}`;
}
