import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { ENDED_KEYS_KEPT_DAYS } from '../../src/accounting/accounts/ended-key-store.ts';
import { ACTIVE_KEYS_MAX, KEYS_A_DAY_MAX } from '../../src/accounting/accounts/key-owner-store.ts';
import { MEMBER_KEYS_MAX } from '../../src/api/keys/own.ts';
import { TENANT_LIMITS, VISITOR_LIMITS } from '../../src/api/management/request-body.ts';
import { STREAMS_MAX } from '../../src/api/management/streamed-lines.ts';
import { TENANT_SHARE } from '../../src/app/worker-limits.ts';
import { CHANGE_RATES } from '../../src/changes/change-rates.ts';
import { COSTS, OF_ACCOUNT, TO_ADDRESS } from '../../src/notices/send-rates.ts';
import { ACCOUNT_ENDPOINTS_MAX, OPERATOR_ENDPOINTS_MAX } from '../../src/notices/webhooks.ts';
import { LEFT_USERS_KEPT_DAYS } from '../../src/people/left-user-store.ts';
import { INVITATIONS_A_DAY_MAX, OPEN_INVITATIONS_MAX, SESSIONS_MAX } from '../../src/people/user.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import type { RoleName } from './roles.ts';
import { peopleOfWalk, type Scene } from './scene.ts';

/** Verifies the tables of docs/security.md: what people see, by requests of each role; what they cost, by the code's limits. */

const document = readFileSync('docs/security.md', 'utf8');

/** The cells of the table under a heading. */
function tableBehind(heading: string): string[][] {
  const lines = document
    .slice(document.indexOf(`### ${heading}\n`) + heading.length)
    .split(/\n##+ /)[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'));
  assert.ok(lines.length > 2, `${heading} has no table`);
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Roles of the columns, by their names in the walk over all endpoints. */
const COLUMNS: Readonly<Record<string, RoleName>> = {
  visitor: 'no credential',
  member: 'a member',
  owner: 'an owner',
  auditor: 'an auditor who signed in',
  operator: 'an operator who signed in',
};

describe('the table of what people see', () => {
  let g: TestGateway;
  let scene: Scene;
  before(async () => {
    g = await startGateway({ localToken: 'token-of-the-command-line' });
    scene = await peopleOfWalk(g);
  });
  after(() => g.stop());

  const [head, , ...rows] = tableBehind('What people see');
  const columns = head!.slice(2);

  it('has a column for everybody', () => assert.deepEqual(columns, Object.keys(COLUMNS)));

  for (const [what, address, ...cells] of rows) {
    it(`is true: ${what}`, async () => {
      const [method = '', template = ''] = address!.replaceAll('`', '').split(' ');
      const path = template.replace('ACCOUNT', scene.account.id);
      for (const [i, cell] of cells.entries()) {
        const role = COLUMNS[columns[i]!]!;
        const response = await fetch(g.url + path, { method, headers: scene.headers[role] });
        const text = await response.text();
        const isSeen = response.status === 200;
        assert.equal(isSeen, cell !== 'no', `${path} as ${role}: ${response.status} ${text.slice(0, 200)}`);
        // Mo is another member of the account; a user's own data must contain nothing of his.
        const hasOthers = text.includes(scene.mo.keyId);
        if (cell === 'own') assert.equal(hasOthers, false, `${path} as ${role}`);
        assert.equal(text.includes(scene.other.keyId) && columns[i] !== 'auditor' && columns[i] !== 'operator', false);
      }
    });
  }
});

describe('the table of what people cost', () => {
  const kibibytes = ({ body }: typeof TENANT_LIMITS): string =>
    body.sizeBytesMax >= 2 ** 20 ? `${body.sizeBytesMax / 2 ** 20} MiB` : `${body.sizeBytesMax / 2 ** 10} KiB`;
  const bodyOf = (limits: typeof TENANT_LIMITS): string =>
    `${kibibytes(limits)}, ${limits.json.valuesMax.toLocaleString('en')} values, ${limits.json.depthMax} levels`;
  const links = TO_ADDRESS.burst / COSTS.link;
  const count = (value: number): string => value.toLocaleString('en');
  const rateOf = (rate: keyof typeof CHANGE_RATES): string => {
    const { burst, everyMs } = CHANGE_RATES[rate];
    return everyMs < 1_000
      ? `${count(burst)} at once, then ${1_000 / everyMs} per second`
      : `${burst} at once, then one ${everyMs === 1_000 ? 'per second' : `every ${everyMs / 1_000} s`}`;
  };

  const expected = [
    ['a body', bodyOf(VISITOR_LIMITS), bodyOf(TENANT_LIMITS), bodyOf(TENANT_LIMITS)],
    [
      'requests at a time',
      'as many as connections',
      `${TENANT_SHARE.atOnceMax}, and ${TENANT_SHARE.waitingMax} that wait`,
      'not limited',
    ],
    ['CPU time', 'two hashes of passwords at a time', `${TENANT_SHARE.share * 100} %`, 'not limited'],
    ['streamed responses (CSV)', 'none', `${STREAMS_MAX} at a time`, 'not limited'],
    ['sessions of a person', 'none', count(SESSIONS_MAX), count(SESSIONS_MAX)],
    [
      'API keys',
      'none',
      `of an account ${count(ACTIVE_KEYS_MAX)} that work, and ${count(KEYS_A_DAY_MAX)} created per day; of a member ${MEMBER_KEYS_MAX}; ` +
        `a revoked or expired key that made no call is deleted after ${ENDED_KEYS_KEPT_DAYS} days`,
      'as the account',
    ],
    [
      'changes',
      'as attempts to sign in',
      `${rateOf('caller')}; of an account ${rateOf('account')}`,
      `a person ${rateOf('operator')}; an admin token ${rateOf('token')}; the command line of the machine without limit`,
    ],
    [
      'invitations',
      'none',
      `of an account ${OPEN_INVITATIONS_MAX} open ones, and ${INVITATIONS_A_DAY_MAX} created per day; ` +
        `a user who has left all accounts is deleted after ${LEFT_USERS_KEPT_DAYS} days`,
      'none',
    ],
    ['webhook endpoints', 'none', `${ACCOUNT_ENDPOINTS_MAX} of an account`, `${OPERATOR_ENDPOINTS_MAX} of their own`],
    [
      'links by mail',
      'none',
      `${links} to an address, ${OF_ACCOUNT.burst / COSTS.link} of an account at once`,
      `${links} to an address at once`,
    ],
  ];

  it('has the limits of the code', () => {
    const [head, , ...rows] = tableBehind('What people cost');
    assert.deepEqual(head!.slice(1), ['visitors', 'members and owners', 'auditors and operators']);
    assert.deepEqual(rows, expected);
  });
});
