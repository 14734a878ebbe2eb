import { Dice } from '../../src/lib/dice.ts';
import { responseParent } from '../attacks/scene/rpc.ts';
import { responseAnything } from '../conformance/addresses.ts';
import { peopleOfWalk } from '../people/scene.ts';
import { plansText } from '../plans/coding.ts';
import { PRICE, startGateway } from '../support/gateway.ts';
import { reportedUsage } from './reported-usage.ts';

/** A gateway with two accounts and all kinds of callers, in a process whose main thread is measured. */

export interface FuzzedGateway {
  readonly url: string;
  /** Credentials by role. */
  readonly headers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Texts that no one in the first account may see. */
  readonly canaries: readonly string[];
  /** Ids that requests can refer to. */
  readonly ids: readonly string[];
}

/** Random choices at the start of a gateway. */
export interface FuzzedStart {
  readonly seed: number;
  /** Speed of the clock for request limits. */
  readonly hurry: number;
}

/** A model whose id contains slashes. */
export const SLASHED_MODEL = 'vendor/a-model/chat';

let takeSum = (): number => 0;
let before = process.threadCpuUsage();

responseParent({
  async start({ seed, hurry }: FuzzedStart): Promise<FuzzedGateway> {
    const g = await startGateway({
      plans: plansText({ wide: {} }),
      localToken: 'token-of-the-command-line',
      usageIntervalMs: 1_000,
      models: `
  ${SLASHED_MODEL}:
    operations: [chat, messages]
    price: ${PRICE}
    maxOutputTokens: "100"
    contextLength: 1000
    routes:
      - { provider: chatty, model: ${SLASHED_MODEL}, cost: ${PRICE} }
      - { provider: messy, model: ${SLASHED_MODEL}, cost: ${PRICE} }`,
      // Otherwise the throttle would delay this client, which is refused very often.
      monotonicMs: () => performance.now() * hurry,
    });
    const scene = await peopleOfWalk(g);
    const { lin, mo, other, account } = scene;
    await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'wide' });
    const reported = reportedUsage(new Dice(seed));
    takeSum = reported.takeSum;
    g.provider.respond = reported.distort(responseAnything);
    return {
      url: g.url,
      headers: scene.headers,
      canaries: [other.name, other.prefix],
      ids: [account.id, other.id, lin.id, lin.keyId, lin.callId, mo.id, mo.keyId, mo.callId, scene.otherUserId],
    };
  },
  /** The sum of all reported usage figures since the last query. */
  reportedSum: () => takeSum(),
  /** CPU milliseconds of the main thread since the last query. Elapsed time would include other load. */
  busyMs() {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
});
