import type { Attack } from '../attack.ts';

const AT_A_TIME = 24;
const BLANKS = ' '.repeat(60_000);

export const headerBlanks: Attack = {
  name: 'header-blanks',
  sends: `requests for files of the console, ${AT_A_TIME} at a time, with 60,000 blanks in a header`,
  seconds: 2,
  callers: {},
  async run(scene) {
    const page = await scene.send({ method: 'GET', path: '/console' });
    const file = /\/console\/assets\/index-[\w-]+\.js/.exec(page.text)?.[0];
    if (file === undefined) scene.problem('the console has no script');
    const names = ['accept-encoding', 'if-none-match', 'accept', 'x-forwarded-for'];
    await scene.repeat(AT_A_TIME, (round) =>
      scene.send({
        method: 'GET',
        path: file ?? '/console',
        headers: { [names[round % names.length]!]: `x${BLANKS}y` },
      }),
    );
    scene.expectStatuses(200);
  },
};
