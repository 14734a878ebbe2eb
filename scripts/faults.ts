import type { ErrorKind } from '../src/errors/catalogue.ts';

/** A row of `docs/faults.md`. A test is identified by its file and its title in the source. */
export interface Fault {
  readonly fault: string;
  /** The error that clients get, from the catalogue. Absent: `seen` describes the effect. */
  readonly error?: ErrorKind;
  /** The affected calls; absent: all. */
  readonly of?: string;
  readonly seen?: string;
  /** Absent: nothing. */
  readonly account?: string;
  readonly tests: readonly FaultTest[];
}

export type FaultTest = readonly [file: string, title: string];

export interface FaultGroup {
  readonly title: string;
  readonly faults: readonly Fault[];
}

const AWAY = 'test/settlement/away.test.ts';
const SILENT = 'test/settlement/silent-database.test.ts';
const LOCKED = 'test/settlement/locked-account.test.ts';
const SLOW = 'test/settlement/slow.test.ts';
const FULL = 'test/settlement/disk-full.test.ts';
const KILLED = 'test/settlement/killed.test.ts';
const CRASHES = 'test/settlement/crashes.test.ts';
const WHEN = 'test/hostile/what-happens-when.test.ts';
const REFUSED = 'test/conformance/7-provider-errors.test.ts';
const CHAOS_AGAIN = 'test/chaos/further-attempts.test.ts';
const SETTINGS = 'test/routing/failures-and-settings.test.ts';
const RELAY = 'test/relay/relay-failures.test.ts';
const CONNECTIONS = 'test/hostile/connections.test.ts';
const FAILOVER = 'test/routing/failover.test.ts';
const LEAVING = 'test/relay/leaving-clients.test.ts';
const ABORTS = 'test/relay/client-aborts.test.ts';
const JOURNAL = 'src/journal/journal.test.ts';
const LOCAL = 'test/db/local-server.test.ts';
const LOCAL_KILLED = 'test/db/local-server-kills.test.ts';

