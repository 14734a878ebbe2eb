import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/command.ts';
import { temporaryDirectory } from '../support/process.ts';

const directory = temporaryDirectory();
after(() => directory.remove());

/** Words of a command line up to the cursor, and what can follow; the last word may be a beginning. */
const CASES: readonly (readonly [line: readonly string[], contained: readonly string[], absent: readonly string[]])[] =
  [
    [['acc'], ['account'], ['audit']],
    [
      ['account', ''],
      ['create', 'member', 'top-up'],
      ['account', '--email'],
    ],
    [['account', 'create', 'x', '--'], ['--email', '--verified', '--config', '--json', '--help'], ['--role']],
    [['account', 'member', 'add', 'alice', 'bob', '--role', ''], ['owner', 'member'], ['operator']],
    [['--config', 'account', 'user', 'role', 'lin', ''], ['operator', 'auditor', 'none'], ['owner']],
    [['calls', '--status', 'in'], ['in_flight'], ['succeeded']],
    [['calls', 're'], ['resolve', 'refund'], ['refusals']],
    [['key', 'set', 'key_1', '--bu'], ['--budget'], ['--by']],
    [['completion', ''], ['bash', 'zsh', 'fish', 'powershell'], []],
  ];

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

describe('completion', () => {
  const files: Record<string, string> = {};
  before(async () => {
    for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
      const { code, stdout, stderr } = await runCommand(['completion', shell], {});
      assert.deepEqual([code, stderr], [0, '']);
      files[shell] = join(directory.path, `faregate.${shell}`);
      writeFileSync(files[shell], stdout);
    }
  });

  function check(complete: (line: readonly string[]) => readonly string[]): void {
    for (const [line, contained, absent] of CASES) {
      const found = complete(line);
      for (const word of contained)
        assert.ok(found.includes(word), `${line.join(' ')}: no ${word} in ${found.join(' ')}`);
      for (const word of absent) assert.ok(!found.includes(word), `${line.join(' ')}: ${word}`);
    }
  }

  it('works in bash', { skip: !has('bash') }, () => {
    const script = `source "$0"; COMP_WORDS=(faregate "$@"); COMP_CWORD=$#; _faregate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    check((line) => execFileSync('bash', ['-c', script, files.bash!, ...line], { encoding: 'utf8' }).split('\n'));
  });

  it('works in fish', { skip: !has('fish') }, () => {
    const complete = (line: readonly string[]): string[] => {
      const script = `source ${files.fish}; complete -C "faregate ${line.join(' ')}"`;
      return execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8' })
        .split('\n')
        .map((candidate) => candidate.split('\t')[0]!);
    };
    check(complete);
  });

  it('works in zsh', { skip: !has('zsh') }, () => {
    // Stands in for the functions of the completion system, which only run in an interactive shell.
    const script = `
      compdef() { : }
      compadd() { shift; print -l -- "$@" }
      _files() { : }
      _describe() { [[ $1 == -o ]] && shift; print -l -- "\${(@)\${(P)2}%%:*}" }
      source "$1"; shift
      words=(faregate "$@"); CURRENT=$#words
      _faregate`;
    const complete = (line: readonly string[]): string[] =>
      execFileSync('zsh', ['-f', '-c', script, 'zsh', files.zsh!, ...line], { encoding: 'utf8' })
        .split('\n')
        .filter((word) => word.startsWith(line.at(-1)!));
    check(complete);
  });

  it('is a script for PowerShell that has all words and quotes its texts', async () => {
    const { stdout } = await runCommand(['completion', 'powershell'], {});
    assert.match(stdout, /^Register-ArgumentCompleter -Native -CommandName faregate -ScriptBlock \{$/m);
    assert.match(stdout, /^ {4}'user role #1' = @\('operator', 'auditor', 'none'\)$/m);
    for (const line of stdout.split('\n')) assert.equal(line.split("'").length % 2, 1, line);
  });

  it('names the known shells if another one is asked for', async () => {
    const { code, stderr } = await runCommand(['completion', 'tcsh'], {});
    assert.equal(code, 2);
    assert.match(stderr, /Allowed choices are bash, zsh, fish, powershell/);
  });
});
