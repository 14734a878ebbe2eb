import { Dice } from '../../src/lib/dice.ts';
import { responseParent } from '../attacks/scene/rpc.ts';
import { responseAnything } from '../conformance/addresses.ts';
import { peopleOfWalk } from '../people/scene.ts';
import { plansText } from '../plans/coding.ts';
import { PRICE, startGateway } from '../support/gateway.ts';
import { reportedUsage } from './reported-usage.ts';

/** A gateway with two accounts and everybody who may ask it for something, in a process whose main thread is measured. */

export interface FuzzedGateway {
  readonly url: string;
  /** The credentials of everybody, by the name of the role. */
  readonly headers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What nobody of the first account may see. */
  readonly canaries: readonly string[];
  /** What can be named in requests. */
  readonly ids: readonly string[];
}

/** What is left to chance where a gateway starts. */
export interface FuzzedStart {
  readonly seed: number;
  /** How fast the time of the limits on requests runs. */
  readonly hurry: number;
}

/** A model whose id has slashes. */
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
      // Who is refused often is made to wait, and this client is refused very often.
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
  /** The sum of all figures of usage that the provider has reported since the last question. */
  reportedSum: () => takeSum(),
  /** What the main thread has worked since the last question, in milliseconds of CPU: the machine may be busy with something else. */
  busyMs() {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
});