export const faultGroups: readonly FaultGroup[] = [
  {
    title: 'The database',
    faults: [
      {
        fault: 'the database is down when a call begins',
        error: 'databaseDown',
        seen: 'at once; no provider is called',
        tests: [
          [AWAY, '${family.name}: a call that begins while it is down is refused at once, and nothing stays reserved'],
        ],
      },
      {
        fault: 'the database is down when a call ends',
        seen: 'the response, two seconds late at most',
        account: 'charged once, when it is up again',
        tests: [
          [
            AWAY,
            '${family.name}, ${kind}: the complete response is delivered although every statement fails ${when} it is carried out, and is charged once',
          ],
        ],
      },
      {
        fault: 'the database stops responding without closing connections (black hole)',
        error: 'databaseDown',
        seen: 'after two seconds, and at once while the outage is known',
        account: 'nothing; a reservation that was committed anyway is released',
        tests: [
          [SILENT, 'calls fail when their two seconds are over, and at once from then on, until the database responds'],
          [SILENT, 'an admission that was made all the same is released, and nothing is charged'],
        ],
      },
      {
        fault: 'the database stops responding when a call ends',
        seen: 'the response',
        account: 'charged once, from the journal',
        tests: [
          [SILENT, 'a call that is in flight then is delivered, its end waits in the journal, and is charged once'],
        ],
      },
      {
        fault: 'statements of the database are slow when a call ends',
        seen: 'the response, two seconds late at most',
        account: 'charged once, by the slow statement or its retry',
        tests: [
          [
            SLOW,
            'many responses that wait for one statement are delivered, and each call is charged once that is done',
          ],
          [
            SLOW,
            '${family.name}, ${kind}: it is charged once even if the slow statement fails ${when} it was carried out',
          ],
        ],
      },
      {
        fault: 'a connection is lost during a transaction',
        error: 'databaseDown',
        of: 'a call during admission',
        seen: 'a finished call gets its response, and its settlement is retried',
        account: 'nothing stays reserved or is charged twice',
        tests: [
          [
            'test/db/lost-connection.test.ts',
            'leaves no row locked: the server ends a transaction whose client sends nothing more',
          ],
          [
            'test/billing/billing.test.ts',
            'leaves no reservation if the connection broke ${when} the database had admitted the call',
          ],
        ],
      },
      {
        fault: 'statements fail at random, before or after they take effect',
        seen: 'the response, or an error that states that nothing is charged',
        account: 'the ledger matches the delivered responses',
        tests: [
          [
            'test/settlement/flaky.test.ts',
            'what clients were sent is what the database says in the end, seed ${seed}',
          ],
        ],
      },
      {
        fault: 'the database rejects a charge that is too large for a column',
        error: 'settlementFailed',
        seen: 'the response is withheld',
        account: 'nothing; other calls of the batch are charged',
        tests: [
          [
            'test/hostile/settlement.test.ts',
            'a charge that no column can store: the success is withheld, nothing is charged, no reservation is left',
          ],
          ['test/hostile/settlement.test.ts', 'calls that are settled concurrently are not affected'],
        ],
      },
      {
        fault: 'another session locks the row of one account',
        error: 'databaseDown',
        of: 'calls of that account, after two seconds',
        seen: 'all other calls are served',
        account: 'its refused calls cost nothing, a waiting settlement is charged once; others are not affected',
        tests: [
          [LOCKED, 'calls of other accounts are served meanwhile; its own wait, and are served once the row is free'],
          [
            LOCKED,
            'its calls fail after two seconds and may be retried, with nothing reserved or charged; other accounts are not affected',
          ],
          [
            LOCKED,
            'the end of its call waits in the journal, and is charged once; ends of other calls reach the database meanwhile',
          ],
        ],
      },
      {
        fault: 'another session holds locks on tables for long',
        seen: 'calls run; lists of the admin API wait, and further requests get 503 `overloaded`',
        account: 'no effect; housekeeping skips locked rows and retries',
        tests: [
          [
            'test/nodes/held-locks.test.ts',
            'do not stop a node from starting: housekeeping skips locked rows, logs it once, and delays nobody',
          ],
          [
            'test/nodes/held-locks.test.ts',
            'delay lists of the admin API and make further ones fail with 503, without effect on calls, balances and /readyz',
          ],
        ],
      },
      {
        fault: 'no notification reaches a node',
        error: 'invalidApiKey',
        seen: 'for a key that was revoked on another node, within five seconds; other calls run',
        account: 'no effect',
        tests: [
          [
            'test/nodes/revoked-keys.test.ts',
            'refuses a revoked key after four seconds without a heartbeat, and by notification before that',
          ],
        ],
      },
      {
        fault: 'the database is exported while calls run',
        seen: 'nothing',
        account: 'the copy has each account as of its last ledger entry, without calls in flight',
        tests: [['test/transfer/under-load.test.ts', 'contains a consistent state of each account, and no call fails']],
      },
    ],
  },
  {
    title: 'The gateway and its machine',
    faults: [
      {
        fault: 'the node is killed',
        seen: 'the connection is reset',
        account: 'nothing; the reservation is released within 30 seconds and the call is `unresolved`',
        tests: [
          [
            WHEN,
            'another node resolves them without effect on its own calls; without another node the next start does',
          ],
          [WHEN, 'on the local server: the next start resolves all kinds of calls before it serves'],
        ],
      },
      {
        fault: 'the node is killed while its database is down',
        seen: 'responses that were delivered before are complete',
        account: 'each success is charged once, from the journal, before the next start serves',
        tests: [
          [
            KILLED,
            'every success is charged once before the node serves, and none is unresolved, with the database down for the first start',
          ],
          [
            KILLED,
            'the next start of the first replaces the records and charges each success once; what was released of a plan stays so',
          ],
        ],
      },
      {
        fault: 'nodes are killed under load, with outages, black holes and locked rows of the database',
        seen: 'resets, or 500 and 503',
        account: 'at least every delivered response is charged; nothing stays reserved; the audit finds no breach',
        tests: [[CRASHES, 'killed at random moments under load, every success is charged once, and nothing else is']],
      },
      {
        fault: 'the power is cut',
        seen: 'the connection is reset',
        account: 'no acknowledged charge is lost: it is in the journal or in the database, which syncs each commit',
        tests: [
          [
            'test/settlement/power-cuts.test.ts',
            'loses no acknowledged charge and no admission of the journal, whatever it loses of what was not synced',
          ],
          [LOCAL, 'is in UTF-8 and UTC, with checksums, and syncs'],
        ],
      },
      {
        fault: 'the disk is full, or the journal cannot be written',
        error: 'journalUnwritable',
        of: 'new calls',
        seen: 'calls in flight finish',
        account: 'no acknowledged charge is lost',
        tests: [
          [
            FULL,
            'with the database there, new calls are refused, those in flight end well, and space lets calls in again',
          ],
          [
            FULL,
            'with the database down and ${room}, calls in flight end with an error and cost nothing, and what was promised is charged',
          ],
        ],
      },
      {
        fault: 'lines of a journal are damaged or truncated',
        seen: 'nothing',
        account: 'intact entries are charged once; the file is kept for the operator',
        tests: [
          [JOURNAL, 'never returns an altered entry, whichever bit flips, and keeps the file for an operator'],
          [JOURNAL, 'ignores a torn last line, wherever it is torn'],
        ],
      },
      {
        fault: 'the disk of the local server is full',
        seen: 'errors for writes, until there is space; no restart',
        account: 'no committed data is lost',
        tests: [
          [
            'test/db/local-server-root.test.ts',
            'a full disk fails only writes; committed data is kept, and writes succeed once there is space',
          ],
        ],
      },
      {
        fault: 'the local server or one of its processes exits',
        error: 'databaseDown',
        seen: 'until it has restarted automatically',
        account: 'as if the database was down for some seconds',
        tests: [
          [LOCAL_KILLED, 'the server: it is started again, and has all that was committed'],
          [LOCAL_KILLED, 'one of its processes: it recovers by itself'],
        ],
      },
      {
        fault: 'the gateway is killed, and its local server survives or exits too',
        seen: 'the connection is reset; the next start stops a surviving server, and starts its own',
        account: 'as if the node was killed',
        tests: [
          [LOCAL_KILLED, 'its owner: the next start stops it, does not adopt it, and has all that was committed'],
          [LOCAL_KILLED, 'both: the next start has all that was committed'],
          [CRASHES, 'on the local server: the gateway, its server, or both at once'],
        ],
      },
      {
        fault: 'a second process opens the data directory of a local server, possibly from another container',
        seen: 'nothing; the second process does not start',
        account: 'no effect: a data directory has one owner',
        tests: [
          [
            'test/db/data-dir.test.ts',
            'has one owner over all containers of a machine, which do not see the processes of each other',
          ],
          [
            'test/db/data-dir.test.ts',
            'is waited for, in words, if its owner is about to go, and taken when it was killed',
          ],
          [LOCAL_KILLED, 'its owner, in a container that lives on: another container refuses the directory'],
        ],
      },
      {
        fault: 'clocks of nodes differ',
        seen: 'the same windows and days on all nodes; `/readyz` reports the deviating node',
        account: 'the database clock decides',
        tests: [
          [
            'test/nodes/clocks.test.ts',
            'the window of a plan by ${planId} is the same on all of them, and a fast clock does not move it',
          ],
          ['test/nodes/clocks.test.ts', 'count charges in the same day, including at the end of calls'],
        ],
      },
      {
        fault: 'a worker of a gateway is killed',
        seen: 'the connection is reset; calls of other workers continue',
        account: 'its calls are `unresolved` and cost nothing; others are charged once',
        tests: [
          ['test/workers/workers.test.ts', 'keeps serving when one is killed, releases its calls, and replaces it'],
          ['test/workers/ends.test.ts', 'apply the journal of the killed worker that they replace'],
          [
            'test/workers/ends.test.ts',
            'finish their requests and exit if the primary is killed, or exit at once after its second signal',
          ],
        ],
      },
      {
        fault: 'a worker of a gateway hangs',
        seen: 'connections that this worker got wait; `/readyz` names the worker',
        account: 'as if it resumes, or as if it is killed',
        tests: [['test/workers/workers.test.ts', 'reports which worker hangs, and the metrics of the other one']],
      },
      {
        fault: 'a live node is considered dead',
        seen: 'the responses',
        account: 'each call is settled once, by the first node',
        tests: [
          [
            'test/nodes/dead-calls.test.ts',
            'end once, ${how}, through their node or another one that declared it dead, whichever comes first',
          ],
        ],
      },
      {
        fault: 'a start fails halfway',
        seen: 'the connection is refused',
        tests: [['test/settlement/half-start.test.ts', 'a start that fails half way ends the program']],
      },
    ],
  },
  {
    title: 'Providers',
    faults: [
      {
        fault: 'a provider refuses connections, and another route is healthy',
        seen: 'the response of the other route',
        account: 'charged once, for the route used',
        tests: [[FAILOVER, 'a provider that refuses the connection: another route is tried']],
      },
      {
        fault: 'all providers refuse connections',
        error: 'upstreamNotReached',
        tests: [[FAILOVER, 'connections refused on all routes are one 502 that may be retried']],
      },
      {
        fault: 'every route is out of service',
        error: 'noHealthyRoute',
        tests: [
          [
            'test/routing/breakers.test.ts',
            'if every route is out of service, calls are refused at once, reserve nothing and cost nothing',
          ],
        ],
      },
      {
        fault: 'the connection breaks after the call was sent',
        error: 'upstreamError',
        seen: 'the call may have run',
        tests: [[CONNECTIONS, 'a provider that ${what} the connection ${name}: ${outcome(stage, 502)}']],
      },
      {
        fault: 'no response within the limit',
        error: 'upstreamTimeout',
        tests: [[CONNECTIONS, 'a provider that stops responding ${name}: ${outcome(stage, 504)}']],
      },
      {
        fault: 'a provider refuses the call',
        seen: 'the provider’s status and message in our envelope; 502 with our message if the operator’s account is refused',
        tests: [
          [REFUSED, '7 a provider’s refusal has its status and its words, and on messages its type'],
          [
            REFUSED,
            '7 a provider that refuses the operator’s credential or account is 502 upstream_error, in the gateway’s words',
          ],
        ],
      },
      {
        fault: 'invalid JSON, HTML, an empty 200, a success without usage',
        error: 'upstreamInvalid',
        tests: [
          ['test/hostile/answers.test.ts', '${what}: a 502, and nothing is charged'],
          [
            'test/billing/missing-usage.test.ts',
            '${what} is refused by default, with a 502 that reports missing usage',
          ],
        ],
      },
      {
        fault: 'a provider fails or times out after the call was sent, and the model has `retry`',
        seen: 'the response of the further attempt',
        account: 'charged once, for the attempt that succeeded; you might pay the vendor for both',
        tests: [
          [SETTINGS, 'records both attempts, and what the lost one can have cost; the account is charged once'],
          [
            CHAOS_AGAIN,
            '${CALLS} calls: each is charged once, at the price of the model that served it, or not at all',
          ],
        ],
      },
      {
        fault: 'no route of a model serves a call, and the model, or the group of the account, has `fallbacks`',
        seen: 'the response of another model, which `x-faregate-model` names',
        account: 'charged once, within what was reserved',
        tests: [
          [SETTINGS, 'are charged at the price of the requested model if it says so, and tried in order'],
          [SETTINGS, 'the reservation covers the most expensive one'],
          [SETTINGS, 'of a group serve its accounts if the requested model says nothing about fallbacks'],
        ],
      },
      {
        fault: 'a provider is silent, and a proxy closes idle connections',
        seen: 'streams of models with `keepAlive` arrive; others, and non-streaming responses, are cut by the proxy',
        account: 'charged in full, because the provider continues',
        tests: [
          [
            'test/deploy/silent-provider.test.ts',
            'passes streams of both families completely, and cuts a whole response',
          ],
        ],
      },
      {
        fault: 'a stream breaks, stalls, or ends early',
        seen: 'an error event; then the connection closes',
        account: 'the output received so far',
        tests: [
          [RELAY, 'a connection that breaks ends the stream with an error event, and what was received is charged'],
          [CONNECTIONS, 'a provider that stops responding ${name}: ${outcome(stage, 504)}'],
        ],
      },
    ],
  },
  {
    title: 'Clients',
    faults: [
      {
        fault: 'a client disconnects before a non-streaming response',
        seen: 'nothing',
        account: 'charged in full, because the provider continues',
        tests: [
          [LEAVING, '${family.name}: a non-streaming response whose client has left is awaited and charged in full'],
        ],
      },
      {
        fault: 'a client disconnects during a stream',
        seen: 'nothing',
        account: 'the output received so far; before the first event, the input',
        tests: [
          [
            LEAVING,
            '${family.name}: a stream whose client leaves is cancelled at the provider, and what was received is charged',
          ],
          [ABORTS, 'before the first event that is awaited, then the call is cancelled and its input charged'],
        ],
      },
      {
        fault: 'a client disconnects before the call is admitted',
        seen: 'nothing',
        tests: [
          [
            LEAVING,
            '${family.name}, ${kind}: a client that leaves during admission is charged nothing, and the provider is not called',
          ],
        ],
      },
      {
        fault: 'a client repeats a call with its `Idempotency-Key`, on any node, after any of these faults',
        seen: 'the stored response of the first call, or a new call if none was stored',
        account: 'charged once',
        tests: [
          [
            'test/settlement/restart.test.ts',
            'a repeat that reaches the other one in time waits for the first, and does not run',
          ],
          [KILLED, 'a repeat on the other node, once the claim of the first has expired, runs and is charged'],
        ],
      },
    ],
  },
];
