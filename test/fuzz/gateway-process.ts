import { responseParent } from '../attacks/scene/rpc.ts';
import { responseAnything } from '../conformance/addresses.ts';
import { peopleOfWalk } from '../people/scene.ts';
import { plansText } from '../plans/coding.ts';
import { startGateway } from '../support/gateway.ts';

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

let before = process.threadCpuUsage();

responseParent({
  async start(): Promise<FuzzedGateway> {
    const g = await startGateway({
      engine: 'postgresql',
      plans: plansText({ wide: {} }),
      localToken: 'token-of-the-command-line',
      usageIntervalMs: 1_000,
      // Who is refused often is made to wait, and this client is refused very often.
      monotonicMs: () => performance.now() * 10_000,
    });
    g.provider.respond = responseAnything;
    const scene = await peopleOfWalk(g);
    const { lin, mo, other, account } = scene;
    return {
      url: g.url,
      headers: scene.headers,
      canaries: [other.name, other.prefix],
      ids: [account.id, other.id, lin.id, lin.keyId, lin.callId, mo.id, mo.keyId, mo.callId, scene.otherUserId],
    };
  },
  /** What the main thread has worked since the last question, in milliseconds of CPU: the machine may be busy with something else. */
  busyMs() {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
});
