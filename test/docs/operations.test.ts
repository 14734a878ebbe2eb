import assert from 'node:assert/strict';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseConfig } from '../../src/config/load.ts';
import { newSealingKey } from '../../src/config/sealed-secrets/sealing-keys.ts';
import { fillPostgresBooks, makeSqliteBooks } from '../fixtures/foreign-books/databases.ts';
import { type ServedHere, serveHere } from '../support/command.ts';
import { createBareDatabase } from '../support/database.ts';
import { placeLocal } from '../support/local-database.ts';
import { startProgram, temporaryDirectory } from '../support/process.ts';
import { json, type Respond, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { openShell, type Shell } from '../support/shell.ts';
import { until } from '../support/until.ts';
import { commandsOf } from './pages.ts';

/** Runs every command in docs/operations/, page by page, against a gateway with two providers, and checks what each page promises. */
const PAGES = fileURLToPath(new URL('../../docs/operations', import.meta.url));
const OLD_KEY = 'the-old-key-of-acme';
const NEW_KEY = 'the-new-key-of-acme';

describe('docs/operations', { timeout: 600_000 }, () => {
  const directory = temporaryDirectory();
  const inDirectory = (name: string): string => join(directory.path, name);
  const environment = {
    PORT: '0',
    FAREGATE_DATA_DIR: inDirectory('data'),
    FAREGATE_CONFIG: inDirectory('faregate.yaml'),
    FAREGATE_SECRETS_KEY: newSealingKey(),
  };
  /** The credentials that the provider acme accepts. */
  let accepted = [OLD_KEY];
  let acme: ScriptedProvider;
  let other: ScriptedProvider;
  let gateway: ServedHere;
  let opened: Shell;
  let url = '';
  let aliceKey = '';
  const tested = new Set<string>();

  async function startGateway(): Promise<void> {
    gateway = await serveHere([], environment);
    url = gateway.url;
  }

  const shell = async (script: string, variables: Record<string, string> = {}): Promise<string> =>
    (await opened.run(script, variables)).stdout;

  /** Returns the blocks of commands of a page in order. Writes the files that the page shows. */
  function scriptsOf(page: string): string[] {
    tested.add(`${page}.md`);
    const text = readFileSync(join(PAGES, `${page}.md`), 'utf8');
    for (const [, name, content] of text.matchAll(/^```csv (\S+)\n([\s\S]*?)^```$/gm)) {
      writeFileSync(inDirectory(name!), content!);
    }
    return commandsOf(`docs/operations/${page}.md`);
  }

  async function ask(key: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'acme-large', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] }),
    });
    await response.clone().arrayBuffer();
    return response;
  }
  const callIdOf = (response: Response): string => response.headers.get('x-faregate-call-id')!;

  before(async () => {
    opened = await openShell(directory.path, environment);
    placeLocal(environment.FAREGATE_DATA_DIR);
    mkdirSync(inDirectory('secrets'));
    writeFileSync(inDirectory('secrets/acme'), OLD_KEY);
    writeFileSync(inDirectory('secrets/other'), 'another-key');
    acme = await startProvider();
    other = await startProvider();
    acme.respond = (request, response) => {
      const [, credential] = String(request.headers.authorization).split(' ');
      const isAccepted = accepted.includes(credential!);
      const received: Respond = isAccepted ? RESPONSE : json(401, { error: { message: 'This key was withdrawn.' } });
      return received(request, response);
    };
    other.respond = RESPONSE;
    writeFileSync(environment.FAREGATE_CONFIG, configText(acme.url, other.url));
    await startGateway();
  });
  after(async () => {
    await gateway.stop();
    await acme.close();
    await other.close();
    await opened.close();
    directory.remove();
  });

  it('explains how the first operator signs in, while there is none', async () => {
    const [create] = scriptsOf('first-operator') as [string];
    const [, said] = /^ {2}faregate (.* --operator)$/m.exec(gateway.printed())!;
    // Here the environment contains the database URL; the gateway prints it in the command.
    assert.ok(said!.includes(`--config ${environment.FAREGATE_CONFIG}`), said);
    const typed = said!.replace('<name>', "'Li Na'").replace('<address>', 'na@people.example');
    const link = /^http:\S+#\/welcome\?token=[\w-]{43}$/m;
    assert.match(await shell(`(unset FAREGATE_CONFIG FAREGATE_DATA_DIR; npx faregate ${typed})`), link);
    assert.match(await shell(create), link);
  });

  it('opens accounts for a list of people, once', async () => {
    const [imported, later] = scriptsOf('accounts-from-csv') as [string, string];
    await shell(imported);
    assert.equal(statSync(inDirectory('keys.csv')).mode & 0o777, 0o600);
    const keys = readFileSync(inDirectory('keys.csv'), 'utf8');
    await shell(imported);
    assert.equal(readFileSync(inDirectory('keys.csv'), 'utf8'), keys);
    await shell(later);
    const accounts = JSON.parse(await shell('npx faregate account list --json')) as {
      name: string;
      balanceYuan: string;
    }[];
    assert.deepEqual(accounts.map(({ name, balanceYuan }) => [name, balanceYuan]).toSorted(), [
      ['alice', '50'],
      ['bob', '50'],
      ['carol', '20'],
      ['dave', '20'],
    ]);
    aliceKey = /^.*alice.*(sk-fg-\w+).*$/m.exec(keys)![1]!;
    assert.equal((await ask(aliceKey)).status, 200);
  });

  it('imports from other gateways, whose keys keep working', async () => {
    makeSqliteBooks('one-api-0.6.10', inDirectory('one-api.db'));
    await using litellm = await createBareDatabase();
    await fillPostgresBooks('litellm-1.108.7', litellm.url);
    const scripts = scriptsOf('moving-in').map((script) =>
      script.replaceAll('postgres://litellm@db.example/litellm', litellm.url),
    );
    const [planned, done] = scripts as [string, string];
    const accountsOf = async (): Promise<number> => JSON.parse(await shell('npx faregate account list --json')).length;
    const before = await accountsOf();
    assert.equal((await shell(planned)).match(/Nothing was created: add --apply/g)!.length, 2);
    assert.equal(await accountsOf(), before);
    assert.doesNotMatch(await shell(done), /BROKEN/);
    assert.equal(await accountsOf(), before + 15);
    assert.equal((await ask('sk-lin-laptop-1c2d3e4f')).status, 200);
  });

  it('finds the account with the highest spending, and limits its key', async () => {
    const bobKey = /^.*bob.*(sk-fg-\w+).*$/m.exec(readFileSync(inDirectory('keys.csv'), 'utf8'))![1]!;
    for (const key of [bobKey, aliceKey, aliceKey]) assert.equal((await ask(key)).status, 200);
    const [top, ...others] = scriptsOf('top-spender') as [string, ...string[]];
    let lines: string[] = [];
    // Sums are calculated in the background, some seconds after the calls.
    await until(async () => {
      lines = (await shell(top)).split('\n');
      return lines.filter((line) => /alice|bob/.test(line)).length === 2;
    });
    assert.match(lines[1]!, /alice/);
    assert.match(lines[2]!, /bob/);
    for (const script of others) assert.notEqual(await shell(script), '');
    assert.match(await shell('npx faregate key list alice'), /¥5 a day/);
  });

  it('refunds a charge, once', async () => {
    const call = callIdOf(await ask(aliceKey));
    const [refund, ...others] = scriptsOf('refund') as [string, ...string[]];
    assert.match(await shell(refund, { CALL: call }), /refund +0\.001 /);
    assert.match(await shell(refund, { CALL: call }), /refund +0\.001 /);
    for (const script of others) await shell(script, { CALL: call });
    const record = JSON.parse(await shell(`npx faregate calls --account alice --json`)) as {
      id: string;
      refundedYuan: string;
    }[];
    assert.equal(record.find(({ id }) => id === call)!.refundedYuan, '0.001');
  });

  it('adds money, corrects a balance, and caps a day', async () => {
    const [script] = scriptsOf('money') as [string];
    const printed = await shell(script);
    assert.match(printed, /adjustment +-2\.5 .*entered twice/);
    assert.match(printed, /top_up +5 .*bank transfer of 3 November/);
    assert.match(printed, /^daily cap +¥20$/m);
  });

  it('renames a key and replaces it; the old one stays valid for the chosen time', async () => {
    const [script] = scriptsOf('keys') as [string];
    const bobKey = /^.*bob.*(sk-fg-\w+).*$/m.exec(readFileSync(inDirectory('keys.csv'), 'utf8'))![1]!;
    const printed = await shell(script);
    const made = /^sk-fg-\w+$/m.exec(printed)![0];
    assert.equal(printed.match(/^key_\w+ +build server /gm)!.length, 2);
    for (const key of [made, bobKey]) assert.equal((await ask(key)).status, 200);
  });

  it('grants a plan, renews it and cancels it', async () => {
    const [grant, renew, cancel] = scriptsOf('plans') as [string, string, string];
    const granted = await shell(grant);
    assert.match(granted, /Coding Pro/);
    const SUB = /sub_\w+/.exec(granted)![0];
    await shell(renew, { SUB });
    await shell(cancel, { SUB });
    assert.match(await shell('npx faregate plan show carol'), new RegExp(`${SUB} .*canceled`));
  });

  it('creates vouchers, redeems one, and revokes the others', async () => {
    const [create, redeem, cancel] = scriptsOf('vouchers') as [string, string, string];
    const listed = await shell(create);
    await shell(redeem);
    await shell(cancel, { BATCH: /vb_\w+/.exec(listed)![0] });
    assert.match(await shell('npx faregate voucher list'), /spring fair +¥10 +1 of 20 /);
    assert.match(await shell('npx faregate account show carol'), /top_up +10 +30 /);
  });

  it('announces maintenance, changes the announcement and deletes it', async () => {
    const [create, change] = scriptsOf('announcements') as [string, string];
    const listed = await shell(create);
    assert.match(listed, /Maintenance on Sunday/);
    await shell(change, { ANNOUNCEMENT: /ann_\w+/.exec(listed)![0] });
    assert.match(await shell('npx faregate announcement list'), /There are no announcements/);
  });

  it('checks name and logo with the configuration', async () => {
    const [check] = scriptsOf('branding') as [string];
    const file = readFileSync(environment.FAREGATE_CONFIG, 'utf8');
    const settings = /^branding:\n[\s\S]*?pricing: true$/m.exec(readFileSync(join(PAGES, 'branding.md'), 'utf8'))![0];
    const branded = `${file}\n${settings.replace('./logo.svg', inDirectory('logo.svg'))}\n`;
    writeFileSync(inDirectory('branded.yaml'), branded);
    const script = `FAREGATE_CONFIG=${inDirectory('branded.yaml')} ${check.trim()} || true`;
    const { stderr } = await opened.run(script);
    assert.match(stderr, /branding\.logo: Expected the path of a readable PNG or SVG file/);
    writeFileSync(inDirectory('logo.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
    assert.doesNotMatch(await shell(script), /branding/);
  });

  it('notifies a program of routes and balances', async () => {
    const [script] = scriptsOf('notices') as [string];
    const printed = await shell(script);
    assert.match(printed, /whsec_/);
    assert.match(printed, /https:\/\/receiver\.example\/hook/);
    assert.match(printed, /10/);
  });

  it('audits the ledger', async () => {
    const [script] = scriptsOf('audit') as [string];
    assert.doesNotMatch(await shell(script), /BROKEN/);
  });

  it('checks a configuration, and shows the one in use', async () => {
    const [check, show, reload] = scriptsOf('configuration') as [string, string, string];
    assert.match(await shell(check), /is valid/);
    assert.match(await shell(show), /^ {2}acme-large:$/m);
    assert.match(await shell(reload), /is in force/);
  });

  it('moves the catalog to the database, changes it there, and moves it back', async () => {
    const [move, push, history, schedule, draft, back] = scriptsOf('catalog') as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const restart = async (): Promise<void> => {
      await gateway.stop();
      await startGateway();
    };
    const first = Number(/is revision (\d+) of/.exec(await shell(move))![1]);
    await restart();
    assert.equal((await ask(aliceKey)).status, 200);
    assert.match(await shell(push), /^acme-large: output ¥16 → ¥14$/m);
    // The page has the numbers of a new installation, whose file was recorded once.
    const printed = await shell(history.replaceAll(' 2', ` ${first}`));
    assert.match(printed, /^acme-large: output ¥16 → ¥14$/m);
    assert.match(printed, /^acme-large: output ¥14 → ¥16$/m);
    assert.match(await shell(schedule.replace(' 5', ` ${first + 3}`)), /^Canceled revision/m);
    const decided = await shell(draft.replace(' 6', ` ${first + 4}`));
    assert.match(decided, /^Draft \d+\. /m);
    assert.match(decided, /^Revision \d+, in force from .*\nacme-large: output ¥16 → ¥14$/m);
    // Later pages have the first price.
    await shell(`npx faregate catalog rollback ${first}`);
    assert.match(await shell(back), /contains the catalog of revision/);
    await restart();
    assert.equal((await ask(aliceKey)).status, 200);
  });

  it('creates a statement whose totals add up', async () => {
    const [script] = scriptsOf('monthly-statement') as [string];
    const printed = await shell(script);
    assert.match(printed, /refund/);
    const csv = readFileSync(inDirectory('alice.csv'), 'utf8');
    assert.match(csv, /^refund,.*,0\.001,.*half of the response was missing,\r\n/m);
    assert.match(csv, /^closing,/m);
  });

  it('tops up with a reference, and lists requests for invoices', async () => {
    const [topUp, list] = scriptsOf('invoices') as [string, string];
    assert.match(await shell(topUp), /bank transfer 2026-0042/);
    assert.match(await shell(list), /There are no such requests/);
  });

  it('rotates a key without a failed call', async () => {
    const [exchange, tryIt] = scriptsOf('rotate-a-provider-key') as [string, string];
    accepted = [OLD_KEY, NEW_KEY];
    let isOver = false;
    const statuses = new Set<number>();
    const load = (async () => {
      while (!isOver) statuses.add((await ask(aliceKey)).status);
    })();
    await shell(exchange, { NEW_KEY });
    assert.match(await shell(tryIt), /acme/);
    accepted = [NEW_KEY];
    await until(() => acme.requests.at(-1)?.headers.authorization === `Bearer ${NEW_KEY}`);
    isOver = true;
    await load;
    assert.deepEqual([...statuses], [200]);
    assert.equal(other.requests.length, 0);
  });

  it('drains a provider and resumes it', async () => {
    const [drain, resume] = scriptsOf('drain-a-route') as [string, string];
    assert.match(await shell(drain), /maintenance until 18:00/);
    const before = acme.requests.length;
    assert.equal((await ask(aliceKey)).status, 200);
    assert.deepEqual([acme.requests.length, other.requests.length], [before, 1]);
    await shell(resume);
    assert.equal((await ask(aliceKey)).status, 200);
    assert.deepEqual([acme.requests.length, other.requests.length], [before + 1, 1]);
  });

  it('finds a served request and a refused one by id', async () => {
    const [find, list] = scriptsOf('complaint-by-request-id') as [string, string];
    const served = await ask(aliceKey, { 'x-request-id': 'the-id-of-the-client' });
    assert.equal(served.status, 200);
    for (const id of [served.headers.get('x-request-id')!, 'the-id-of-the-client']) {
      assert.match(await shell(find, { REQUEST: id }), new RegExp(callIdOf(served)));
    }
    const refused = await ask(`${aliceKey}x`);
    assert.equal(refused.status, 401);
    const suspended = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${aliceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'no-such-model', messages: [] }),
    });
    await suspended.arrayBuffer();
    // It is written in the background.
    const id = suspended.headers.get('x-request-id')!;
    await until(async () => /model_not_found|404/.test(await shell(find, { REQUEST: id })));
    assert.match(await shell(list), /no-such-model/);
  });

  it('settles a call of a dead node manually', async () => {
    const [list, resolve, audit] = scriptsOf('unresolved-call') as [string, string, string];
    await gateway.stop();
    const mortal = startProgram(['serve'], { environment, directory: directory.path });
    url = /^listening on (.*)$/m.exec(await mortal.printed(/^listening on .*$/m))![1]!;
    const moneyOf = async (): Promise<{ heldYuan: string; balanceYuan: string }> =>
      JSON.parse(await shell('npx faregate account show alice --json'));
    const { balanceYuan } = await moneyOf();
    const count = acme.requests.length;
    acme.respond = () => undefined;
    const broken = ask(aliceKey).catch(() => null);
    await acme.received(count + 1);
    assert.notEqual((await moneyOf()).heldYuan, '0');
    mortal.child.kill('SIGKILL');
    await mortal.finished;
    await broken;
    acme.respond = RESPONSE;
    await startGateway();
    const released = await moneyOf();
    assert.deepEqual([released.heldYuan, released.balanceYuan], ['0', balanceYuan]);
    let call: string | undefined;
    await until(async () => {
      call = /call_\w+/.exec(await shell(list))?.[0];
      return call !== undefined;
    });
    assert.match(await shell(resolve, { CALL: call! }), /0\.001/);
    assert.doesNotMatch(await shell(audit), /BROKEN/);
  });

  it('puts an account into a group, and limits its models', async () => {
    const [join, limit] = scriptsOf('groups') as [string, string];
    assert.match(await shell(join), /^resellers +Resellers +1 +80% +acme-large +acme-large +acme +/m);
    await (await ask(aliceKey)).arrayBuffer();
    const [newest] = JSON.parse(await shell('npx faregate calls --account alice --limit 1 --json'));
    assert.equal(newest.priceFactorBasisPoints, 8_000);
    assert.equal(newest.price.inputYuanPerMillion, '3');
    const printed = await shell(limit);
    assert.match(printed, /^models +acme-large$/m);
    assert.match(printed, /^group +none$/m);
  });

  it('suspends an account, resumes it, and revokes a leaked key', async () => {
    const [suspend, resume, leaked] = scriptsOf('suspend-an-account') as [string, string, string];
    assert.match(await shell(suspend), /chargeback of 3 November/);
    assert.equal((await ask(aliceKey)).status, 401);
    await shell(resume);
    assert.equal((await ask(aliceKey)).status, 200);
    writeFileSync(inDirectory('leaked-key.txt'), `${aliceKey}\n`);
    assert.match(await shell(leaked), /alice/);
    assert.equal((await ask(aliceKey)).status, 401);
  });

  it('shows who changed what', async () => {
    const [list, narrower] = scriptsOf('who-changed-this') as [string, string];
    const user = userInfo().username;
    const listed = await shell(list);
    assert.match(
      listed,
      new RegExp(
        `${user}, command line +\\S+ +suspended account “alice”.* status: "active" → "suspended".* accounts\\.change`,
      ),
    );
    assert.match(listed, /keys\.delete/);
    assert.match(await shell(narrower), /keys\.delete[\s\S]*accounts\.change[\s\S]*"localUser"/);
    assert.ok(!(await shell('npx faregate changes --json --limit 500')).includes(aliceKey));
  });

  it('creates tokens for machines and auditors, and revokes them', async () => {
    const [create, revoke, confirm, keep, exporting] = scriptsOf('tokens') as [string, string, string, string, string];
    const [grafana, deploy] = [...(await shell(create)).matchAll(/^fg_admin_\w{38}$/gm)].map(([token]) => token);
    const statusOf = async (path: string, token: string) =>
      (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status;
    assert.equal(await statusOf('/metrics', grafana!), 200);
    const asDeploy = { FAREGATE_ADMIN_TOKEN: deploy! };
    assert.match(await shell(`npx faregate --gateway ${url} account list`, asDeploy), /alice/);
    await shell(revoke);
    assert.equal(await statusOf('/metrics', grafana!), 401);
    const made = await shell(`npx faregate --gateway ${url} user create "Ren Jie" --json`, asDeploy);
    const PERSON: string = JSON.parse(made).id;
    const shown = await shell(confirm, { PERSON });
    assert.match(shown, /suspended with +the token tok_\w+, unless confirmed/);
    assert.doesNotMatch(shown.slice(shown.lastIndexOf(PERSON)), /suspended with/);
    await shell(keep);
    assert.match(await shell('npx faregate user show "$PERSON"', { PERSON }), /has no password yet/);
    const [backups] = (await shell(exporting)).match(/^fg_admin_\w{38}$/m)!;
    const file = inDirectory('elsewhere.jsonl.gz');
    await shell(`npx faregate --gateway ${url} db export ${file}`, { FAREGATE_ADMIN_TOKEN: backups! });
    assert.ok(existsSync(file));
    assert.equal(await statusOf('/admin/v1/accounts', backups!), 403);
  });

  it('lets people sign in to accounts, and removes their access', async () => {
    const [create, add, reset, end] = scriptsOf('people') as [string, string, string, string];
    const link = /^http:\S+#\/welcome\?token=[\w-]{43}$/m;
    assert.match(await shell(create), link);
    const shown = await shell(add);
    assert.match(shown, /^owner +alice \(acct_\w+\)$/m);
    assert.match(shown, /^usr_\w+ +Lin Wei +lin@people\.example +member +active /m);
    assert.match(await shell(reset), link);
    assert.match(await shell(end), /^status +suspended$/m);
  });

  it('applies retention, and audits the ledger', async () => {
    const [audit] = scriptsOf('retention') as [string];
    const [, section] = /^```yaml\n([\s\S]*?)^```$/m.exec(readFileSync(join(PAGES, 'retention.md'), 'utf8'))!;
    const { retention } = parseConfig(section!, 'retention.yaml', {});
    assert.deepEqual(
      Object.values(retention).map((ms) => Number(ms) / 86_400_000),
      [400, 30, 400, 30, 100],
    );
    assert.match(await shell(audit), /for months whose call records were dropped, the stored sums equal the charges/);
  });

  it('shows how fast routes respond', async () => {
    const [latency] = scriptsOf('latency') as [string];
    assert.match(await shell(latency), /acme-large/);
  });

  it('explains what to do in an incident', async () => {
    const [begin, down, well, database, disk, killed, record, wrong, leaked, stuck, flood] = scriptsOf('incidents');
    assert.match(await shell(begin!), /^ok +database/m);
    assert.match(await shell(down!), /Drained acme/);
    assert.match(await shell('npx faregate route list'), /outage at the vendor/);
    await shell(well!);
    assert.doesNotMatch(await shell('npx faregate route list'), /outage at the vendor/);
    for (const script of [database!, killed!]) assert.doesNotMatch(await shell(script), /BROKEN/);
    assert.match(await shell(disk!), /^ok +disk/m);
    const bobKey = /^.*bob.*(sk-fg-\w+).*$/m.exec(readFileSync(inDirectory('keys.csv'), 'utf8'))![1]!;
    const charged = await ask(bobKey);
    const CALL = callIdOf(charged);
    const variables = { CALL, REQUEST: charged.headers.get('x-request-id')! };
    assert.match(await shell(record!, variables), /"chargeYuan": "0.012"/);
    assert.match(await shell(record!, variables), /"refundedYuan": "0.012"/);
    assert.match(await shell(wrong!), /Corrected by -0\.25 yuan/);
    const key = /^sk-fg-\w+$/m.exec(await shell('npx faregate key create alice'))![0];
    writeFileSync(inDirectory('leaked-key.txt'), `${key}\n`);
    assert.match(await shell(leaked!), /keys\.delete/);
    assert.equal((await ask(key)).status, 401);
    assert.match(await shell(stuck!), /^daily cap /m);
    assert.match(await shell(flood!), /invalid_api_key/);
    const [, section] = /^```yaml\n([\s\S]*?)^```$/m.exec(readFileSync(join(PAGES, 'incidents.md'), 'utf8'))!;
    assert.equal(parseConfig(section!, 'incidents.yaml', {}).server.connectionsPerAddress, 200);
  });

  it('names existing alerts, metrics and log messages', () => {
    const page = ['incidents', 'scaling'].map((name) => readFileSync(join(PAGES, `${name}.md`), 'utf8')).join('\n');
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const alerts = readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8');
    for (const [name] of page.matchAll(/\bFaregate[A-Z]\w+/g)) assert.ok(alerts.includes(`alert: ${name}\n`), name);
    const metrics = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
    for (const [, name] of page.matchAll(/`(faregate_\w+)`/g)) assert.ok(metrics.includes(`| \`${name}\` |`), name);
    const lines = [...page.matchAll(/^\| log.*/gm), ...page.matchAll(/log: .*/g)].flatMap(([row]) =>
      [...row.matchAll(/`([^`"]+ [^`"]+)`/g)].map(([, line]) => line!),
    );
    assert.ok(lines.length >= 6, String(lines.length));
    const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));
    for (const line of lines)
      assert.ok(
        sources.some((source) => source.includes(`'${line}'`)),
        line,
      );
  });

  it('rotates the secrets of programs and receivers', async () => {
    const [token, revoke, endpoint, changes] = scriptsOf('secrets') as [string, string, string, string];
    await shell('npx faregate token create prometheus');
    assert.match(await shell(token), /^fg_admin_\w{38}$/m);
    await shell(revoke);
    const ENDPOINT = /whk_\w+/.exec(await shell('npx faregate webhook list'))![0];
    await shell(endpoint, { ENDPOINT });
    const listed = await shell('npx faregate webhook list');
    assert.match(listed, /hook-2/);
    assert.ok(!listed.includes(ENDPOINT));
    assert.match(await shell(changes), /prometheus/);
  });

  it('keeps credentials of providers in the database', async () => {
    const [create, set, remove, rotate] = scriptsOf('sealed-secrets') as [string, string, string, string];
    assert.match(await shell(create), /^[\w+/]{43}=\n$/);
    const listed = await shell(set, { NEW_KEY });
    assert.match(listed, /^acme .* current$/m);
    assert.ok(!listed.includes(NEW_KEY));
    await shell("printf '%s' a-key | npx faregate secret set unused");
    assert.equal(await shell(remove), 'Deleted unused.\n');
    assert.match(await shell(rotate), /^Secrets that were sealed with another key: 0\.$/m);
  });

  it('explains what to check before adding gateways', async () => {
    const [look] = scriptsOf('scaling') as [string];
    assert.match(await shell(look), /^ok +database/m);
  });

  it('upgrades to a new version, and goes back', async () => {
    const [copy, migrate, prove, back, save] = scriptsOf('upgrade') as [string, string, string, string, string];
    placeLocal(inDirectory('before'));
    assert.match(await shell(copy), /Exported/);
    assert.match(await shell(save), /^$/);
    assert.match(readFileSync(inDirectory('after-upgrade.csv'), 'utf8'), /account/);
    await gateway.stop();
    assert.match(await shell(migrate), /is valid/);
    await startGateway();
    const proved = await shell(prove);
    assert.match(proved, /^ok +database/m);
    assert.doesNotMatch(proved, /BROKEN/);
    const restored = await shell(back);
    assert.match(restored, /Imported/);
    assert.doesNotMatch(restored, /BROKEN/);
  });

  it('adds partitions for accounts', async () => {
    const [add] = scriptsOf('partitions') as [string];
    const [, section] = /^```yaml\n([\s\S]*?)^```$/m.exec(readFileSync(join(PAGES, 'partitions.md'), 'utf8'))!;
    assert.equal(parseConfig(section!, 'partitions.yaml', {}).database.partitions, 4);
    // There were operators before it began.
    assert.doesNotMatch(await gateway.stop(), /--operator/);
    const said = await shell(add);
    assert.match(said, /^added partition 3$/m);
    assert.match(said, /^ +3 +faregate_03 +ready +0 /m);
    assert.match(said, /4, each responds/);
    await startGateway();
    for (const name of ['erin', 'frank', 'grace']) await shell(`npx faregate account create ${name}`);
    await gateway.stop();
    assert.match(await shell('npx faregate db partitions'), /^ +3 +faregate_03 +ready +1 /m);
  });

  it('uses the console’s own labels', () => {
    const folder = fileURLToPath(new URL('../../console/src', import.meta.url));
    const words = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('texts.ts') || name === join('app', 'pages.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('\n');
    for (const page of tested) {
      const place = readFileSync(join(PAGES, page), 'utf8').trimEnd().split('\n\n').at(-1)!;
      assert.match(place, /console/, page);
      for (const [, word] of place.matchAll(/\*\*(.+?)\*\*/g))
        assert.ok(words.includes(`'${word}'`), `${page}: ${word}`);
    }
  });

  it('has only tested pages', () => {
    const pages = readdirSync(PAGES).filter((name) => name !== 'README.md');
    assert.deepEqual([...tested].toSorted(), pages.toSorted());
    const index = readFileSync(join(PAGES, 'README.md'), 'utf8');
    for (const page of pages) assert.ok(index.includes(`](${page})`), `${page} is not in the index`);
  });
});

/** 1,000 tokens in, 500 out: ¥0.012. */
const RESPONSE = json(200, {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
});

/** As on the page, which shows it in several lines. */
const GROUPS = /^groups:\n((?: .*\n)+)/m.exec(readFileSync(join(PAGES, 'groups.md'), 'utf8'))![1]!;

function configText(acmeUrl: string, otherUrl: string): string {
  return `
providers:
  acme: { protocol: chat, baseUrl: "${acmeUrl}/v1", apiKey: { file: secrets/acme } }
  other: { protocol: chat, baseUrl: "${otherUrl}/v1", apiKey: { file: secrets/other } }
models:
  acme-large:
    aliases: [gpt-4o, gpt-4o-mini]
    operations: [chat]
    contextLength: "200000"
    price: { input: "4", output: "16" }
    routes:
      - { provider: acme, model: acme-large-2026-10, priority: 0 }
      - { provider: other, model: large, priority: 1 }
groups:
${GROUPS}plans:
  coding-pro: { name: Coding Pro, fiveHourCalls: 600, weeklyCalls: 5000, concurrency: 4, quotaTokens: 200000000, periodDays: 30, models: [acme-large], inputByteLimit: 4MiB, outputTokenLimit: 32000 }
`;
}
