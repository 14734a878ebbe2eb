import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import type { KnownNames } from '../../changes/change-facts.ts';
import { changeSentence } from '../../changes/change-sentences.ts';
import type { Change, ChangesStore } from '../../changes/changes-store.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import { accountNamesOf } from '../accounts/account-names.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LIST_LINES, listOrCsv } from '../management/list-csv.ts';
import { at, pageOf } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { filterText, instant, instantToWire, page } from '../management/wire.ts';

interface ChangeAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findNames'>;
  readonly changes: Pick<ChangesStore, 'list'>;
  readonly plans: () => readonly Pick<PlanTerms, 'id' | 'name'>[];
}

const actorKind = z.enum(['admin_token', 'command_line', 'user', 'api_key', 'visitor', 'configuration']);

const changeList = z.strictObject({
  ...page,
  actorKind: actorKind.optional(),
  actorId: filterText.optional(),
  action: filterText.optional(),
  subjectId: filterText.optional(),
  accountId: filterText.optional(),
  from: instant.optional(),
  to: instant.optional(),
});

const recorded = z.record(z.string(), z.unknown()).nullable();
const changeResponse = z
  .strictObject({
    id: z.string(),
    at,
    endedAt: at.nullable(),
    outcome: z.enum(['done', 'failed', 'unknown']).meta({
      description:
        'failed: the change ended with an error, and may have had an effect. unknown: its outcome was not recorded, because it is in progress ' +
        'or its node died.',
    }),
    actor: z.strictObject({
      kind: actorKind,
      id: z.string().nullable(),
      name: z.string(),
      sessionId: z.string().nullable(),
      localUser: z.string().nullable(),
    }),
    method: z.string().nullable(),
    path: z.string().nullable(),
    action: z.string(),
    subject: z.strictObject({ kind: z.string(), id: z.string().nullable() }),
    accountId: z.string().nullable(),
    accountName: z.string().nullable(),
    sentence: z
      .strictObject({ en: z.string(), zh: z.string() })
      .describe('A description of the change in the languages of the console, with names instead of ids.'),
    before: recorded,
    after: recorded,
    clientAddress: z.string().nullable(),
    requestId: z.string().nullable(),
    errorCode: z.string().nullable(),
  })
  .meta({ id: 'Change' });
export type ChangeResponse = z.infer<typeof changeResponse>;

const CHANGE_COLUMNS = Object.entries(changeResponse.shape).flatMap(([name, of]) =>
  of instanceof z.ZodObject ? Object.keys(of.shape).map((inner) => `${name}.${inner}`) : [name],
);

export function changeEndpoints({ changes, accounts, plans }: ChangeAdminDependencies): AdminEndpoint[] {
  async function list({ limit, cursor, from, to, ...asked }: z.infer<typeof changeList>) {
    const { items, next } = await changes.list(
      { ...asked, from: from ?? null, to: to ?? null },
      cursor ?? null,
      limit,
      LIST_TIMING,
    );
    const names = {
      accounts: await accountNamesOf(accounts, items),
      plans: new Map(plans().map((plan) => [plan.id, plan.name])),
    };
    return { data: items.map((change) => changeToWire(change, names)), nextCursor: next };
  }

  return [
    adminEndpoint({
      method: 'GET',
      path: '/changes',
      summary:
        'List changes made by people, tokens, keys, the command line and configurations, newest first; also as CSV',
      query: changeList,
      response: pageOf(changeResponse),
      lines: LIST_LINES,
      run: ({ query, wantsCsv }) => listOrCsv(wantsCsv, CHANGE_COLUMNS, query, list),
    }),
  ];
}

function changeToWire(change: Change, names: KnownNames): ChangeResponse {
  return shown(changeResponse, {
    ...change,
    at: new Date(change.begunAtMs),
    endedAt: instantToWire(change.endedAtMs),
    outcome: change.outcome === 'begun' ? 'unknown' : change.outcome,
    subject: { kind: change.subjectKind, id: change.subjectId },
    accountName: change.accountId === null ? null : (names.accounts.get(change.accountId) ?? null),
    sentence: changeSentence(change, names),
    before: change.before as z.infer<typeof recorded>,
    after: change.after as z.infer<typeof recorded>,
  });
}
