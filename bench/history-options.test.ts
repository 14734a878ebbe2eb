import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseHistoryOptions } from './history-options.ts';
import { commitOf, REPOSITORY } from './revisions.ts';

const parse = (...args: string[]): ReturnType<typeof parseHistoryOptions> => parseHistoryOptions(args, REPOSITORY);

describe('history options', () => {
  it('reads revisions, scenarios and durations', () => {
    const { revisions, scenarios, duration, isJson } = parse(
      ...['--revisions', 'HEAD, HEAD', '--scenario', 'chat-8,streams', '--json'],
      ...['--rounds', '1', '--seconds', '2', '--warm-up', '0.5'],
    );
    const head = commitOf('HEAD', REPOSITORY);
    assert.deepEqual(
      [revisions, scenarios.map(({ name }) => name), isJson],
      [[head, head], ['chat-8', 'streams-1000'], true],
    );
    assert.deepEqual(duration, { rounds: 1, seconds: 2, warmUp: { seconds: 0.5, atMostSeconds: 20 } });
    assert.deepEqual(parse('--from', 'HEAD', '--steps', '3').revisions, [head]);
  });

  it('refuses invalid options before it starts anything', () => {
    for (const [args, message] of [
      [[], /^Error: Say which revisions: --revisions A,B,… or --from A/],
      [['--revisions', 'HEAD,gone'], /^Error: There is no revision "gone"\.$/],
      [['--revisions', '--help'], /Option '--revisions' argument is ambiguous/],
      [['--revisions=--all'], /^Error: There is no revision "--all"\.$/],
      [
        ['--revisions', 'HEAD', '--from', 'HEAD'],
        /^Error: --revisions names all .* leave out --from, --to and --steps/,
      ],
      [['--from', 'gone'], /^Error: There is no revision "gone"\.$/],
      [['--from', 'HEAD', '--to', 'gone'], /^Error: There is no revision "gone"\.$/],
      [['--from', 'HEAD', '--steps', 'x'], /^Error: --steps: expected a number above zero; found "x"\.$/],
      [['--from', 'HEAD', '--steps', '2.5'], /^Error: --steps: expected a whole number above zero; found "2\.5"\.$/],
      [['--from', 'HEAD', '--scenario', 'chats'], /^Error: "chats" is no scenario/],
    ] as const) {
      assert.throws(() => parse(...args), message);
    }
  });
});
