import { endByClose } from '../gateway-target.ts';
import type { MeterReading } from '../meter.ts';
import { openOrderLine } from '../order-line.ts';
import { benchFile, nextMessage, spawnOnCore, TARGET_CORE } from '../processes.ts';
import type { Kind } from '../scenarios.ts';
import { passedOn } from '../targets.ts';
import type { FoundPeer } from './peer.ts';

const KINDS: ReadonlySet<Kind> = new Set(['chat', 'rate', 'streams']);

/** The least code with the guarantees of a call (`floor.ts`), on the shared PostgreSQL server. */
export function findFloor(): FoundPeer {
  return {
    name: 'floor',
    serves: (kind) => KINDS.has(kind),
    async start(stage, scenario) {
      const orders = await openOrderLine();
      const program = [benchFile('floor.ts'), stage.providerUrl, await stage.createDatabase()];
      // It pipelines statements, which the driver warns about.
      const args = [...stage.flags, '--no-deprecation', '--import', benchFile('meter.ts'), ...program];
      const child = spawnOnCore(args, TARGET_CORE, orders.environment);
      const { url, keys } = await nextMessage<{ url: string; keys: readonly string[] }>(child);
      return {
        name: 'floor',
        version: '',
        call: { ...passedOn(scenario, url), keys },
        read: async (order) => ({ ...(await orders.ask<MeterReading>(order)), database: await stage.readDatabase() }),
        stop: () => endByClose(child, orders),
      };
    },
  };
}
