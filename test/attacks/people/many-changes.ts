import { CHANGE_RATES } from '../../../src/changes/change-rates.ts';
import type { Attack } from '../attack.ts';
import { monotonicMs } from '../scene/monotonic.ts';

const { burst } = CHANGE_RATES.caller;
const CHANGES = 2 * burst;
const AT_A_TIME = 20;

export const manyChanges: Attack = {
  name: 'many-changes',
  sends: `${CHANGES} changes of one key, ${AT_A_TIME} at a time, with a key of the account API`,
  seconds: 4,
  callers: { owner: { scopes: ['calls', 'account'] } },
  async run(scene) {
    const key = scene.key('owner');
    const { id } = scene.accounts('owner')[0]!;
    const keys = await scene.admin<{ data: { id: string }[] }>('GET', `/accounts/${id}/keys`);
    const path = `/account/v1/keys/${keys.data[0]!.id}`;
    const beganMs = monotonicMs();
    for (let sent = 0; sent < CHANGES; sent += AT_A_TIME) {
      const round = Array.from({ length: AT_A_TIME }, (_, n) => ({ name: `name ${sent + n}` }));
      await Promise.all(round.map((body) => scene.send({ method: 'PATCH', path, key, body })));
    }
    scene.expectStatuses(200, 429);
    const allowed = burst + Math.ceil((monotonicMs() - beganMs) / CHANGE_RATES.caller.everyMs);
    const changes = await scene.admin<{ data: unknown[] }>(
      'GET',
      `/changes?accountId=${id}&action=keys.change&limit=500`,
    );
    if (changes.data.length > allowed)
      scene.problem(`${changes.data.length} lines in the audit log, expected ${allowed}`);
  },
};
