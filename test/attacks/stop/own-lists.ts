import type { Attack } from '../attack.ts';
import type { Scene } from '../scene/scene.ts';

const CALLS = 300;
const CALLS_AT_A_TIME = 20;
const AT_A_TIME = 40;

export const ownLists: Attack = {
  name: 'own-lists',
  sends: `questions for all of ${CALLS} calls and for usage by everything, ${AT_A_TIME} at a time, with a key of the account API`,
  seconds: 2,
  callers: { reader: { balanceYuan: '100', scopes: ['calls', 'account'] } },
  setUp: (scene) => makeCalls(scene, scene.key('reader')),
  async run(scene) {
    const key = scene.key('reader');
    const paths = ['/account/v1/calls?limit=500', '/account/v1/usage?groupBy=key,day,model,status,context&limit=500'];
    await scene.repeat(AT_A_TIME, (round) => scene.send({ method: 'GET', path: paths[round % paths.length]!, key }));
    scene.expectStatuses(200, 429);
  },
};

/** Makes the calls that the account then lists. */
export async function makeCalls(scene: Scene, key: string): Promise<void> {
  const body = Buffer.from('{"model":"shop-chat","messages":[{"role":"user","content":"x"}]}');
  for (let made = 0; made < CALLS; made += CALLS_AT_A_TIME) {
    const call = { path: '/v1/chat/completions', key, body };
    await Promise.all(Array.from({ length: CALLS_AT_A_TIME }, () => scene.send(call)));
  }
}
