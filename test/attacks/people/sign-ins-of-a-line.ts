import type { Attack } from '../attack.ts';
import { PROXY_ADDRESS } from '../scene/config.ts';
import { createPerson } from '../scene/person.ts';

const AT_A_TIME = 125;
const path = '/account/v1/sessions';

export const signInsOfALine: Attack = {
  name: 'sign-ins-of-a-line',
  sends: `wrong sign-ins, ${AT_A_TIME} at a time, from the 256 networks of one home line, beside somebody who signs in from elsewhere`,
  seconds: 3,
  callers: { person: {} },
  async run(scene) {
    const sameSite = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    const signIn = (from: string, body: object) =>
      scene.send({ path, headers: { ...sameSite, 'x-forwarded-for': from }, body, localAddress: PROXY_ADDRESS });
    const { email, password } = await createPerson(scene.admin, scene.url, 'lin', scene.accounts('person')[0]!.id);
    const own = { user: email, password };
    scene.expectStatus('the first sign-in', await signIn('203.0.113.7', own), 201);
    const rightMs: number[] = [];
    const guesses = scene.repeat(AT_A_TIME, (round) =>
      signIn(`2001:db8:1:42${(round % 256).toString(16).padStart(2, '0')}::1`, {
        user: `user ${round}`,
        password: 'wrong password',
      }),
    );
    await scene.repeat(1, async () => {
      const startedAt = performance.now();
      scene.expectStatus('who has signed in from there before', await signIn('203.0.113.7', own), 201);
      rightMs.push(performance.now() - startedAt);
    });
    await guesses;
    scene.expectStatuses(201, 401, 429, 503);
    rightMs.sort((left, right) => left - right);
    scene.note(
      `the right sign-in, ${rightMs.length} times: at the median ${rightMs[rightMs.length >> 1]?.toFixed(1)} ms`,
    );
  },
};
