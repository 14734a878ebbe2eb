import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Command } from 'commander';
import { AdminClientError } from '../api/management/admin-client-error.ts';
import { addCommands, type CommandRow, type CommandRows } from './command-rows.ts';
import { neededCommands } from './commands/all.ts';
import { inOptionNames, namesOf, optionOf } from './option-names.ts';

interface Sending {
  readonly name: string;
  readonly row: CommandRow;
  readonly command: Command;
}

/** Commands that send a body, with their parsed options. */
async function sendingCommands(): Promise<Sending[]> {
  const loaded = await Promise.all(neededCommands([]).map((load) => load()));
  const program = new Command();
  const process = { environment: {}, writeOut: () => undefined, writeError: () => undefined };
  for (const rows of loaded) addCommands(program, rows, process, () => undefined);
  const below = (rows: CommandRows, parent: Command): Sending[] =>
    Object.entries(rows).flatMap(([usage, row]) => {
      const command = parent.commands.find((each) => each.name() === usage.split(' ')[0])!;
      const name = `${parent.name()} ${command.name()}`.trim();
      return [{ name, row, command }, ...below(row.rows ?? {}, command)];
    });
  return loaded.flatMap((rows) => below(rows, program)).filter(({ row }) => 'sends' in row && row.body !== undefined);
}

/** Texts of which the parser of each option accepts one. Numbers differ, so that each option has a value of its own. */
const texts = (index: number): string[] => [
  `${index}`,
  `${index}/day`,
  'address,program',
  `model-${index}=${index}/day`,
  `model-${index}:requests=${index}`,
  `name-${index}`,
  `${index}h`,
  'yes',
];

function sampleOf(option: Command['options'][number], index: number): unknown {
  if (!option.required && !option.optional) return true;
  if (option.argChoices !== undefined) return option.argChoices.at(-1);
  const { parseArg } = option;
  if (parseArg === undefined) return `${index}`;
  for (const text of texts(index)) {
    try {
      return parseArg(text, undefined as never);
    } catch {}
  }
  throw new Error(`no sample for ${option.flags}`);
}

describe('errors of requests', () => {
  it('name the option or argument of every command that sends it', async () => {
    let checked = 0;
    for (const { name, row, command } of await sendingCommands()) {
      assert.ok('sends' in row);
      const names = namesOf(command);
      const samples = command.options.map(
        (option, index) => [option.attributeName(), sampleOf(option, index + 101)] as const,
      );
      const given = Object.fromEntries([
        ...command.registeredArguments.map((argument, index) => [argument.name(), `argument-${index}`]),
        ...samples.filter(([option]) => command.options.find((each) => each.attributeName() === option)!.mandatory),
      ]);
      for (const [option, value] of [...samples, ...Object.entries(given)]) {
        const values = { ...given, [option]: value };
        const sent = sentBy(row, values);
        const rest = sentBy(row, { ...values, [option]: undefined });
        if (sent === null || rest === null) continue;
        // Only members whose value comes from this option.
        for (const member of Object.keys(sent)) {
          if (sent[member] === undefined || JSON.stringify(sent[member]) === JSON.stringify(rest[member])) continue;
          const found = optionOf(member, sent, values, names);
          // A switch, such as --operator, chooses between words of the API, which are valid.
          if (value === true && sent[member] !== true) continue;
          assert.equal(found, names.get(option), `${name}: ${member}`);
          checked++;
        }
      }
    }
    assert.ok(checked > 60, String(checked));
  });

  const names = new Map([
    ['amount', '--amount'],
    ['budget', '--budget'],
    ['dailySpend', '--daily-spend'],
    ['role', '--role'],
  ]);
  const inNames = (message: string, param: string | null, body: object, given: object) =>
    inOptionNames(new AdminClientError(message, { param, status: 400 }), { path: '/x', body }, { ...given }, names);

  it('keep their text, status and parameter', () => {
    const error = inNames('amountYuan: Expected a decimal.', 'amountYuan', { amountYuan: 'x' }, { amount: 'x' });
    const { message, param, option, status } = error;
    assert.deepEqual(
      [message, param, option, status],
      ['--amount: Expected a decimal.', 'amountYuan', '--amount', 400],
    );
    const sentence = inNames('The balance would exceed the maximum.', 'amountYuan', {}, {});
    assert.equal(sentence.message, '--amount: The balance would exceed the maximum.');
  });

  it('name the option that has the value, if several can have the member', () => {
    const body = { dailySpendCapYuan: '5x' };
    const said = (given: object) => inNames('dailySpendCapYuan: Expected.', 'dailySpendCapYuan', body, given).message;
    assert.equal(said({ budget: { dailySpendCapYuan: '5x' } }), '--budget: Expected.');
    assert.equal(said({ dailySpend: '5x' }), '--daily-spend: Expected.');
  });

  it('find members of members, and members of the query', () => {
    assert.equal(inNames('memberships.0.role: Expected.', 'memberships.0.role', {}, {}).option, '--role');
    const error = new AdminClientError('inForceAt: Expected.', { param: 'inForceAt' });
    const named = inOptionNames(error, { path: '/x?inForceAt=soon' }, { at: 'soon' }, new Map([['at', '--at']]));
    assert.equal(named.message, '--at: Expected.');
  });

  it('stay as they are if no option has the member', () => {
    assert.equal(inNames('cursor: Expected.', 'cursor', {}, {}).message, 'cursor: Expected.');
    assert.equal(inNames('The gateway responded with status 500.', null, {}, {}).option, null);
  });
});

/** Returns the body of a request; `null` if the command refuses the options. */
function sentBy(row: CommandRow, given: Readonly<Record<string, unknown>>): Record<string, unknown> | null {
  assert.ok('sends' in row);
  const process = { environment: {}, writeOut: () => undefined, writeError: () => undefined };
  if (typeof row.body !== 'function') {
    const members = (row.body ?? [])
      .map((text) => text.split(': '))
      .map(([member, name = member]) => [member, given[name!]]);
    return Object.fromEntries(members);
  }
  try {
    return { ...row.body(given, process) };
  } catch {
    return null;
  }
}
