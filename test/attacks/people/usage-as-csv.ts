import type { Attack } from '../attack.ts';
import { makeCalls } from '../stop/own-lists.ts';

const AT_A_TIME = 80;

export const usageAsCsv: Attack = {
  name: 'usage-as-csv',
  sends: `questions for usage by everything as CSV, ${AT_A_TIME} at a time, with a key of the account API`,
  seconds: 2,
  callers: { reader: { balanceYuan: '100', scopes: ['calls', 'account'] } },
  setUp: (scene) => makeCalls(scene, scene.key('reader')),
  async run(scene) {
    const key = scene.key('reader');
    const path = '/account/v1/usage?groupBy=key,day,model,status,context';
    await scene.repeat(AT_A_TIME, () => scene.send({ method: 'GET', path, key, headers: { accept: 'text/csv' } }));
    scene.expectStatuses(200, 429);
  },
};
